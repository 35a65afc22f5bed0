/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text from users: mount options and SERVER:/EXPORT. Accepted options can be written as text and parsed again. */
#include "fuzz.h"
#include "mount/mount_spec.h"
#include "mount/options.h"

static void check_sentence(const char *sentence)
{
	CHECK(sentence[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mount_options o, again;
	struct mount_spec spec;
	char sentence[512] = "", text[8192], same[8192], *list = text_of(data, size);

	options_init(&o);
	if (options_parse(&o, list, false, sentence, sizeof(sentence)) < 0) {
		check_sentence(sentence);
	} else if (options_text(&o, text, sizeof(text)) == 0) {
		options_init(&again);
		CHECK(options_parse(&again, text, false, sentence, sizeof(sentence)) == 0);
		CHECK(options_text(&again, same, sizeof(same)) == 0 && strcmp(text, same) == 0);
	}
	sentence[0] = '\0';
	if (mount_spec_parse(list, &spec, sentence, sizeof(sentence)) < 0)
		check_sentence(sentence);
	else
		CHECK(mount_spec_equal(list, list) && spec.host[0] != '\0' && spec.path[0] == '/');
	free(list);
	return 0;
}
