// SPDX-License-Identifier: MIT
//
// html_page.js PAGE WANT.json DIRECTORY: opens a page of `report --html` in Chromium and uses it as somebody
// would. Prints "ok NAME" or "bad NAME: WHY" a line; tests/program/read/it_html.sh makes test points of them. WANT says
// what the dump holds, counted from `script --json`. Pictures go to DIRECTORY.
"use strict";
const fs = require("node:fs");
const { openBrowser } = require("../helpers/browser.js");

const [, , page, wantFile, directory] = process.argv;
const want = JSON.parse(fs.readFileSync(wantFile));

function check(name, is, why) {
	console.log(is ? "ok " + name : `bad ${name}: ${typeof why === "string" ? why : JSON.stringify(why)}`);
}

function equal(name, wanted, got) {
	check(name, JSON.stringify(wanted) === JSON.stringify(got), `want ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`);
}

const text = (selector) => `document.querySelector(${JSON.stringify(selector)}).textContent`;
const view = "({ from: ringback.timeline.view.from, to: ringback.timeline.view.to })";
const width = (v) => v.to - v.from;
// The kernel no longer knows the thread of a sample in its last moment: null.
const samplesIn = (from, to, tid) => want.samples.filter((s) => s.at >= from && s.at <= to && (tid === undefined ? s.tid : s.tid === tid)).length;
// Longer than the page waits before it counts anew.
const settle = () => new Promise((r) => setTimeout(r, 250));

async function opens(b) {
	await b.open("file://" + page);
	check("the page opens", await b.until("window.ringback !== undefined"), b.problems);
	await settle();
	equal("it asks for nothing but itself", ["file://" + page], b.requests.filter((u) => !u.startsWith("data:")));
	equal("the verdict is on top, as why has it", want.verdict, await b.value(text("#verdict-line")));
	equal("the reason is text, markup and all", true, (await b.value(text("#dump"))).includes(want.reason));
	equal("nothing of the dump became markup", 0, await b.value("document.querySelectorAll('img, iframe, link:not([rel=icon]), script:not([nonce]):not([type])').length + (window.injected ? 1 : 0)"));
	equal("a thread called like the end of a script is listed", true, 0 < await b.value(`[...document.querySelectorAll("#thread-table .name")].filter((e) => e.textContent === ${JSON.stringify(want.hostile)}).length`));
	equal("control groups wait as long as why has it", want.blame, await b.value("[...document.querySelectorAll('#blame:not([hidden]) tbody tr')].map((r) => [r.cells[0].textContent, Number(r.cells[1].dataset.ns)])"));
	check("what was recorded and lost is said", /No losses|lost/.test(await b.value(text("#losses"))));
	await b.screenshot(directory + "/light.png", true);
}

async function numbers(b) {
	const page = await b.value("ringback.model.threads.filter((t) => t.index && t.whole[0]).map((t) => [t.tid, t.whole[0]])");
	const [from, to] = await b.value("ringback.model.scheduled");
	const ran = want.ran(from, to), shown = new Map(page), far = [];
	for (const tid of new Set([...ran.keys(), ...shown.keys()]))
		if (!within(ran.get(tid), shown.get(tid) || 0))
			far.push([tid, shown.get(tid), ran.get(tid)]);
	equal("CPU time of each thread is what switches say", [], far);
	check("of many threads", page.length >= 5, page.length);
	equal("the table says what report says", want.reported, await b.value(`[...document.querySelectorAll("#thread-table tbody tr")].find((r) => r.dataset.tid === "${want.burner}").cells[3].textContent`));
	equal("the flame graph has all samples that are not of idle CPUs", samplesIn(-Infinity, Infinity), Number(await b.value("document.querySelector('#flame').dataset.total")));
	equal("spans cover what the sums say", true, await b.value(`(() => { const m = ringback.model, t = m.byTid.get(${want.burner}); let ns = 0;
		for (let i = m.first[t.index]; i < m.first[t.index + 1]; i++) if (m.state[i] === 0) ns += Math.max(0, Math.min(m.start[i] + m.ns[i], m.scheduled[1]) - Math.max(m.start[i], m.scheduled[0])); return Math.abs(ns - t.whole[0]) < 1000; })()`));
}

async function threads(b) {
	await b.click(`tr[data-tid="${want.burner}"] .name`);
	equal("a click on a thread marks its row", [String(want.burner)], await b.value("[...document.querySelectorAll('#thread-table tr.on')].map((r) => r.dataset.tid)"));
	equal("and the flame graph is its own", samplesIn(-Infinity, Infinity, want.burner), Number(await b.value("document.querySelector('#flame').dataset.total")));
	check("which is said", (await b.value(text("#flame-of"))).includes("of burner"), await b.value(text("#flame-of")));
	check("it burns in the function that does", /burn_cycles|load_roles/.test(await b.value(text("#functions tbody"))), await b.value(text("#functions tbody")));
	await b.click("#flame-all");
	await b.click("th[data-id=ready] button");
	equal("a click on a title sorts", "descending", await b.value("document.querySelector('th[data-id=ready]').getAttribute('aria-sort')"));
	const ns = await b.value("[...document.querySelectorAll('#thread-table tbody tr')].map((r) => Number(r.cells[4].dataset.ns))");
	check("by what stands there", ns.every((v, i) => !i || ns[i - 1] >= v), ns.slice(0, 9));
}

async function zooms(b) {
	const box = await b.place("#canvas"), x = box.left + box.width * 0.6, y = box.top + 120;
	let before = await b.value(view);
	await b.clickAt(x, y);
	await b.mouse("mouseWheel", x, y, { deltaX: 0, deltaY: -300, button: "none" });
	await settle();
	let after = await b.value(view);
	check("the wheel zooms in", width(after) < 0.7 * width(before), [before, after]);
	for (const [key, is, name] of [["w", (o, n) => width(n) < width(o), "w zooms in"], ["s", (o, n) => width(n) > width(o), "s zooms out"],
		["a", (o, n) => n.from < o.from, "a goes back"], ["d", (o, n) => n.from > o.from, "d goes on"]]) {
		before = await b.value(view);
		await b.key(key);
		after = await b.value(view);
		check(name, is(before, after), [before, after]);
	}
	before = await b.value(view);
	await b.drag(box.left + 600, box.top + 12, box.left + 500, box.top + 12);
	after = await b.value(view);
	check("the times can be dragged", after.from > before.from && Math.abs(width(after) - width(before)) < 2, [before, after]);
	await b.key("0");
	await settle();
	after = await b.value(view);
	check("0 shows the trigger", after.from < 0 && after.to > 0 && width(after) <= 1e7, after);
	await b.screenshot(directory + "/trigger.png");
	await b.click("#fit");
	check("all can be shown again", width(await b.value(view)) > 1e9);
	await b.key("ArrowDown");
	await b.key("Escape");
	await b.key("?");
	equal("? tells the keys", true, await b.value("document.querySelector('#help').open"));
	await b.key("Escape", { windowsVirtualKeyCode: 27 });
	await b.value("document.querySelector('#help').close()");
}

async function searches(b) {
	await b.value("document.body.focus(), document.activeElement.blur()");
	await b.key("/");
	equal("/ goes to the search", "search", await b.value("document.activeElement.id"));
	await b.type("waiter");
	check("a thread is found by its name", await b.until("ringback.found && ringback.found.length >= 1 && ringback.found.every((t) => t.lower.includes('waiter'))"));
	await b.key("Enter");
	equal("Enter goes to it", "waiter", await b.value("ringback.model.threads[ringback.thread].comm"));
	await b.key("Escape");
	equal("Esc drops the search", null, await b.value("ringback.found"));
	await b.key("/");
	await b.type(want.function);
	check("threads are found by a function", await b.until(`ringback.hits && ringback.hits.size > 0 && ringback.found.some((t) => t.tid === ${want.burner})`), await b.value(text("#found")));
	await b.screenshot(directory + "/search.png", true);
	await b.key("Escape");
	await b.value("ringback.setThread(-1)");
}

async function selects(b) {
	const all = Number(await b.value("document.querySelector('#flame').dataset.total"));
	const box = await b.place("#canvas"), y = box.top + 60;
	// A busy machine's rings do not reach back far.
	const [left, right] = await b.value("(([a, z]) => [0.4, 0.8].map((k) => ringback.timeline.x(a + (z - a) * k)))(ringback.model.scheduled)");
	await b.drag(box.left + left, y, box.left + right, y);
	await settle();
	const r = await b.value("ringback.range"), total = Number(await b.value("document.querySelector('#flame').dataset.total"));
	check("dragging selects a time", r && r.to > r.from, r);
	check("the flame graph follows", total < all, [total, all]);
	equal("it has the samples of that time", samplesIn(r.from, r.to), total);
	const [from, to] = await b.value("ringback.model.scheduled"), ran = want.ran(Math.max(r.from, from), Math.min(r.to, to));
	const cell = Number(await b.value(`[...document.querySelectorAll("#thread-table tbody tr")].find((r) => r.dataset.tid === "${want.burner}").cells[3].dataset.ns`));
	check("and the table the CPU time of it", within(ran.get(want.burner), cell), [ran.get(want.burner), cell]);
	await b.click("[data-kind=off]");
	check("off the CPU, time is counted by where threads slept", Number(await b.value("document.querySelector('#flame').dataset.total")) > 0);
	await b.screenshot(directory + "/range.png", true);
	await b.click("[data-kind=cpu]");
	await b.click("#clear");
	await settle();
	equal("Clear takes it back", all, Number(await b.value("document.querySelector('#flame').dataset.total")));
}

async function spans(b) {
	const at = await b.value(`(() => { const m = ringback.model, tl = ringback.timeline, t = m.byTid.get(${want.waiter});
		for (let i = m.first[t.index]; i < m.first[t.index + 1]; i++)
			if (m.state[i] === 2 && m.c.spanBy[i] && m.threads[m.c.spanBy[i] - 1].tid === ${want.holder} && m.ns[i] > 5e6) {
				tl.show(m.start[i], m.start[i] + m.ns[i], 1); tl.scrollTo(t.index); tl.draw();
				return { x: tl.x(m.start[i] + m.ns[i] / 2), y: tl.rowOf.get(t.index).y - tl.box.scrollTop + 28 + 10 };
			} })()`);
	const box = await b.place("#canvas");
	check("the waiter sleeps until the holder wakes it", at, "no such span");
	if (!at)
		return;
	await b.clickAt(box.left + at.x, box.top + at.y);
	const chosen = await b.value(text("#chosen"));
	check("a click on a span says what it is", chosen.includes("waiter") && chosen.includes("asleep"), chosen);
	check("who woke it", chosen.includes("woken byholder"), chosen);
	check("and where it was", /futex|0x/.test(chosen), chosen);
	await settle();
	await b.screenshot(directory + "/span.png", true);
	await b.click("#chosen .link");
	equal("the waker is a click away", want.holder, await b.value("ringback.model.threads[ringback.thread].tid"));
}

async function themes(b) {
	const ground = "getComputedStyle(document.body).backgroundColor", light = await b.value(ground);
	await b.click("#theme");
	check("the switch makes it dark", await b.value(ground) !== light && await b.value("document.documentElement.dataset.theme === 'dark'"));
	await b.dark(true);
	await b.open("file://" + page);
	await b.until("window.ringback !== undefined");
	equal("it is dark where that is wanted", "dark", await b.value("document.documentElement.dataset.theme"));
	await settle();
	await b.screenshot(directory + "/dark.png", true);
}

async function reaches(b) {
	await b.value("document.querySelector('#search').focus()");
	await b.key("Tab", { windowsVirtualKeyCode: 9 });
	const style = await b.value("(() => { const s = getComputedStyle(document.activeElement); return [document.activeElement.tagName, s.outlineStyle, s.outlineWidth]; })()");
	check("the keyboard's focus is seen", style[0] === "BUTTON" && style[1] === "solid" && parseFloat(style[2]) >= 2, style);
	await b.send("Accessibility.enable");
	const { nodes } = await b.send("Accessibility.getFullAXTree");
	const bare = nodes.filter((n) => !n.ignored && ["button", "searchbox", "table", "image", "application", "textbox"].includes(n.role?.value) && !n.name?.value);
	equal("what can be used has a name", [], bare.map((n) => n.role.value));
	await b.size(420, 900);
	await settle();
	check("it fits a narrow window", await b.value("document.documentElement.scrollWidth <= innerWidth"), await b.value("document.documentElement.scrollWidth"));
	await b.screenshot(directory + "/narrow.png");
	await b.size(1400, 1000);
	await b.pdf(directory + "/page.pdf");
	check("it prints", fs.readFileSync(directory + "/page.pdf").subarray(0, 5).toString() === "%PDF-");
}

// Per thread, from switches alone: how long it ran in a time, at least and at most. The kernel leaves out a
// switch now and then: where it is not the thread switched to last that is switched from, either may have run.
function ranOf(switches) {
	return (from, to) => {
		const ran = new Map(), last = new Map();
		const add = (tid, a, b, sure) => {
			const ns = Math.min(b, to) - Math.max(a, from), sums = ran.get(tid) || [0, 0];
			if (!tid || ns <= 0)
				return;
			ran.set(tid, [sums[0] + (sure ? ns : 0), sums[1] + ns]);
		};
		for (const s of switches) {
			const before = last.get(s.cpu), sure = !before || before.next === s.prev;
			add(s.prev, before ? before.at : from, s.at, sure);
			if (!sure)
				add(before.next, before.at, s.at, false);
			last.set(s.cpu, s);
		}
		for (const s of last.values())
			add(s.next, s.at, to, true);
		return ran;
	};
}

// But for rounding.
function within([least, most] = [0, 0], ns) {
	return ns >= least - 1000 && ns <= most + 1000;
}

async function main() {
	want.ran = ranOf(want.switches);
	const b = await openBrowser(directory);
	try {
		await b.size(1400, 1000);
		await b.dark(false);
		for (const step of [opens, numbers, threads, zooms, searches, selects, spans, themes, reaches])
			await step(b);
		equal("the page complains of nothing", [], b.problems);
	} catch (e) {
		check("the page can be used", false, e.stack.split("\n").slice(0, 3).join(" "));
	}
	await b.close();
	console.log("end");
}

main();
