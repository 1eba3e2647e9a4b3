// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The sysfs files of an intel_pt PMU, with the names in arch/x86/events/intel/pt.c: format/ of 6.1,
 * caps/ and clock ratios of a machine with every packet that the tests' encoder writes (leaf 14H of
 * a Skylake server: 3 GHz, crystal of 25 MHz).
 */
#include "rb_aux.h"

#include <linux/bits.h>
#include <linux/module.h>

PMU_FORMAT_ATTR(pt, "config:0");
PMU_FORMAT_ATTR(cyc, "config:1");
PMU_FORMAT_ATTR(pwr_evt, "config:4");
PMU_FORMAT_ATTR(fup_on_ptw, "config:5");
PMU_FORMAT_ATTR(mtc, "config:9");
PMU_FORMAT_ATTR(tsc, "config:10");
PMU_FORMAT_ATTR(noretcomp, "config:11");
PMU_FORMAT_ATTR(ptw, "config:12");
PMU_FORMAT_ATTR(branch, "config:13");
PMU_FORMAT_ATTR(mtc_period, "config:14-17");
PMU_FORMAT_ATTR(cyc_thresh, "config:19-22");
PMU_FORMAT_ATTR(psb_period, "config:24-27");
PMU_FORMAT_ATTR(event, "config:31");
PMU_FORMAT_ATTR(notnt, "config:55");

#define CONFIG_BITS                                                                                \
	(BIT_ULL(0) | BIT_ULL(1) | BIT_ULL(4) | BIT_ULL(5) | GENMASK_ULL(13, 9) |                  \
	 GENMASK_ULL(17, 14) | GENMASK_ULL(22, 19) | GENMASK_ULL(27, 24) | BIT_ULL(31) |           \
	 BIT_ULL(55))

bool intel_pt_config_ok(u64 config)
{
	return !(config & ~CONFIG_BITS);
}

static struct attribute *format_attrs[] = {
	&format_attr_pt.attr,	      &format_attr_cyc.attr,	    &format_attr_pwr_evt.attr,
	&format_attr_event.attr,      &format_attr_notnt.attr,	    &format_attr_fup_on_ptw.attr,
	&format_attr_mtc.attr,	      &format_attr_tsc.attr,	    &format_attr_noretcomp.attr,
	&format_attr_ptw.attr,	      &format_attr_branch.attr,	    &format_attr_mtc_period.attr,
	&format_attr_cyc_thresh.attr, &format_attr_psb_period.attr, NULL,
};

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attrs,
};

#define CAP(_name, _value) PMU_EVENT_ATTR_STRING(_name, cap_##_name, _value)

CAP(max_subleaf, "1");
CAP(cr3_filtering, "1");
CAP(psb_cyc, "1");
CAP(ip_filtering, "1");
CAP(mtc, "1");
CAP(ptwrite, "0");
CAP(power_event_trace, "0");
CAP(event_trace, "0");
CAP(tnt_disable, "0");
CAP(topa_output, "1");
CAP(topa_multiple_entries, "1");
CAP(single_range_output, "1");
CAP(output_subsys, "0");
CAP(payloads_lip, "0");
CAP(num_address_ranges, "2");
CAP(mtc_periods, "249");
CAP(cycle_thresholds, "3fff");
CAP(psb_periods, "3f");

static struct attribute *caps_attrs[] = {
	&cap_max_subleaf.attr.attr,
	&cap_cr3_filtering.attr.attr,
	&cap_psb_cyc.attr.attr,
	&cap_ip_filtering.attr.attr,
	&cap_mtc.attr.attr,
	&cap_ptwrite.attr.attr,
	&cap_power_event_trace.attr.attr,
	&cap_event_trace.attr.attr,
	&cap_tnt_disable.attr.attr,
	&cap_topa_output.attr.attr,
	&cap_topa_multiple_entries.attr.attr,
	&cap_single_range_output.attr.attr,
	&cap_output_subsys.attr.attr,
	&cap_payloads_lip.attr.attr,
	&cap_num_address_ranges.attr.attr,
	&cap_mtc_periods.attr.attr,
	&cap_cycle_thresholds.attr.attr,
	&cap_psb_periods.attr.attr,
	NULL,
};

static const struct attribute_group caps_group = {
	.name = "caps",
	.attrs = caps_attrs,
};

PMU_EVENT_ATTR_STRING(max_nonturbo_ratio, timing_max_nonturbo_ratio, "30");
PMU_EVENT_ATTR_STRING(tsc_art_ratio, timing_tsc_art_ratio, "240:2");

static struct attribute *timing_attrs[] = {
	&timing_max_nonturbo_ratio.attr.attr,
	&timing_tsc_art_ratio.attr.attr,
	NULL,
};

static const struct attribute_group timing_group = {
	.attrs = timing_attrs,
};

const struct attribute_group *intel_pt_groups[] = {
	&format_group,
	&caps_group,
	&timing_group,
	NULL,
};
