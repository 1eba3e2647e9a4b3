// SPDX-License-Identifier: MIT
/* Comma-separated values; see option_list.h. */
#include "recorder/base/option_list.h"

#include "dump/base/err.h"
#include "dump/base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int option_list_texts(char *arg, const char *const **list, size_t *nr, struct err *err)
{
	const char **more = (const char **)*list;
	char *save = NULL;

	for (char *s = strtok_r(arg, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		more = realloc(more, (*nr + 1) * sizeof(*more));
		if (!more)
			return err_set(err, -ENOMEM, "out of memory");
		more[(*nr)++] = s;
		*list = more;
	}
	return 0;
}

int option_list_numbers(char *arg, const uint32_t **list, size_t *nr, struct err *err)
{
	uint32_t *more = (uint32_t *)*list;
	char *save = NULL;
	uint64_t v;
	int rc;

	for (char *s = strtok_r(arg, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		rc = str_u64(s, &v, err);
		if (!rc && v >= UINT32_MAX)
			rc = err_set(err, -ERANGE, "'%s' is too large", s);
		if (rc)
			return rc;
		more = realloc(more, (*nr + 1) * sizeof(*more));
		if (!more)
			return err_set(err, -ENOMEM, "out of memory");
		more[(*nr)++] = (uint32_t)v;
		*list = more;
	}
	return 0;
}
