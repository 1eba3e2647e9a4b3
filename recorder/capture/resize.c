// SPDX-License-Identifier: MIT
/* Rings that are sized for a time; see resize.h. Called by session.c and daemon.c. */
#include "recorder/capture/resize.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/base/thread_pool.h"
#include "recorder/base/log.h"
#include "recorder/capture/banks_impl.h"
#include "recorder/capture/recording_impl.h"
#include "trigger/kernel/clock.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MAX_TURNS   16 /* rings of one job */
#define MIN_LOOK_NS 1000000000ull

struct resize {
	struct recording *r;
	const struct target *target;
	const struct caps *caps;
	uint64_t budget;
	struct thread_pool *pool;
	int epoll_fd, done_fd, timer_fd;
	struct bank *outlived; /* to be closed by the next job */
	uint64_t told_short;   /* channels, by bit of their number */
	bool refused;	       /* the kernel gave no more memory: rings grow no more */
	/* The job: the thread's while it is busy. */
	bool busy, is_done;
	struct resize_job {
		struct pool_job job;
		struct resize *s;
		uint64_t nr_changes; /* of the recording, when it was put */
		struct bank *outlived;
		struct banks_change turn[MAX_TURNS];
		int rc[MAX_TURNS];
		size_t nr;
		struct err err; /* of the last that failed */
	} job;
};

/* ---- the thread ---- */

/* A ring that grows late loses history; it takes some ms. */
static void run_first(void)
{
	setpriority(PRIO_PROCESS, (id_t)gettid(), -20);
}

static void work(void *mine, struct pool_job *job)
{
	struct resize_job *j = (struct resize_job *)job;
	uint64_t one = 1;

	banks_close_older(j->outlived);
	j->outlived = NULL;
	for (size_t i = 0; i < j->nr; i++)
		j->rc[i] = banks_change_open(&j->turn[i], j->s->target, j->s->caps, &j->err);
	while (write(j->s->done_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* ---- memory ---- */

static bool is_sized(const struct banks *b)
{
	return b->channel->horizon_ns && !b->offline;
}

static uint64_t memory_of_all(const struct recording *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->nr_banks; i++)
		sum += banks_bytes(r->banks[i]);
	return sum;
}

static uint64_t memory_of_others(const struct recording *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->nr_banks; i++)
		if (!is_sized(r->banks[i]))
			sum += banks_bytes(r->banks[i]);
	return sum;
}

static size_t nr_sized_channels(const struct recording *r)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_channels; i++)
		nr += r->channels[i]->horizon_ns != 0;
	return nr;
}

/* ---- what to do ---- */

static void say_short(struct resize *s, const struct banks *b, uint64_t now_ns)
{
	char asked[32], size[32], held[32], memory[32];

	if (s->told_short >> b->channel->id & 1)
		return;
	s->told_short |= 1ull << b->channel->id;
	log_warn("channel %s: its rings can't hold %s: a ring of %s holds about %s, and --memory "
		 "(%s) allows no larger one",
		 b->channel->name, str_fmt_time(asked, sizeof(asked), b->channel->horizon_ns),
		 str_fmt_size(size, sizeof(size), b->active->ring.size),
		 str_fmt_time(held, sizeof(held),
			      (int64_t)banks_time_back(b, now_ns, b->active->ring.size)),
		 str_fmt_size(memory, sizeof(memory), s->budget));
}

/* Former rings that have not gone yet may be the only reason: they are not for longer. */
static void note_short(struct resize *s, struct banks *b, bool is_short, uint64_t now_ns)
{
	if (!is_short)
		b->short_since_ns = 0;
	else if (!b->short_since_ns)
		b->short_since_ns = now_ns;
	else if (now_ns - b->short_since_ns >= (uint64_t)b->channel->horizon_ns)
		say_short(s, b, now_ns);
}

/* The rings that should have another size, in `turn`. Memory is only taken when it is free: a former
 * ring has to go first. */
static size_t choose(struct resize *s, struct ring_want *want, struct banks **of, size_t nr,
		     struct banks_change *turn)
{
	uint64_t used = memory_of_all(s->r);
	size_t nr_turns = 0;

	for (int growing = 0; growing < 2; growing++) {
		for (size_t i = 0; i < nr && nr_turns < MAX_TURNS; i++) {
			uint64_t banks = want[i].nr_banks, spare = (banks - 1) * want[i].now;

			if (want[i].size == want[i].now || (want[i].size > want[i].now) != growing)
				continue;
			while (growing && want[i].size > want[i].now &&
			       used - spare + banks * want[i].size > s->budget)
				want[i].size /= 2;
			if (want[i].size == want[i].now)
				continue;
			used += banks * want[i].size - spare;
			turn[nr_turns++] = (struct banks_change){.of = of[i],
								 .channel = of[i]->channel,
								 .cpu = of[i]->cpu,
								 .nr_banks = of[i]->nr_banks,
								 .ring_bytes = want[i].size};
		}
	}
	return nr_turns;
}

static size_t plan(struct resize *s, uint64_t now_ns, struct banks_change *turn)
{
	struct recording *r = s->r;
	struct ring_want *want = calloc(r->nr_banks + 1, sizeof(*want));
	struct banks **of = calloc(r->nr_banks + 1, sizeof(struct banks *));
	uint64_t others = memory_of_others(r);
	size_t nr = 0, nr_turns = 0;

	for (size_t i = 0; want && of && i < r->nr_banks; i++) {
		struct banks *b = r->banks[i];
		struct ring_load load;

		if (!is_sized(b) || b->active->state != BANK_ACTIVE)
			continue;
		banks_load(b, now_ns, &load);
		b->need_bytes = ring_time_need(&load, b->channel->horizon_ns);
		/* One that has just been replaced is still being measured. */
		if (b->need_bytes < load.size && b->active->older)
			b->need_bytes = load.size;
		want[nr] = (struct ring_want){.channel = b->channel->id,
					      .nr_banks = b->nr_banks,
					      .now = load.size,
					      .need = b->need_bytes};
		of[nr++] = b;
	}
	if (nr) {
		ring_time_fit(want, nr, nr_sized_channels(r),
			      s->budget > others ? s->budget - others : 0);
		for (size_t i = 0; i < nr; i++)
			if (s->refused && want[i].size > want[i].now)
				want[i].size = want[i].now;
		nr_turns = choose(s, want, of, nr, turn);
	}
	for (size_t i = 0; i < nr; i++)
		note_short(s, of[i], want[i].need > want[i].now && want[i].size <= want[i].now,
			   now_ns);
	free(want);
	free(of);
	return nr_turns;
}

static void start_job(struct resize *s, uint64_t now_ns)
{
	struct resize_job *j = &s->job;

	j->nr = plan(s, now_ns, j->turn);
	if (!j->nr && !s->outlived)
		return;
	j->outlived = s->outlived;
	s->outlived = NULL;
	j->nr_changes = s->r->nr_changes;
	s->busy = true;
	thread_pool_put(s->pool, &j->job);
}

/* ---- what wakes the main loop ---- */

static void watch(struct resize *s, struct bank *b, bool wanted)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLET};

	if (b->is_watched == wanted)
		return;
	epoll_ctl(s->epoll_fd, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, b->ring.fd, &e);
	b->is_watched = wanted;
}

static void watch_all(struct resize *s, bool on)
{
	for (size_t i = 0; i < s->r->nr_banks; i++) {
		struct banks *b = s->r->banks[i];

		for (unsigned k = 0; k < b->nr_banks && b->channel->horizon_ns; k++)
			watch(s, &b->bank[k], on && is_sized(b) && !b->short_since_ns);
	}
}

/* ---- the turn ---- */

static void give_up(struct resize *s, int rc)
{
	if (rc == -ENODEV || s->refused) /* a CPU that goes offline */
		return;
	s->refused = true;
	log_warn_err(&s->job.err);
	log_warn("rings grow no more");
}

static void outlive(struct resize *s, struct bank *older)
{
	struct bank *last = older;

	while (last->older)
		last = last->older;
	last->older = s->outlived;
	s->outlived = older;
}

/* As in a freeze, each step for all rings before the next. True: some were replaced. */
static bool turn(struct resize *s)
{
	struct resize_job *j = &s->job;
	bool same_rings = j->nr_changes == s->r->nr_changes, any = false;
	int rc;

	for (size_t i = 0; i < j->nr; i++) {
		struct banks_change *c = &j->turn[i];

		rc = j->rc[i];
		if (rc)
			give_up(s, rc);
		if (rc || !same_rings || banks_change_begin(c)) {
			banks_change_drop(c);
			continue;
		}
		any = true;
		rc = recording_join_ring(s->r, c->of);
		if (rc)
			log_warn("channel %s: BPF programs can't write to its new ring: %s",
				 c->of->channel->name, strerror(-rc));
	}
	if (any)
		recording_overlap();
	for (size_t i = 0; i < j->nr; i++)
		if (j->turn[i].of)
			banks_change_end(&j->turn[i]);
	for (size_t i = 0; i < j->nr; i++) {
		struct banks_change *c = &j->turn[i];
		char was[32], is[32];

		if (!c->of)
			continue;
		watch(s, c->left, false);
		if (c->spare)
			watch(s, c->spare, false);
		bank_leaders_ioctl(c->left, PERF_EVENT_IOC_DISABLE);
		log_verbose("channel %s, CPU %d: its rings had %s, and have %s from now on",
			    c->of->channel->name, c->of->cpu,
			    str_fmt_size(was, sizeof(was), c->left->ring.size),
			    str_fmt_size(is, sizeof(is), c->ring_bytes));
		if (c->spare)
			outlive(s, c->spare);
	}
	j->nr = 0;
	return any;
}

/* ---- a look ---- */

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static uint64_t short_look_ns(const struct channel *c)
{
	uint64_t ns = (uint64_t)c->horizon_ns / 8;

	return ns > MIN_LOOK_NS ? ns : MIN_LOOK_NS;
}

/* When the next former ring's time is over, or a short ring is looked at; 0: never. */
static uint64_t next_ns(struct resize *s, uint64_t now_ns)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < s->r->nr_banks; i++) {
		struct banks *b = s->r->banks[i];

		if (!is_sized(b))
			continue;
		ns = sooner(ns, banks_outlived_ns(b));
		if (b->short_since_ns)
			ns = sooner(ns, now_ns + short_look_ns(b->channel));
	}
	return ns;
}

static void set_timer(struct resize *s, uint64_t ns)
{
	struct itimerspec t = {.it_value = {.tv_sec = (time_t)(ns / 1000000000),
					    .tv_nsec = (long)(ns % 1000000000)}};

	timerfd_settime(s->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
}

static void drain(struct resize *s)
{
	struct epoll_event e[MAX_TURNS];
	uint64_t n;

	while (epoll_wait(s->epoll_fd, e, MAX_TURNS, 0) == MAX_TURNS)
		;
	while (read(s->timer_fd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
	if (read(s->done_fd, &n, sizeof(n)) == sizeof(n))
		s->is_done = true;
}

bool resize_look(struct resize *s, bool may_turn)
{
	struct bank *older;
	bool turned = false;
	uint64_t now;

	if (!s)
		return false;
	drain(s);
	if (!may_turn) {
		watch_all(s, false);
		return false;
	}
	if (s->is_done && thread_pool_take(s->pool, &s->job.job)) {
		s->busy = s->is_done = false;
		turned = turn(s);
	}
	now = clock_ns(); /* after the new rings were armed */
	for (size_t i = 0; i < s->r->nr_banks; i++) {
		banks_note(s->r->banks[i], now);
		while (is_sized(s->r->banks[i]) &&
		       (older = banks_take_outlived(s->r->banks[i], now)))
			outlive(s, older);
	}
	if (!s->busy)
		start_job(s, now);
	watch_all(s, true);
	set_timer(s, next_ns(s, now));
	return turned;
}

/* ---- life ---- */

static int open_fds(struct resize *s)
{
	struct epoll_event e = {.events = EPOLLIN};

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->epoll_fd < 0 || s->done_fd < 0 || s->timer_fd < 0 ||
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->done_fd, &e) ||
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->timer_fd, &e))
		return -errno;
	return 0;
}

int resize_new(struct recording *r, const struct ring_size_memory *memory, const struct target *t,
	       const struct caps *caps, struct resize **out, struct err *err)
{
	struct thread_pool_options pool = {
		.nr_threads = 1,
		.name = "ringback-rings",
		.stack_bytes = 256u << 10,
		.run = work,
		.started = run_first,
	};
	struct resize *s;
	int rc;

	if (!nr_sized_channels(r))
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	*s = (struct resize){
		.r = r, .target = t, .caps = caps, .epoll_fd = -1, .done_fd = -1, .timer_fd = -1};
	s->job.s = s;
	s->budget = ring_size_budget(memory, ring_size_machine(), setting_cpus_online(), caps);
	if (!s->budget) {
		resize_free(s);
		err_set(err, -EINVAL, "rings can't hold a time without memory (--memory 0)");
		err_hint(err, "leave out --memory, or give a size such as 256M");
		return -EINVAL;
	}
	rc = open_fds(s);
	rc = rc ? rc : thread_pool_new(&pool, &s->pool);
	if (rc) {
		resize_free(s);
		return err_sys(err, rc, "can't set up rings that are resized");
	}
	watch_all(s, true);
	*out = s;
	return 0;
}

void resize_free(struct resize *s)
{
	if (!s)
		return;
	thread_pool_free(s->pool);
	for (size_t i = 0; i < s->job.nr; i++)
		banks_change_drop(&s->job.turn[i]);
	banks_close_older(s->job.outlived);
	banks_close_older(s->outlived);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	if (s->done_fd >= 0)
		close(s->done_fd);
	if (s->timer_fd >= 0)
		close(s->timer_fd);
	free(s);
}

int resize_fd(const struct resize *s)
{
	return s ? s->epoll_fd : -1;
}
