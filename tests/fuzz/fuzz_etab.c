/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "export_table_use.h"
#include "sidecar/etab/etab.h"
#include "sidecar/knfsd/knfsd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct export_table *t = NULL;
	struct conf_error error = {""};
	bool free_form = size > 0 && data[size - 1] == '\\'; /* a complete etab never ends in a backslash */
	FILE *f = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL; /* fmemopen() refuses size 0 */

	if (!f)
		return 0;
	if (etab_parse(&server_knfsd, "etab", f, free_form, &t, &error) == 0)
		use_export_table(t);
	else
		check_error(&error);
	(void)fclose(f);
	return 0;
}
