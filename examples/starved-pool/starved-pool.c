// SPDX-License-Identifier: MIT
/*
 * A pool of two threads makes thumbnails: 2 ms each, and the requester waits for the result. Then
 * the yearly report is ordered twice, and the reports go into the same queue: half a second each.
 * Both threads are busy, so thumbnails wait, although they take only 2 ms.
 */
#include "../incident.h"

#define POOL	  2
#define NORMAL_MS 900
#define LIMIT_MS  100

struct job {
	struct job *next;
	void (*run)(void);
	bool done;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, ready = PTHREAD_COND_INITIALIZER;
static struct job *first, **last = &first;
static bool over;

static __attribute__((noinline)) void make_thumbnail(void)
{
	work_ms(2);
}

static __attribute__((noinline)) void render_yearly_report(void)
{
	work_ms(500);
}

static void *pool_thread(void *arg)
{
	struct job *j;
	char name[16];

	snprintf(name, sizeof(name), "pool-%d", (int)(intptr_t)arg);
	name_me(name);
	pthread_mutex_lock(&lock);
	while (!over) {
		j = first;
		if (!j) {
			pthread_cond_wait(&more, &lock);
			continue;
		}
		first = j->next;
		if (!first)
			last = &first;
		pthread_mutex_unlock(&lock);
		j->run();
		pthread_mutex_lock(&lock);
		j->done = true;
		pthread_cond_broadcast(&ready);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void submit(struct job *j, void (*run)(void))
{
	*j = (struct job){.run = run};
	pthread_mutex_lock(&lock);
	*last = j;
	last = &j->next;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}

static void wait_until_done(struct job *j)
{
	pthread_mutex_lock(&lock);
	while (!j->done)
		pthread_cond_wait(&ready, &lock);
	pthread_mutex_unlock(&lock);
}

/* Milliseconds until a thumbnail is ready. */
static __attribute__((noinline)) double serve_thumbnail(void)
{
	double began = ms_now();
	struct job j;

	submit(&j, make_thumbnail);
	wait_until_done(&j);
	return ms_now() - began;
}

int main(void)
{
	struct job reports[POOL];
	pthread_t threads[POOL];
	double began = ms_now(), took = 0;

	name_me("frontend");
	for (int i = 0; i < POOL; i++)
		threads[i] = start(pool_thread, (void *)(intptr_t)i);
	while (ms_now() - began < NORMAL_MS) {
		serve_thumbnail();
		sleep_ms(3);
	}
	for (int i = 0; i < POOL; i++)
		submit(&reports[i], render_yearly_report);
	took = serve_thumbnail();
	if (took > LIMIT_MS)
		incident("a thumbnail took %.0f ms, limit %d ms", took, LIMIT_MS);
	for (int i = 0; i < POOL; i++)
		wait_until_done(&reports[i]);
	pthread_mutex_lock(&lock);
	over = true;
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < POOL; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
