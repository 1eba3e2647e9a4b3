// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The sysfs files of a cs_etm PMU, with the names in drivers/hwtracing/coresight/: format/, and
 * behind a link for each CPU the id registers of its tracer. A tracer's registers are its CPU's
 * number but for their digits.
 */
#include "rb_aux.h"

#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/sysfs.h>

PMU_FORMAT_ATTR(timestamp, "config:28");
PMU_FORMAT_ATTR(contextid, "config:14");

static struct attribute *format_attrs[] = {
	&format_attr_timestamp.attr,
	&format_attr_contextid.attr,
	NULL,
};

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attrs,
};

const struct attribute_group *cs_etm_groups[] = {
	&format_group,
	NULL,
};

static ssize_t register_show(struct kobject *kobj, struct kobj_attribute *attr, char *page)
{
	return sysfs_emit(page, "0x28000ea%c\n", kobj->name[3]);
}

static struct kobj_attribute trcidr0 = __ATTR(trcidr0, 0444, register_show, NULL);
static struct kobj_attribute authstatus = __ATTR(trcauthstatus, 0444, register_show, NULL);
static struct attribute *trcidr_attrs[] = {&trcidr0.attr, NULL};
static struct attribute *mgmt_attrs[] = {&authstatus.attr, NULL};
static const struct attribute_group trcidr_group = {.name = "trcidr", .attrs = trcidr_attrs};
static const struct attribute_group mgmt_group = {.name = "mgmt", .attrs = mgmt_attrs};

static struct kobject *tracers[NR_CPUS];

int cs_etm_init(struct device *pmu)
{
	int cpu, rc = 0;

	for_each_online_cpu(cpu)
	{
		char name[16];

		snprintf(name, sizeof(name), "etm%d", cpu);
		tracers[cpu] = kobject_create_and_add(name, NULL);
		if (!tracers[cpu])
			return -ENOMEM;
		snprintf(name, sizeof(name), "cpu%d", cpu);
		rc = sysfs_create_group(tracers[cpu], &trcidr_group);
		if (!rc)
			rc = sysfs_create_group(tracers[cpu], &mgmt_group);
		if (!rc)
			rc = sysfs_create_link(&pmu->kobj, tracers[cpu], name);
		if (rc)
			return rc;
	}
	return 0;
}

void cs_etm_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) kobject_put(tracers[cpu]);
}
