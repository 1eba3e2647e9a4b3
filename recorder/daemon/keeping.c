// SPDX-License-Identifier: MIT
/* Takes over rings from a keeper and gives them to it; see keeping.h. Called by session.c and
 * daemon.c. */
#include "recorder/daemon/keeping.h"

#include "dump/base/err.h"
#include "recorder/base/log.h"
#include "recorder/capture/manifest.h"
#include "recorder/daemon/session.h"
#include "recorder/keep/keep_client.h"
#include "recorder/keep/kept_log.h"
#include "trigger/bpf/compact.h"
#include "trigger/bpf/sleeps.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct keeping {
	int sock;   /* -1: the keeper has ended */
	bool asked; /* it has not answered yet, and a socket holds few messages */
	bool again; /* rings have changed meanwhile */
	uint64_t asked_ns;
	bool is_new; /* to be told when it holds the rings */
	bool told_hangs;
	struct kept *kept;
	struct kept_log *log;
};

#define MIN_LOG_BYTES (64u << 10)

/* The log has what the ledger would forget with the recorder; a quarter of the ledger's bound holds
 * some 100,000 records of the default 64 MiB. */
static uint64_t log_bytes(uint64_t ledger_bytes)
{
	uint64_t bytes = MIN_LOG_BYTES;

	while (bytes * 2 <= ledger_bytes / 4)
		bytes *= 2;
	return bytes;
}

static void take(struct keeping *k)
{
	struct err err = ERR_INIT;
	struct keep_set set;
	int rc = keep_take(k->sock, &set);

	if (rc)
		err_sys(&err, rc, "the keeper doesn't hand over its rings");
	else if (set.nr)
		rc = kept_open(&set, &k->kept, &err);
	if (!rc && k->kept && (rc = kept_log_adopt(kept_log_of(k->kept), &k->log)))
		err_sys(&err, rc, "the kept history of processes can't be used");
	keep_set_close(&set);
	if (!rc)
		return;
	log_warn_err(&err);
	log_warn("recording starts anew: what the recorder before had in its rings is lost");
	kept_close(k->kept);
	k->kept = NULL;
}

int keeping_open(const struct session *s, struct keeping **out, struct err *err)
{
	struct keeping *k = calloc(1, sizeof(*k));

	if (!k)
		return err_set(err, -ENOMEM, "out of memory");
	if (keep_connect(s->config.name, &k->sock, err))
		log_warn_err(err);
	if (k->sock >= 0)
		take(k);
	*out = k;
	return 0;
}

static void disconnect(struct keeping *k)
{
	if (k->sock >= 0)
		close(k->sock);
	k->sock = -1;
	k->asked = k->again = false;
}

void keeping_close(struct keeping *k)
{
	if (!k)
		return;
	disconnect(k);
	kept_close(k->kept);
	kept_log_free(k->log);
	free(k);
}

struct kept *keeping_taken(struct keeping *k)
{
	return k ? k->kept : NULL;
}

struct kept_log *keeping_log(struct keeping *k)
{
	return k ? k->log : NULL;
}

int keeping_fd(const struct keeping *k)
{
	return k ? k->sock : -1;
}

void keeping_silence(struct keeping *k)
{
	int fds[SLEEPS_FDS];
	size_t nr = k && k->kept ? kept_nr_programs(k->kept) * COMPACT_FDS : 0;

	if (k && k->kept && kept_others(k->kept, nr, fds, SLEEPS_FDS) == SLEEPS_FDS)
		sleeps_silence(fds);
}

static int add_programs(const struct sleeps *sleeps, struct keep_set *set)
{
	int fds[SLEEPS_FDS], rc = 0;

	sleeps_fds(sleeps, fds);
	for (int i = 0; i < SLEEPS_FDS && !rc; i++)
		rc = keep_set_add(set, fds[i], 0);
	return rc;
}

static int start_log(struct session *s, struct keeping *k)
{
	int rc = k->log ? 0 : kept_log_new(log_bytes(s->config.ledger_bytes), &k->log);

	return rc ? rc : sideband_log(s->sideband, k->log);
}

static int give(struct session *s, struct keeping *k)
{
	struct keep_set set = {0};
	int rc = start_log(s, k);

	rc = rc ? rc : recording_keep(s->recording, kept_log_fd(k->log), &set);
	if (!rc && set.nr && s->sleeps)
		rc = add_programs(s->sleeps, &set);
	if (!rc)
		rc = keep_put(k->sock, &set);
	keep_set_free(&set);
	k->again = false;
	k->asked = !rc;
	k->asked_ns = clock_ns();
	return rc;
}

static void give_up(struct keeping *k, const char *why)
{
	disconnect(k);
	log_warn("%s: a restart of the recorder loses what is in the rings", why);
}

static void refused(struct keeping *k, int rc)
{
	struct err err = ERR_INIT;

	err_sys(&err, rc, "the keeper can't hold the rings");
	give_up(k, err.what);
}

void keeping_give(struct session *s)
{
	struct keeping *k = s->keeping;
	int rc = 0;

	if (k && k->asked)
		k->again = true;
	else if (k && k->sock >= 0)
		rc = give(s, k);
	if (rc)
		refused(k, rc);
	/* The keeper lets go of what was not taken over. */
	if (k) {
		kept_close(k->kept);
		k->kept = NULL;
	}
}

void keeping_hear(struct session *s)
{
	struct keeping *k = s->keeping;
	int rc = k->sock < 0 ? -EAGAIN : keep_answer(k->sock);

	if (rc == -EAGAIN)
		return;
	if (rc == -EPIPE) {
		give_up(k, "the keeper has ended");
	} else if (rc || !k->asked) {
		refused(k, rc ? rc : -EBADMSG);
	} else {
		if (k->is_new)
			log_info("a keeper holds the rings from now on");
		k->is_new = k->told_hangs = k->asked = false;
	}
}

bool keeping_look(struct session *s)
{
	struct keeping *k = s->keeping;
	struct err err = ERR_INIT;

	if (!k)
		return false;
	if (k->again && !k->asked)
		keeping_give(s);
	if (k->asked && !k->told_hangs &&
	    clock_ns() - k->asked_ns > KEEP_TIMEOUT_S * 1000000000ull) {
		k->is_new = k->told_hangs = true;
		log_warn("the keeper does not answer: a restart of the recorder may lose what is "
			 "in the rings");
	}
	if (k->sock >= 0 || keep_connect(s->config.name, &k->sock, &err) || k->sock < 0)
		return false;
	k->is_new = true;
	keeping_give(s);
	return k->sock >= 0;
}
