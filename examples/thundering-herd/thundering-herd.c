// SPDX-License-Identifier: MIT
/*
 * Sessions of a chat server wait for news, all on one condition variable. The server wakes them by
 * a broadcast for each message, and each looks into its own mailbox under the lock; one of them
 * finds something. With three sessions nothing shows. With 200, each message wakes 200 threads, and
 * the one with a message waits for the others.
 */
#include "../incident.h"

#define FEW	  3
#define MANY	  200
#define NORMAL_MS 900
#define MESSAGES  8 /* of one conversation */
#define LIMIT_MS  150

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER, wanted = PTHREAD_COND_INITIALIZER;
static int nr_wanted, nr_messages;
static bool over;

/* Looks through the mailbox, with the lock held. */
static __attribute__((noinline)) bool mailbox_is_empty(int nr_read)
{
	work_ms(0.3);
	return nr_messages == nr_read;
}

/* A session without messages of its own. */
static void *session(void *arg)
{
	name_me("session");
	pthread_mutex_lock(&lock);
	while (!over) {
		pthread_cond_wait(&news, &lock);
		mailbox_is_empty(nr_messages);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

static __attribute__((noinline)) void deliver(void)
{
	nr_messages++;
	pthread_cond_broadcast(&news);
}

static void *server(void *arg)
{
	name_me("chat-server");
	pthread_mutex_lock(&lock);
	while (!over) {
		if (nr_messages < nr_wanted)
			deliver();
		else
			pthread_cond_wait(&wanted, &lock);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

static __attribute__((noinline)) void wait_for_message(void)
{
	int nr_read;

	pthread_mutex_lock(&lock);
	nr_read = nr_wanted++;
	pthread_cond_signal(&wanted);
	while (mailbox_is_empty(nr_read))
		pthread_cond_wait(&news, &lock);
	pthread_mutex_unlock(&lock);
}

/* Milliseconds that a conversation took. */
static __attribute__((noinline)) double talk(void)
{
	double began = ms_now();

	for (int i = 0; i < MESSAGES; i++)
		wait_for_message();
	return ms_now() - began;
}

int main(void)
{
	pthread_t threads[MANY], serving;
	double began = ms_now(), took = 0;
	int n = 0;

	name_me("support-chat");
	serving = start(server, NULL);
	while (n < FEW)
		threads[n++] = start(session, NULL);
	while (ms_now() - began < NORMAL_MS) {
		talk();
		sleep_ms(3);
	}
	while (n < MANY)
		threads[n++] = start(session, NULL);
	for (int i = 0; i < 20 && took < LIMIT_MS; i++) {
		took = talk();
		sleep_ms(3);
	}
	if (took >= LIMIT_MS)
		incident("a conversation took %.0f ms, limit %d ms", took, LIMIT_MS);
	pthread_mutex_lock(&lock);
	over = true;
	pthread_cond_broadcast(&news);
	pthread_cond_broadcast(&wanted);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_join(serving, NULL);
	return 0;
}
