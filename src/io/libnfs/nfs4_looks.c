/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/libnfs/nfs3_codec.h"

#include <endian.h>
#include <string.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>

#ifdef LIBNFS_TASKS
#define SEND_COMPOUND(...) (rpc_nfs4_compound_task(__VA_ARGS__) ? 0 : -ENOMEM)
#else
#define SEND_COMPOUND(...) (rpc_nfs4_compound_async(__VA_ARGS__) == 0 ? 0 : -ENOMEM)
#endif

#define OPS_PER_LOOK 2 /* PUTFH, GETATTR */
#define ACL_BIT      (1U << FATTR4_ACL)
#define MTIME_BIT    (1U << (FATTR4_TIME_MODIFY - 32))
#define MTIME_SIZE   12 /* bytes of nfstime4 */

/*
 * The length of a handle in NFSv4. A handle of Ganesha, whose version is 0x43, has five bytes and then as many as the
 * fifth tells; NFSv3 pads it to a multiple of four (src/include/nfs_fh.h, nfs3_FSALToFhandle()), and NFSv4 refuses the
 * padding (nfs4_Is_Fh_Invalid()).
 */
static uint32_t length_of(const struct nfs_fh *fh)
{
	uint32_t exact = fh->len >= 5 ? 5U + fh->data[4] : 0;

	return exact > 0 && fh->data[0] == 0x43 && ((exact + 3) & ~3U) == fh->len ? exact : fh->len;
}

int nfs4_encode_looks(struct rpc_context *rpc, struct nfs3_ticket *ticket, rpc_cb cb)
{
	static uint32_t wanted[] = {ACL_BIT, MTIME_BIT};
	const struct nfs_call *call = ticket->call;
	nfs_argop4 ops[OPS_PER_LOOK * NFS_LOOKS_MAX];
	COMPOUND4args args = {.argarray = {.argarray_len = OPS_PER_LOOK * call->args.looks.count, .argarray_val = ops}};

	memset(ops, 0, sizeof(ops));
	for (unsigned n = 0; n < call->args.looks.count; n++) {
		nfs_argop4 *op = ops + (size_t)OPS_PER_LOOK * n;
		const struct nfs_fh *fh = call->args.looks.looks[n].fh;

		op[0].argop = OP_PUTFH;
		op[0].nfs_argop4_u.opputfh.object.nfs_fh4_len = length_of(fh);
		op[0].nfs_argop4_u.opputfh.object.nfs_fh4_val = (char *)fh->data;
		op[1].argop = OP_GETATTR;
		op[1].nfs_argop4_u.opgetattr.attr_request.bitmap4_len = ARRAY_SIZE(wanted);
		op[1].nfs_argop4_u.opgetattr.attr_request.bitmap4_val = wanted;
	}
	return SEND_COMPOUND(rpc, cb, &args, ticket);
}

/* Attributes stand in the order of their bits, so an ACL hides what follows. */
static int take_attributes(const fattr4 *a, struct nfs_look *ret)
{
	uint32_t words[2] = {0}, nanoseconds;
	uint64_t seconds;

	if (a->attrmask.bitmap4_len > ARRAY_SIZE(words))
		return -EAGAIN;
	if (a->attrmask.bitmap4_len > 0)
		memcpy(words, a->attrmask.bitmap4_val, a->attrmask.bitmap4_len * sizeof(*words));
	if ((words[0] & ~ACL_BIT) != 0 || (words[1] & ~MTIME_BIT) != 0)
		return -EAGAIN;
	ret->has_acl = words[0] != 0;
	if (ret->has_acl || words[1] == 0)
		return 0;
	if (a->attr_vals.attrlist4_len < MTIME_SIZE)
		return -EAGAIN;
	memcpy(&seconds, a->attr_vals.attrlist4_val, sizeof(seconds));
	memcpy(&nanoseconds, a->attr_vals.attrlist4_val + sizeof(seconds), sizeof(nanoseconds));
	ret->has_mtime = true;
	ret->mtime.tv_sec = (time_t)be64toh(seconds);
	ret->mtime.tv_nsec = (long)(be32toh(nanoseconds) % 1000000000U);
	return 0;
}

/* A result with its status, which stands first in each. It may be misaligned in libnfs's memory, so bytes are copied.
 */
static int take_result(const COMPOUND4res *res, size_t n, nfs_opnum4 type, nfs_resop4 *ret)
{
	const char *results = (const char *)res->resarray.resarray_val;

	if (n >= res->resarray.resarray_len)
		return -EAGAIN;
	memcpy(ret, results + n * sizeof(*ret), sizeof(*ret));
	if (ret->resop != type)
		return -EAGAIN;
	if (ret->nfs_resop4_u.opputfh.status == NFS4ERR_STALE)
		return -ESTALE;
	return ret->nfs_resop4_u.opputfh.status == NFS4_OK ? 0 : -EAGAIN;
}

static int take_look(const COMPOUND4res *res, unsigned n, struct nfs_look *ret)
{
	size_t first = (size_t)OPS_PER_LOOK * n;
	nfs_resop4 op;
	int r = take_result(res, first, OP_PUTFH, &op);

	if (r == 0)
		r = take_result(res, first + 1, OP_GETATTR, &op);
	return r < 0 ? r : take_attributes(&op.nfs_resop4_u.opgetattr.GETATTR4res_u.resok4.obj_attributes, ret);
}

void nfs4_decode_looks(struct nfs_call *call, const void *data)
{
	COMPOUND4res res;

	memcpy(&res, data, sizeof(res));
	for (unsigned n = 0; n < call->args.looks.count; n++) {
		struct nfs_look *look = &call->args.looks.looks[n];

		look->has_acl = look->has_mtime = false;
		look->error = take_look(&res, n, look);
	}
}
