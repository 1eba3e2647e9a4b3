// SPDX-License-Identifier: MIT
/*
 * A dump that can't be written to its end, since the disk is full or broken. The newest blocks of all
 * rings come first in the file, so the room for its end is taken from the oldest records:
 *
 *	written    sections │ newest records │ ... │ oldest │ torn block
 *	cut        sections │ newest records │ ... │ rest │ stats │ footer
 */
#include "recorder/writer/dumper_parts.h"

#include "dump/base/str.h"

#include <errno.h>
#include <unistd.h>

int dumper_go_on(struct dumper *d, int rc, uint64_t bytes, const struct err *err)
{
	/* Errors that are not the file's take no room. */
	if (rc && !writer_error(d->writer, NULL))
		bytes = 0;
	if (!rc || d->fd < 0 || writer_cut(d->writer, bytes))
		return rc;
	if (!*d->cut.what)
		d->cut = *err;
	return 0;
}

static void tell(struct dumper *d, uint64_t kept_bytes)
{
	char missing[32], of[32];

	d->result.cut = d->cut;
	if (kept_bytes < d->walked_bytes)
		err_prefix(&d->result.cut, "%s of %s of rings are missing",
			   str_fmt_size(missing, sizeof(missing), d->walked_bytes - kept_bytes),
			   str_fmt_size(of, sizeof(of), d->walked_bytes));
	else
		err_prefix(&d->result.cut, "what follows the records is missing");
}

/* Sums up what the file has of each ring, as if the rest had been overwritten. */
static uint64_t sum_up(struct dumper *d, struct banks *const *banks, size_t nr)
{
	uint64_t kept_bytes = 0;

	for (size_t i = 0; i < nr; i++) {
		struct fmt_window *w = &banks[i]->window;

		w->overwritten_bytes += w->bytes;
		w->bytes = w->nr_records = 0;
	}
	for (size_t i = 0; i < writer_nr_blocks(d->writer); i++) {
		const struct fmt_dir *b = writer_block(d->writer, i);
		struct fmt_window *w = b->ring < nr ? &banks[b->ring]->window : NULL;

		if (w)
			kept_bytes += b->content_bytes;
		if (!w || b->section != FMT_RECORDS)
			continue;
		w->overwritten_bytes -= b->content_bytes;
		w->bytes += b->content_bytes;
		w->first_ns =
			w->nr_records && w->first_ns < b->first_ns ? w->first_ns : b->first_ns;
		w->nr_records += b->nr_records;
	}
	return kept_bytes;
}

void dumper_write_cut_windows(struct dumper *d)
{
	size_t nr;
	struct banks *const *banks = recording_all_banks(d->opt.recording, &nr);

	tell(d, sum_up(d, banks, nr));
	d->stats.ring_bytes = d->result.nr_samples = 0;
	writer_section(d->writer, FMT_WINDOWS);
	for (size_t i = 0; i < nr; i++) {
		struct fmt_window *w = &banks[i]->window;

		if (w->samples > w->nr_records)
			w->samples = w->nr_records;
		if (!w->nr_records) {
			w->first_ns = w->last_ns = 0;
			w->armed_ns = w->overwritten_bytes ? w->paused_ns : w->armed_ns;
		}
		d->stats.ring_bytes += w->bytes;
		d->result.nr_samples += w->samples;
		writer_item(d->writer, FMT_WINDOW, w, sizeof(*w), NULL, 0, NULL);
	}
	d->result.ring_bytes = d->stats.ring_bytes;
}

bool dumper_leave_unfinished(struct dumper *d, const struct err *err)
{
	if (d->fd < 0 || writer_cut(d->writer, 0) == -ENODATA)
		return false;
	d->result.cut = *d->cut.what ? d->cut : *err;
	d->result.file_bytes = (uint64_t)lseek(d->fd, 0, SEEK_END);
	err_prefix(&d->result.cut, "the file has no end");
	err_hint(&d->result.cut, "ringback check --salvage saves its intact blocks");
	return true;
}
