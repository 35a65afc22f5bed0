/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "export_table_use.h"
#include "sidecar/ganesha/ganesha_conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct export_table *t = NULL;
	struct conf_error error = {""};
	char *text = text_of(data, size);

	if (ganesha_conf_parse("ganesha.conf", text, &t, &error) == 0)
		use_export_table(t);
	else
		check_error(&error);
	free(text);
	return 0;
}
