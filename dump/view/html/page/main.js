// SPDX-License-Identifier: MIT
// The page as a whole: what is selected, and who is told. All texts that come from the dump get into
// the page as text, never as markup.

const $ = (id) => document.getElementById(id);

function make(tag, text, className) {
	const e = document.createElement(tag);
	if (text !== undefined)
		e.textContent = text;
	if (className)
		e.className = className;
	return e;
}

class App {
	constructor(model) {
		this.model = model;
		this.colours = new Colours();
		this.range = null;
		this.thread = -1;
		this.span = -1;
		this.hits = null;
		this.query = "";
		this.order = this.orderThreads();
		this.timeline = new Timeline(this);
		this.flame = new Flame(this);
		this.table = new ThreadTable(this);
		this.sayVerdict();
		this.sayDump();
		this.sayBlame();
		this.sayLegend();
		this.firstView();
		this.timeline.setRows(this.listed());
		this.flame.update();
		this.table.update();
		this.sayRange();
		this.listen();
	}

	// ---- threads ----

	// Whom the verdict is about, then whose calls are known, then processes by how much they wanted to run.
	orderThreads() {
		const why = this.model.head.why, first = new Map();
		[why.thread, why.culprit, why.asked_by].forEach((t, k) => {
			if (t && !first.has(t.tid))
				first.set(t.tid, k);
		});
		const used = (t) => t.whole[RUN] + t.whole[READY] + t.whole[BLOCKED] + (this.model.head.switches ? 0 : ranOnly[t.index]);
		const ofProcess = new Map(), ranOnly = new Uint32Array(this.model.threads.length);
		for (let i = 0; i < this.model.c.sampleThread.length; i++)
			ranOnly[this.model.c.sampleThread[i]]++;
		const threads = this.model.threads.filter((t) => t.index && (this.model.head.spans[t.index] || ranOnly[t.index] || this.model.callsOf.has(t.index)));
		for (const t of threads)
			ofProcess.set(t.pid || -t.tid, (ofProcess.get(t.pid || -t.tid) || 0) + used(t));
		const rank = (t) => (first.has(t.tid) ? first.get(t.tid) : this.model.callsOf.has(t.index) ? 8 : 9);
		const process = (t) => (t.kernel ? used(t) : ofProcess.get(t.pid || -t.tid));
		return threads.sort((a, b) => rank(a) - rank(b) || process(b) - process(a) || a.pid - b.pid || used(b) - used(a) || a.tid - b.tid);
	}

	listed() {
		return this.found || this.order;
	}

	called(thread) {
		const t = this.model.threads[thread];
		return t.comm ? `${t.comm} (${t.tid})` : `thread ${t.tid}`;
	}

	// ---- what is selected ----

	time() {
		return this.range || { from: this.model.from, to: this.model.to };
	}

	timeText() {
		const r = this.range;
		return r ? `${formatTime(r.to - r.from)} from ${formatMoment(r.from)} to ${formatMoment(r.to)}` : "in all that was recorded";
	}

	setRange(from, to) {
		this.range = from === null ? null : { from: Math.max(from, this.model.from), to: Math.min(to, this.model.to) };
		if (this.range && this.range.to <= this.range.from)
			this.range = null;
		this.timeline.invalidate();
		this.sayRange();
		this.later();
	}

	setThread(thread) {
		this.thread = thread;
		if (thread >= 0)
			this.timeline.scrollTo(thread);
		this.timeline.invalidate();
		this.table.mark();
		this.flame.top = -1;
		this.flame.update();
		if (thread >= 0 && (this.span < 0 || this.model.owner[this.span] !== thread))
			this.sayThread(thread);
	}

	// A span that was clicked, of a CPU's row or a thread's; -1: a place without one.
	choose(span, thread) {
		this.span = span;
		if (span < 0) {
			$("chosen").textContent = "";
			if (thread >= 0)
				this.setThread(thread);
			this.timeline.invalidate();
			return;
		}
		this.thread = this.model.owner[span];
		this.table.mark();
		this.flame.update();
		this.saySpan(span);
		this.timeline.scrollTo(this.thread);
	}

	// Sums over a large dump: once when the mouse rests, not for each of its moves.
	later() {
		clearTimeout(this.timer);
		this.timer = setTimeout(() => {
			this.flame.update();
			this.table.update();
		}, 60);
	}

	search(query) {
		this.query = query.trim().toLowerCase();
		const m = this.model;
		if (!this.query) {
			this.found = this.hits = null;
			$("found").textContent = "";
		} else {
			this.hits = new Set();
			m.frames.forEach((f, i) => f.lower.includes(this.query) && this.hits.add(i));
			const within = this.threadsIn(this.hits);
			this.found = this.order.filter((t) => t.lower.includes(this.query) || String(t.pid) === this.query || within.has(t.index));
			$("found").textContent = `${formatCount(this.found.length)} threads, ${formatCount(this.hits.size)} functions`;
		}
		this.foundAt = -1;
		this.timeline.setRows(this.listed());
		this.timeline.box.scrollTop = 0;
		this.table.update();
		this.flame.draw();
		this.flame.list();
	}

	// Threads that were seen in one of these functions.
	threadsIn(frames) {
		const m = this.model, out = new Set();
		if (!frames.size)
			return out;
		const node = new Uint8Array(m.parent.length);
		for (let i = 0; i < node.length; i++)
			node[i] = frames.has(m.frame[i]) || (m.parent[i] >= 0 && node[m.parent[i]]) ? 1 : 0;
		const inside = (chain) => chain && m.chain[chain] && node[m.chain[chain] - 1];
		for (let i = 0; i < m.sampleAt.length; i++)
			if (inside(m.c.sampleChain[i]))
				out.add(m.c.sampleThread[i]);
		for (let i = 0; i < m.nrSpans; i++)
			if (inside(m.c.spanChain[i]))
				out.add(m.owner[i]);
		return out;
	}

	nextFound() {
		if (!this.found || !this.found.length)
			return;
		this.foundAt = (this.foundAt + 1) % this.found.length;
		this.setThread(this.found[this.foundAt].index);
	}

	// ---- words ----

	tip(text, x, y) {
		const tip = $("tip");
		tip.hidden = !text;
		if (!text)
			return;
		tip.textContent = text;
		const w = tip.offsetWidth, h = tip.offsetHeight;
		tip.style.left = Math.min(x + 14, innerWidth - w - 8) + "px";
		tip.style.top = (y + h + 24 > innerHeight ? y - h - 12 : y + 18) + "px";
	}

	aboutThread(t) {
		const [run, ready, sleep, blocked] = t.whole;
		return `${this.called(t.index)}${t.pid && t.pid !== t.tid ? `, process ${t.pid}` : ""}${t.kernel ? ", the kernel's" : ""}\non CPU ${formatTime(run)}, waiting ${formatTime(ready)}, blocked ${formatTime(blocked)}, asleep ${formatTime(sleep)}`;
	}

	what(i) {
		const m = this.model, state = m.state[i];
		if (state === MERGED)
			return "several short spans, merged";
		return STATES[state] + (state === READY && m.c.spanFlags[i] & FLAG_PREEMPTED ? ", preempted" : "");
	}

	aboutSpan(i) {
		const m = this.model, by = m.c.spanBy[i], lines = [`${this.called(m.owner[i])} ${this.what(i)} ${formatTime(m.ns[i])}`];
		if (m.state[i] === MERGED) {
			const p = m.parts(i, [0, 0, 0, 0, 0]);
			lines.push(`on CPU ${formatTime(p[RUN])}, waiting ${formatTime(p[READY])}, blocked ${formatTime(p[BLOCKED])}, asleep ${formatTime(p[SLEEP])}`);
		}
		if (by && m.state[i] !== READY)
			lines.push("woken by " + this.called(by - 1));
		const stack = m.stack(m.c.spanChain[i]).map((f) => m.frames[f].name).filter((n) => !PLUMBING.test(n));
		if (stack.length && m.state[i] !== RUN)
			lines.push("in " + stack.slice(0, 3).join(" < "));
		return lines.join("\n");
	}

	aboutCall(i) {
		const m = this.model, [name, file] = m.head.callNames[m.c.callName[i]], flags = m.c.callFlags[i];
		const lines = [`${name}${file && !name.startsWith(file) ? " (" + file + ")" : ""} ${formatTime(m.c.callNs[i])}`];
		if (flags & 1)
			lines.push("began before the recording");
		if (flags & 2)
			lines.push("its end was not recorded");
		if (flags & 4)
			lines.push("left by longjmp or an exception");
		if (flags & 8)
			lines.push("ended by a jump to another function");
		if (flags & 32)
			lines.push("called by the kernel: a signal");
		return lines.join("\n");
	}

	threadLink(thread) {
		const b = make("button", this.called(thread), "link name");
		b.type = "button";
		b.addEventListener("click", () => this.setThread(thread));
		return b;
	}

	facts(list) {
		const dl = make("dl", undefined, "facts");
		for (const [label, value] of list) {
			const dd = make("dd");
			dd.append(value);
			dl.append(make("dt", label), dd);
		}
		return dl;
	}

	stackBox(title, chain) {
		const box = make("div"), ol = make("ol");
		box.append(make("h3", title));
		for (const k of this.model.stack(chain)) {
			const f = this.model.frames[k], li = make("li", f.name, f.kernel ? "k" : "");
			li.title = f.name + (f.image ? "\n" + f.image : "");
			ol.append(li);
		}
		box.append(ol);
		return box;
	}

	saySpan(i) {
		const m = this.model, state = m.state[i], flags = m.c.spanFlags[i], panel = make("div", undefined, "panel");
		const box = make("div"), title = make("h3"), mark = make("i", "", "s" + state);
		title.append(mark, make("span", this.called(m.owner[i]) + ": " + this.what(i), "name"));
		const list = [["from", formatMoment(m.start[i]) + (flags & FLAG_CUT ? " or earlier" : "")],
			["for", formatTime(m.ns[i]) + (flags & FLAG_OPEN ? ", and still at the end" : "")]];
		if (m.c.spanCpu[i])
			list.push(["CPU", String(m.c.spanCpu[i] - 1)]);
		if (state === MERGED) {
			const p = m.parts(i, [0, 0, 0, 0, 0]);
			for (const s of [RUN, READY, BLOCKED, SLEEP])
				list.push([STATES[s], formatTime(p[s])]);
		}
		if (m.c.spanBy[i])
			list.push([flags & FLAG_FORKED ? "started by" : flags & FLAG_IRQ ? "woken by an interrupt, over" : flags & FLAG_SOFTIRQ ? "woken in a softirq of" : state === READY ? "put there by" : "woken by", this.threadLink(m.c.spanBy[i] - 1)]);
		if (flags & FLAG_GUESSED)
			list.push(["note", "the event that begins or ends this is missing: its limits are estimated"]);
		box.append(title, this.facts(list));
		panel.append(box);
		if (m.chain[m.c.spanChain[i]])
			panel.append(this.stackBox(state === RUN ? "where it went off the CPU" : state === MERGED ? "where it was off the CPU longest" : "where it was", m.c.spanChain[i]));
		if (m.chain[m.c.spanByChain[i]])
			panel.append(this.stackBox("where it was woken from", m.c.spanByChain[i]));
		$("chosen").replaceChildren(panel);
	}

	sayThread(thread) {
		const t = this.model.threads[thread], panel = make("div", undefined, "panel"), box = make("div"), title = make("h3");
		title.append(make("span", this.called(thread), "name"));
		const { from, to } = this.time(), { ns, runs } = this.model.sums(thread, from, to);
		box.append(title, this.facts([["process", t.pid ? String(t.pid) : "unknown"], ["on CPU", `${formatTime(ns[RUN])} in ${formatCount(runs)} runs`],
			["waiting", formatTime(ns[READY])], ["blocked", formatTime(ns[BLOCKED])], ["asleep", formatTime(ns[SLEEP])]]));
		panel.append(box);
		const lives = this.model.lives.get(t.tid) || [];
		if (lives.length) {
			const marks = make("div"), ol = make("ol");
			for (const l of lives.slice(-30))
				ol.append(make("li", `${formatMoment(l.at)}  ${LIVES[l.kind] || "?"}${l.signal ? " signal " + l.signal : ""}`));
			marks.append(make("h3", "what happened to it"), ol);
			panel.append(marks);
		}
		$("chosen").replaceChildren(panel);
	}

	sayVerdict() {
		const { head } = this.model, lines = head.said.split("\n").filter((l) => l.trim());
		$("verdict-line").textContent = lines.shift() || "No verdict";
		for (const line of lines) {
			const label = line[9] === " " || line.length < 10 ? line.slice(0, 10).trim() : line.split(" ", 1)[0];
			const dd = make("dd", line.slice(Math.max(label.length, line[9] === " " ? 10 : 0)).trim());
			$("evidence").append(make("dt", label), dd);
		}
		const about = make("dd"), links = [];
		for (const t of [head.why.thread, head.why.culprit])
			if (t && this.model.byTid.has(t.tid) && !links.includes(t.tid)) {
				if (links.length)
					about.append(", ");
				links.push(t.tid);
				about.append(this.threadLink(this.model.byTid.get(t.tid).index));
			}
		if (links.length)
			$("evidence").append(make("dt", "show"), about);
		$("plain").remove();
	}

	sayDump() {
		const { trigger, host, lost, rings } = this.model.head, list = [];
		$("where").textContent = `${host.name}, ${trigger.at}`;
		document.title = `${$("verdict-line").textContent.slice(0, 80)} \u2013 ${host.name}`;
		let fired = trigger.name + (trigger.rule && trigger.rule !== trigger.name ? ` (${trigger.rule})` : "");
		if (trigger.by)
			fired += `, by ${trigger.by} (pid ${trigger.pid})`;
		list.push(["trigger", fired]);
		if (trigger.reason)
			list.push(["reason", trigger.reason]);
		list.push(["at", trigger.at]);
		for (const saw of trigger.saw.slice(0, 6))
			list.push(["saw", saw]);
		const least = new Map();
		for (const [channel, cpu, tid, from] of rings)
			least.set(channel, Math.max(Number(from), least.has(channel) ? least.get(channel) : -Infinity));
		list.push(["recorded", [...least].map(([channel, from]) => `${channel} since ${formatMoment(from)}`).join(", ")]);
		list.push(["host", `${host.name}, ${host.cpus} CPUs, ${host.uname.split(" ").slice(0, 2).join(" ")}, ${host.os}`]);
		for (const [label, value] of list)
			$("dump").append(make("dt", label), make("dd", value));
		for (const line of lost)
			$("losses").append(make("p", line));
		if (!lost.length)
			$("losses").append(make("p", "No losses in the window.", "fine"));
	}

	// Left out for a single group that waited only for its own threads.
	sayBlame() {
		const { blame, from, to } = this.model.head.why, body = document.querySelector("#blame-table tbody");
		if (blame.length < 2 && !blame.some((row) => row.others.length || row.quota_ns))
			return;
		for (const row of blame) {
			const tr = body.insertRow(), name = tr.insertCell();
			name.append(make("span", row.name, "name"));
			name.title = row.cgroup || "";
			for (const ns of [row.waited_ns, row.own_ns, row.quota_ns, row.idle_ns, row.unknown_ns]) {
				const cell = make("td", ns ? formatTime(ns) : "", "n");
				cell.dataset.ns = String(ns);
				tr.append(cell);
			}
			tr.append(make("td", row.others.map((other) => `${other.name} ${formatTime(other.ns)}`).join(", "), "others"));
		}
		$("blame-of").textContent = `from ${formatMoment(from)} to ${formatMoment(to)}`;
		$("blame").hidden = false;
	}

	sayLegend() {
		const add = (className, text) => {
			const span = make("span");
			span.append(make("i", "", className), text);
			$("legend").append(span);
		};
		add("s0", "running");
		add("s1", "runnable, waits for a CPU");
		add("s3", "blocked (D)");
		add("s2", "sleeping (S)");
		add("s4", "stopped");
		if (this.model.sampleAt.length)
			add("tick", this.model.head.switches ? "sample (when there is room)" : "sample: switches were not recorded");
		add("zero", "trigger");
		add("unknown", "not recorded");
		if (this.model.head.gaps.length)
			add("lost", "records lost");
		const { merged, mergeNs, wholeFrom, wholeTo } = this.model.head;
		if (merged)
			$("detail").textContent = `Detail was left out: ${formatCount(merged)} spans shorter than ${formatTime(mergeNs)} are merged outside of ${formatMoment(Number(wholeFrom))} to ${formatMoment(Number(wholeTo))}; sums hold, wakers and CPUs of these are not kept.`;
	}

	sayRange() {
		const r = this.range;
		$("range").textContent = r ? "Selected: " + this.timeText() : "Drag to select a time: flame graph and table follow.";
		$("clear").hidden = !r;
		$("to-range").disabled = !r;
	}

	// ---- keys and buttons ----

	firstView() {
		const [from, to] = this.model.scheduled, tl = this.timeline;
		if (this.model.head.switches)
			tl.show(Math.max(from, to - 1.5e9), to, 0.02);
	}

	toTrigger() {
		const half = Math.min((this.timeline.view.to - this.timeline.view.from) / 2, 5e6);
		this.timeline.setView(-half * 1.6, half * 0.4);
	}

	step(way) {
		const m = this.model, t = this.thread;
		if (t < 0)
			return;
		let i = this.span >= 0 && m.owner[this.span] === t ? this.span + way : m.after(t, (this.timeline.view.from + this.timeline.view.to) / 2);
		i = Math.min(Math.max(i, m.first[t]), m.first[t + 1] - 1);
		if (i < m.first[t])
			return;
		this.choose(i, t);
		const { from, to } = this.timeline.view, end = m.start[i] + m.ns[i];
		if (end < from || m.start[i] > to)
			this.timeline.setView((m.start[i] + end) / 2 - (to - from) / 2, (m.start[i] + end) / 2 + (to - from) / 2);
	}

	row(way) {
		const list = this.listed(), at = list.findIndex((t) => t.index === this.thread);
		const next = list[at < 0 ? 0 : Math.min(Math.max(at + way, 0), list.length - 1)];
		if (next)
			this.setThread(next.index);
	}

	escape() {
		if (this.query) {
			$("search").value = "";
			this.search("");
		} else if (this.range) {
			this.setRange(null);
		} else {
			this.span = -1;
			$("chosen").textContent = "";
			this.setThread(-1);
		}
	}

	key(e) {
		const tl = this.timeline, inField = e.target.closest && e.target.closest("input, textarea, select"), on = e.target === tl.box || e.target === document.body;
		if (e.ctrlKey || e.metaKey || e.altKey || $("help").open)
			return;
		if (inField) {
			if (e.key === "Escape") {
				this.escape();
				e.target.blur();
			} else if (e.key === "Enter") {
				this.nextFound();
			}
			return;
		}
		const keys = {
			w: () => tl.zoom(0.7), s: () => tl.zoom(1 / 0.7), a: () => tl.pan(-0.15), d: () => tl.pan(0.15),
			"+": () => tl.zoom(0.7), "-": () => tl.zoom(1 / 0.7), 0: () => this.toTrigger(), f: () => tl.setView(tl.full.from, tl.full.to),
			z: () => this.range && tl.show(this.range.from, this.range.to, 0.02), "/": () => $("search").select(), "?": () => $("help").showModal(),
			Escape: () => this.escape(),
		};
		const onTimeline = {
			ArrowUp: () => this.row(-1), ArrowDown: () => this.row(1), ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
			Enter: () => this.thread >= 0 && $("flames").scrollIntoView({ block: "nearest" }),
		};
		const does = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key] || (on && e.target === tl.box ? onTimeline[e.key] : null);
		if (!does)
			return;
		e.preventDefault();
		does();
	}

	setTheme(dark) {
		document.documentElement.dataset.theme = dark ? "dark" : "light";
		$("theme").textContent = dark ? "Light" : "Dark";
		this.colours.read();
		this.timeline.overviewKey = null;
		this.timeline.invalidate();
		this.flame.draw();
	}

	listen() {
		const tl = this.timeline;
		document.addEventListener("keydown", (e) => this.key(e));
		$("search").addEventListener("input", (e) => {
			clearTimeout(this.searchTimer);
			this.searchTimer = setTimeout(() => this.search(e.target.value), 80);
		});
		$("zoom-in").addEventListener("click", () => tl.zoom(0.5));
		$("zoom-out").addEventListener("click", () => tl.zoom(2));
		$("to-trigger").addEventListener("click", () => this.toTrigger());
		$("fit").addEventListener("click", () => tl.setView(tl.full.from, tl.full.to));
		$("to-range").addEventListener("click", () => this.range && tl.show(this.range.from, this.range.to, 0.02));
		$("clear").addEventListener("click", () => this.setRange(null));
		$("help-open").addEventListener("click", () => $("help").showModal());
		$("theme").addEventListener("click", () => this.setTheme(!this.colours.dark));
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (e) => this.setTheme(e.matches));
		addEventListener("beforeprint", () => {
			this.darkBefore = this.colours.dark;
			this.setTheme(false);
			tl.draw();
		});
		addEventListener("afterprint", () => this.setTheme(this.darkBefore));
	}
}

async function begin() {
	document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
	const begun = performance.now();
	try {
		const bytes = await unpack($("data").textContent);
		$("data").remove();
		window.ringback = new App(new Model(...readAll(bytes)));
		$("theme").textContent = window.ringback.colours.dark ? "Light" : "Dark";
	} catch (e) {
		$("failed").hidden = false;
		$("failed").textContent = "This browser can't show the timeline: " + e.message;
		throw e;
	} finally {
		document.documentElement.dataset.readyMs = String(Math.round(performance.now() - begun));
	}
}
begin();
