/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Closes a client's connection on a thread that must not wait. Before Linux 6.16 (SO_PASSRIGHTS) a client can leave
 * descriptors in the socket, and the last close of such a descriptor may block for as long as the client wants: a TCP
 * socket with SO_LINGER, for example. So a separate process holds the connection and exits. An exiting process does not
 * wait for such a socket (net/ipv4/af_inet.c inet_release()); if another kind of file blocks it, only this process
 * waits. While 16 such processes exist, further connections with descriptors stay open; a later call closes them.
 *
 * Main thread only.
 */
#pragma once

/*
 * Closes fd, after reading the client's packets: the close of a socket with unread packets would give the client an
 * error instead of the last message to it.
 */
void hang_up(int fd);
