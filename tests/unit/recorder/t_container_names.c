// SPDX-License-Identifier: MIT
/*
 * Names of containers and pods from a made-up root directory: of each runtime, of the kubelet
 * alone, and none from files that are not what they should be.
 */
#include "recorder/symbolize/container_names.h"

#include "dump/file/reader.h"
#include "dump/format/format.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "1234abcd-56ef-7890-abcd-ef0123456789"

#define POD_PATH   "/kubepods/burstable/pod" UID
#define APP_PATH   POD_PATH "/" ID
#define CONTAINERD "run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID
#define K3S	   "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/" ID
#define DOCKER	   "var/lib/docker/containers/" ID
#define STORAGE	   "var/lib/containers/storage/overlay-containers"
#define LOGS	   "var/log/pods/"

#define CRI_STATE                                                                                  \
	"{\"annotations\": {\"io.kubernetes.cri.sandbox-name\": \"checkout-7d9\","                 \
	"\"io.kubernetes.cri.sandbox-namespace\": \"shop\","                                       \
	"\"io.kubernetes.cri.container-name\": \"app\"}}"

#define APP_ITEM "[" ID " containerd shop checkout-7d9 app]"
#define POD_ITEM "[" UID " containerd shop checkout-7d9 ]"

/* ---- the root ---- */

static char root[] = "/tmp/t_container_names.XXXXXX";

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	return remove(path);
}

static int begin(void **state)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	return !mkdtemp(root);
}

static int end(void **state)
{
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The path below the root, with all directories that it needs. */
static const char *at(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	return path;
}

static void put_bytes(const char *name, const char *text, size_t n)
{
	FILE *f = fopen(at(name), "we");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

/* ---- asking ---- */

struct answer {
	char text[8192];
	unsigned nr_payloads, nr_items;
	int rc;
};

static int take(void *ctx, struct bytes payload)
{
	struct answer *a = ctx;
	struct bytes item;
	uint16_t kind;
	bool broken = false;

	assert_true(payload.len <= FMT_BLOCK_BYTES);
	a->nr_payloads++;
	while (reader_next_item(&payload, &kind, &item, &broken)) {
		size_t n = strlen(a->text);

		assert_int_equal(kind, FMT_CGROUP_NAMES);
		assert_true(item.len && !item.p[item.len - 1]);
		a->nr_items++;
		if (n + item.len + 3 > sizeof(a->text))
			continue;
		a->text[n] = '[';
		memcpy(a->text + n + 1, item.p, item.len);
		for (size_t i = 0; i + 1 < item.len; i++)
			if (!item.p[i])
				a->text[n + 1 + i] = ' ';
		a->text[n + item.len] = ']';
	}
	assert_false(broken);
	return a->rc;
}

static int ask(struct answer *a, const char *const *paths, uint64_t deadline_ns)
{
	struct container_names_options opt = {.deadline_ns = deadline_ns, .out = take, .ctx = a};
	struct container_names *c;
	int rc = 0;

	opt.root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(container_names_new(&opt, &c), 0);
	for (; *paths && !rc; paths++)
		rc = container_names_add(c, *paths);
	rc = rc ? rc : container_names_flush(c);
	container_names_free(c);
	close(opt.root_fd);
	return rc;
}

static void expect(const char *path, const char *want)
{
	struct answer a = {0};

	assert_int_equal(ask(&a, (const char *const[]){path, NULL}, UINT64_MAX), 0);
	assert_string_equal(a.text, want);
}

/* ---- runtimes ---- */

static void test_containerd(void **state)
{
	put(CONTAINERD "/config.json", CRI_STATE);
	expect(APP_PATH, APP_ITEM POD_ITEM);
	expect("/kubepods.slice/kubepods-pod1234abcd_56ef_7890_abcd_ef0123456789.slice/"
	       "cri-containerd-" ID ".scope",
	       APP_ITEM POD_ITEM);
	expect("cpu:" APP_PATH, APP_ITEM POD_ITEM);
}

static void test_k3s(void **state)
{
	put(K3S "/config.json", CRI_STATE);
	expect(APP_PATH, APP_ITEM POD_ITEM);
}

/* The container that holds a pod's namespaces has no name. */
static void test_sandbox(void **state)
{
	put(CONTAINERD "/config.json",
	    "{\"annotations\": {\"io.kubernetes.cri.sandbox-name\": \"checkout-7d9\"}}");
	expect(APP_PATH, "[" ID " containerd  checkout-7d9 ][" UID " containerd  checkout-7d9 ]");
}

static void test_docker(void **state)
{
	put(DOCKER "/config.v2.json", "{\"Name\": \"/web\", \"Config\": {\"Labels\": {}}}");
	expect("/docker/" ID, "[" ID " docker   web]");
	expect("/system.slice/docker-" ID ".scope", "[" ID " docker   web]");
	put(DOCKER "/config.v2.json",
	    "{\"Name\": \"/k8s_app_checkout-7d9_shop_1\", \"Config\": {\"Labels\": {"
	    "\"io.kubernetes.pod.name\": \"checkout-7d9\", \"io.kubernetes.pod.namespace\": "
	    "\"shop\", \"io.kubernetes.container.name\": \"app\"}}}");
	expect(APP_PATH,
	       "[" ID " docker shop checkout-7d9 app][" UID " docker shop checkout-7d9 ]");
}

static void test_podman(void **state)
{
	put(STORAGE "/" ID "/userdata/config.json", "{\"annotations\": {}}");
	expect("/machine.slice/libpod-" ID ".scope/container", "");
	put(STORAGE "/containers.json",
	    "[{\"id\": \"00\", \"names\": [\"db\"]}, {\"id\": 1}, 2, {\"id\": \"" ID
	    "\", \"names\": [\"web\", \"other\"]}]");
	expect("/machine.slice/libpod-" ID ".scope/container", "[" ID " podman   web]");
}

static void test_crio(void **state)
{
	put(STORAGE "/" ID "/userdata/config.json",
	    "{\"annotations\": {\"io.kubernetes.pod.name\": \"checkout-7d9\", "
	    "\"io.kubernetes.pod.namespace\": \"shop\", \"io.kubernetes.container.name\": "
	    "\"app\"}}");
	expect("/kubepods.slice/kubepods-pod1234abcd_56ef_7890_abcd_ef0123456789.slice/crio-" ID
	       ".scope",
	       "[" ID " cri-o shop checkout-7d9 app][" UID " cri-o shop checkout-7d9 ]");
}

/* Without a runtime's files, and for a pod's own control group. */
static void test_kubelet(void **state)
{
	put(LOGS "shop_other-1_00000000-56ef-7890-abcd-ef0123456789/app/0.log", "");
	put(LOGS "shop_" UID "/app/0.log", "");
	put(LOGS "shop_checkout-7d9_" UID "/app/0.log", "");
	expect(APP_PATH, "[" UID "  shop checkout-7d9 ]");
	expect(POD_PATH, "[" UID "  shop checkout-7d9 ]");
	expect("/docker/" ID, "");
}

/* ---- what is not there, or not as it should be ---- */

static void test_nothing(void **state)
{
	struct answer a = {0};

	expect(APP_PATH, "");
	expect(NULL, "");
	expect("", "");
	expect("/system.slice/ssh.service", "");
	put(CONTAINERD "/config.json", CRI_STATE);
	put(LOGS "shop_checkout-7d9_" UID "/app/0.log", "");
	assert_int_equal(ask(&a, (const char *const[]){APP_PATH, NULL}, 1), 0);
	assert_string_equal(a.text, "");
	a.rc = -ENOSPC;
	assert_int_equal(ask(&a, (const char *const[]){APP_PATH, NULL}, UINT64_MAX), -ENOSPC);
}

static void test_bad_json(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"7",
		"null",
		"{\"annotations\": 7}",
		"{\"annotations\": [\"io.kubernetes.cri.sandbox-name\"]}",
		"{\"annotations\": {\"io.kubernetes.cri.sandbox-name\": 7}}",
		"{\"annotations\": {\"io.kubernetes.cri.sandbox-name\": \"\\u0000a\"}}",
		"{\"annotations\": {\"io.kubernetes.cri.sandbox-name\": \"\xff\"}}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(CONTAINERD "/config.json", bad[i]);
		expect(APP_PATH, "");
	}
}

/* Neither a link in place of the file nor a FIFO is opened, nor a file that is too large. */
static void test_bad_files(void **state)
{
	char *large = malloc(2 << 20);
	char target[512];

	put("elsewhere", CRI_STATE);
	snprintf(target, sizeof(target), "%s/elsewhere", root);
	assert_int_equal(symlink(target, at(CONTAINERD "/config.json")), 0);
	expect(APP_PATH, "");
	unlink(at(CONTAINERD "/config.json"));
	assert_int_equal(mkfifo(at(CONTAINERD "/config.json"), 0600), 0);
	expect(APP_PATH, "");
	unlink(at(CONTAINERD "/config.json"));
	assert_non_null(large);
	memset(large, ' ', 2 << 20);
	memcpy(large, CRI_STATE, strlen(CRI_STATE));
	put_bytes(CONTAINERD "/config.json", large, 2 << 20);
	expect(APP_PATH, "");
	put_bytes(CONTAINERD "/config.json", large, 1 << 20);
	expect(APP_PATH, APP_ITEM POD_ITEM);
	free(large);
}

/* The directory of a runtime may be a link to another disk, within the root. */
static void test_moved(void **state)
{
	put("data/" ID "/config.v2.json", "{\"Name\": \"/web\"}");
	assert_int_equal(symlink("/data", at("var/lib/docker/containers")), 0);
	expect("/docker/" ID, "[" ID " docker   web]");
}

/* ---- bounds ---- */

static void test_long_names(void **state)
{
	char text[1024];
	struct answer a = {0};

	snprintf(text, sizeof(text), "{\"Name\": \"%0600d\"}", 0);
	put(DOCKER "/config.v2.json", text);
	assert_int_equal(ask(&a, (const char *const[]){"/docker/" ID, NULL}, UINT64_MAX), 0);
	assert_int_equal(strlen(a.text), strlen("[" ID " docker   ]") + 255);
}

/* Each id is looked up once, and no more than a dump has room for. */
static void test_many(void **state)
{
	static char ids[1500][80];
	const char *paths[2 * 1500 + 1] = {NULL};
	char state_file[160], text[1024];
	struct answer a = {0};

	snprintf(text, sizeof(text), "{\"Name\": \"%0255d\"}", 0);
	for (int i = 0; i < 1500; i++) {
		snprintf(ids[i], sizeof(ids[i]), "/docker/%064d", i);
		paths[2 * i] = paths[2 * i + 1] = ids[i];
		snprintf(state_file, sizeof(state_file),
			 "var/lib/docker/containers/%064d/config.v2.json", i);
		put(state_file, text);
	}
	assert_int_equal(ask(&a, paths, UINT64_MAX), 0);
	assert_int_equal(a.nr_items, FMT_CGROUP_MAX_NAMES);
	assert_true(a.nr_payloads > 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_containerd), TEST(test_k3s),	   TEST(test_sandbox),
		TEST(test_docker),     TEST(test_podman),  TEST(test_crio),
		TEST(test_kubelet),    TEST(test_nothing), TEST(test_bad_json),
		TEST(test_bad_files),  TEST(test_moved),   TEST(test_long_names),
		TEST(test_many),
	};

	return cmocka_run_group_tests_name("container names", tests, NULL, NULL);
}
