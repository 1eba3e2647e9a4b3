// SPDX-License-Identifier: MIT
/*
 * An order service with four threads. For an order without a customer, a thread reads through a
 * null pointer, and SIGSEGV kills the process with all threads. The process can't trigger a dump
 * any more, so a rule of the recorder detects the crash.
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

/* The main thread of the service. */
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
	sleep_ms(200); /* run.sh stops the recorder next: let it see the crash */
	return 0;
}
