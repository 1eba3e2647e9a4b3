// SPDX-License-Identifier: MIT
/* Requests to block devices, by device and direction: number, bytes, duration. */
#include "dump/base/str.h"
#include "dump/view/base/row_map.h"
#include "dump/view/report/report_impl.h"
#include "dump/view/model/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 8

/* A request in progress. */
struct request {
	uint64_t key; /* device and sector */
	uint64_t since_ns, bytes;
	const char *comm;
};

struct device {
	uint64_t key; /* device << 8 | direction */
	uint64_t nr, bytes, ns, worst_ns, worst_at_ns, nr_errors, nr_open;
	const char *worst_comm;
};

struct io {
	struct map requests, devices;
	uint64_t nr;
};

static uint64_t request_key(const struct report *rp, const struct timeline_record *rec)
{
	return analysis_number(&rp->a, rec, "dev") << 40 ^ analysis_number(&rp->a, rec, "sector");
}

static struct device *device_of(struct io *io, const struct report *rp,
				const struct timeline_record *rec)
{
	char rwbs[16], way;

	report_string(rp, rec, "rwbs", rwbs, sizeof(rwbs));
	way = strchr(rwbs, 'R') ? 'R' : strchr(rwbs, 'W') ? 'W' : strchr(rwbs, 'D') ? 'D' : 'F';
	return map_row(&io->devices, analysis_number(&rp->a, rec, "dev") << 8 | (unsigned char)way);
}

static int on_issue(void *state, struct report *rp, const struct timeline_record *rec)
{
	struct io *io = state;
	struct request *r = map_row(&io->requests, request_key(rp, rec));
	struct device *d = device_of(io, rp, rec);

	if (!r || !d)
		return 0;
	d->nr_open += !r->since_ns; /* a request can be issued again */
	r->since_ns = rec->time_ns;
	r->bytes = analysis_number(&rp->a, rec, "bytes");
	r->comm = report_comm_of(rp, rec->tid, rec->time_ns);
	return 0;
}

static int on_complete(void *state, struct report *rp, const struct timeline_record *rec)
{
	struct io *io = state;
	struct request *r = map_find(&io->requests, request_key(rp, rec));
	struct device *d = device_of(io, rp, rec);
	uint64_t ns;

	if (!r || !d || !r->since_ns)
		return 0;
	ns = rec->time_ns - r->since_ns;
	io->nr++;
	d->nr_open -= d->nr_open > 0;
	d->nr++;
	d->bytes += r->bytes;
	d->ns += ns;
	d->nr_errors += analysis_number(&rp->a, rec, "error") != 0;
	if (ns > d->worst_ns) {
		d->worst_ns = ns;
		d->worst_at_ns = r->since_ns;
		d->worst_comm = r->comm;
	}
	r->since_ns = 0;
	return 0;
}

static int open_io(struct report *rp, void **state)
{
	struct io *io = calloc(1, sizeof(*io));
	bool issued, completed;

	if (!io)
		return -ENOMEM;
	io->requests = MAP_INIT(struct request);
	io->devices = MAP_INIT(struct device);
	issued = report_hook(rp, "block:block_rq_issue", on_issue, io);
	completed = report_hook(rp, "block:block_rq_complete", on_complete, io);
	if (issued || completed) {
		*state = io;
		return 0;
	}
	free(io);
	return 0;
}

static void close_io(void *state)
{
	struct io *io = state;

	map_free(&io->requests);
	map_free(&io->devices);
	free(io);
}

static int longest_first(const void *a, const void *b)
{
	const struct device *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static const char *way_name(char way)
{
	return way == 'R' ? "read" : way == 'W' ? "write" : way == 'D' ? "discard" : "flush";
}

static void put_device(struct report *rp, const struct device *d)
{
	struct page *p = &rp->page;
	char name[32], size[32], at[32], by[64];

	/* The kernel's internal dev_t. */
	snprintf(name, sizeof(name), "%" PRIu64 ":%" PRIu64 " %s", d->key >> 28,
		 d->key >> 8 & 0xfffff, way_name((char)(d->key & 0xff)));
	text_str(p->t, "  ");
	page_left(p, name, 16);
	page_count(p, d->nr, 8);
	page_right(p, str_fmt_size(size, sizeof(size), d->bytes), 10);
	page_time(p, d->nr ? d->ns / d->nr : 0, 9);
	page_color(p, d->worst_ns >= 100000000 ? PAGE_WARM : PAGE_PLAIN);
	page_time(p, d->worst_ns, 9);
	page_end_color(p);
	page_right(p, page_fmt_moment(at, sizeof(at), d->worst_at_ns, rp->a.m->trigger.hit_ns), 10);
	snprintf(by, sizeof(by), "%s%s%s", d->worst_comm ? d->worst_comm : "",
		 d->nr_open ? ", some still open" : "", d->nr_errors ? ", errors" : "");
	text_str(p->t, "  ");
	page_last(p, by, p->width - 66);
	text_char(p->t, '\n');
}

static void print_io(struct report *rp, void *state)
{
	struct report_window w = report_window_of(rp, state);
	struct io *io = state;
	char window[64];

	page_title(&rp->page, "DISKS", report_fmt_window(rp, window, sizeof(window), &w));
	if (!map_nr(&io->devices)) {
		page_line(&rp->page, 2, "no requests");
		return;
	}
	page_color(&rp->page, PAGE_DIM);
	text_str(&rp->text, "  device          requests     bytes  average    worst        at"
			    "  by\n");
	page_end_color(&rp->page);
	map_sort(&io->devices, longest_first);
	for (size_t i = 0; i < map_nr(&io->devices) && i < MAX_ROWS; i++) {
		const struct device *d = map_nth(&io->devices, i);

		if (d->nr)
			put_device(rp, d);
	}
}

const struct report_section report_io = {
	.what = "disks",
	.how = "--preset io",
	.open = open_io,
	.print = print_io,
	.close = close_io,
};
