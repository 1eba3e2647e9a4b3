// SPDX-License-Identifier: MIT
/* Prints a report's sections in order, and its last lines; see report.h. */
#include "dump/base/err.h"
#include "dump/view/report/report_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct report_section *const sections[] = {
	&report_pt,	&report_cpu,	&report_wait,	  &report_blame,
	&report_block,	&report_stacks, &report_syscalls, &report_life,
	&report_memory, &report_io,	&report_irq,	  &report_other,
};

#define NR_SECTIONS (sizeof(sections) / sizeof(sections[0]))

int report_open_sections(struct report *rp, struct err *err)
{
	int rc = 0;

	rp->states = calloc(NR_SECTIONS, sizeof(*rp->states));
	if (!rp->states)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < NR_SECTIONS && !rc; i++)
		rc = sections[i]->open(rp, &rp->states[i]);
	return rc ? err_set(err, rc, "out of memory") : 0;
}

void report_close_sections(struct report *rp)
{
	for (size_t i = 0; rp->states && i < NR_SECTIONS; i++)
		if (sections[i]->close && rp->states[i])
			sections[i]->close(rp->states[i]);
	free(rp->states);
	rp->states = NULL;
}

static void put_missing(struct report *rp)
{
	struct text t = TEXT_INIT(NULL);

	for (size_t i = 0; i < NR_SECTIONS; i++) {
		if (rp->states[i] || !sections[i]->how)
			continue;
		text_str(&t, t.b.len ? ", " : "not recorded: ");
		text_str(&t, sections[i]->what);
		text_fmt(&t, " (%s)", sections[i]->how);
	}
	if (schedule_has_switches(rp->a.sched) && !schedule_has_stacks(rp->a.sched)) {
		text_str(&t, t.b.len ? ", " : "not recorded: ");
		text_str(&t, "stacks of sleeping threads (--preset waits)");
	}
	if (t.b.len && !t.rc) {
		text_char(&t, '\0');
		text_char(&rp->text, '\n');
		page_color(&rp->page, PAGE_DIM);
		page_wrap(&rp->page, 0, (const char *)t.b.p);
		page_end_color(&rp->page);
	}
	text_free(&t);
	text_char(&rp->text, '\n');
	page_color(&rp->page, PAGE_DIM);
	page_line(&rp->page, 0,
		  "next: ringback why (the verdict); ringback script --from -50ms (all events "
		  "before the trigger)");
	page_end_color(&rp->page);
}

static bool any_asked(const struct report *rp)
{
	for (uint32_t i = 1; i < schedule_nr_threads(rp->a.sched); i++)
		if (rp->asked[i])
			return true;
	return !rp->filtered || schedule_nr_threads(rp->a.sched) < 2;
}

static int print(struct report *rp, struct err *err)
{
	int rc;

	if (!any_asked(rp)) {
		err_set(err, -ENOENT, "the window of the dump has no events of such a thread");
		err_hint(err, "ringback report without --tid and --comm lists the threads");
		return -ENOENT;
	}
	rc = report_head(rp, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < NR_SECTIONS; i++)
		if (rp->states[i] && sections[i]->print_first)
			sections[i]->print_first(rp, rp->states[i]);
	for (size_t i = 0; i < NR_SECTIONS; i++)
		if (rp->states[i])
			sections[i]->print(rp, rp->states[i]);
	put_missing(rp);
	rc = text_flush(&rp->text);
	return rc ? err_sys(err, rc, "the output can't be written") : 0;
}

int report_print(struct reader *r, const struct meta *m, const struct report_options *opt,
		 FILE *out, struct report_result *res, struct err *err)
{
	struct report rp = {.a = {.r = r, .m = m}, .opt = opt, .text = TEXT_INIT(out)};
	int rc;

	rp.page = (struct page){&rp.text, opt->width, opt->color};
	rc = report_load(&rp, err);
	rc = rc ? rc : print(&rp, err);
	res->nr_bad = rp.nr_bad;
	report_unload(&rp);
	return rc;
}
