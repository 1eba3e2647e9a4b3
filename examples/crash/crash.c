// SPDX-License-Identifier: MIT
/*
 * An order desk with four threads. An order without a customer comes in, and the thread that gets
 * it reads through a null pointer: the process is killed by SIGSEGV, with all its threads. Nobody
 * is left to ask for a dump: the recorder's own rule sees the crash.
 */
#include "../incident.h"

#include <stdatomic.h>
#include <sys/resource.h>

#define NORMAL_MS 900

struct customer {
	int id, discount;
};

struct order {
	struct customer *customer;
	int amount;
};

static atomic_int total;

static __attribute__((noinline)) int price_of(const struct order *o)
{
	work_ms(0.1);
	return o->amount - o->customer->discount;
}

static __attribute__((noinline)) void take_order(const struct order *o)
{
	atomic_fetch_add(&total, price_of(o));
}

static void *desk(void *arg)
{
	struct customer known = {.id = 7, .discount = 3};
	struct order order = {.customer = &known, .amount = 100};
	double began = ms_now();
	char name[16];

	snprintf(name, sizeof(name), "desk-%d", (int)(intptr_t)arg);
	name_me(name);
	for (;;) {
		if (arg == (void *)2 && ms_now() - began > NORMAL_MS)
			order.customer = NULL; /* "walk-in" */
		take_order(&order);
		sleep_ms(2);
	}
	return NULL;
}

/* The service itself. */
static void serve(void)
{
	struct rlimit none = {0, 0};

	name_me("orders");
	setrlimit(RLIMIT_CORE, &none);
	for (int i = 0; i < 4; i++)
		start(desk, (void *)(intptr_t)i);
	for (;;)
		pause();
}

int main(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		serve();
	name_me("init-orders");
	waitpid(pid, &status, 0);
	fprintf(stderr, "orders ended: %s\n",
		WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "by itself");
	sleep_ms(200); /* who is told to stop right now might not have looked yet */
	return 0;
}
