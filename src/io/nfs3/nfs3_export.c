/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/stat.h>

#include "io/nfs3/nfs3_sequences.h"

#define PATIENCE_MS 30000

static int ask(struct server *server, const struct nfs_fh *root, const struct nfs_cred *own, enum nfs_proc proc,
	struct nfs_call *ret)
{
	*ret = (struct nfs_call){.proc = proc, .cred = *own, .fh = *root, .patience_ms = PATIENCE_MS};
	if (proc == NFS_GETACL)
		ret->args.acl.mask = NFS_ACL_ACCESS_COUNT;
	return server_call(server, ret);
}

int nfs3_look_at_export(struct server *server, const struct nfs_fh *root, const struct nfs_cred *own, bool no_acl,
	struct server_export *ret)
{
	struct server_export export = {0};
	struct nfs_call call;
	int r = ask(server, root, own, NFS_GETATTR, &call);

	if (r < 0)
		return r;
	export.root = call.attr;
	if (S_ISDIR(export.root.mode) && ask(server, root, own, NFS_FSINFO, &call) == 0) {
		export.read_max = call.res.fsinfo.rtmax;
		export.write_max = call.res.fsinfo.wtmax;
		export.file_max = call.res.fsinfo.maxfilesize;
	}
	if (S_ISDIR(export.root.mode) && !no_acl && ask(server, root, own, NFS_GETACL, &call) == 0)
		server->abilities.acl = call.res.acl.access_count > 0;
	*ret = export;
	return 0;
}
