// SPDX-License-Identifier: MIT
/* The functions of put_text.h that are not inline. */
#include "dump/view/base/put_text.h"

const char digits_pairs[200] = "0001020304050607080910111213141516171819"
			       "2021222324252627282930313233343536373839"
			       "4041424344454647484950515253545556575859"
			       "6061626364656667686970717273747576777879"
			       "8081828384858687888990919293949596979899";

static char *put_eight(char *to, uint32_t v)
{
	return put_four(put_four(to, v / 10000), v % 10000);
}

char *put_large(char *to, uint64_t v)
{
	uint64_t head;

	if (v < 10000)
		return put_u64(to, v);
	if (v < 100000000) {
		to = put_u64(to, v / 10000);
		return put_four(to, (uint32_t)(v % 10000));
	}
	head = v / 100000000;
	return put_eight(put_large(to, head), (uint32_t)(v % 100000000));
}

char *put_nine(char *to, uint32_t v)
{
	*to = (char)('0' + v / 100000000);
	return put_eight(to + 1, v % 100000000);
}
