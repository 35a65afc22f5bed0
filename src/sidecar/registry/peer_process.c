/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/registry/peer_process.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/util.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5, include/uapi/asm-generic/socket.h */
#endif

bool peer_process_is_there(int socket)
{
	_cleanup_close_ int pidfd = -1;
	socklen_t size = sizeof(pidfd);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0)
		return errno == ENOPROTOOPT;
	return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0 || errno == EPERM;
}

bool peer_process_has_thread(pid_t process, pid_t thread)
{
	return process > 0 && thread > 0 && syscall(SYS_tgkill, process, thread, 0) == 0;
}
