// SPDX-License-Identifier: MIT
// The timeline: what it shows of which time, and what mouse and wheel do to it. `app` is told what
// was chosen; it tells when to draw anew.

const GUTTER = 216, AXIS = 28, CPU_ROW = 24, THREAD_ROW = 20, HEAD_ROW = 22;
const CALL_LEVEL = 14, MAX_LEVELS = 24;
const MIN_VIEW_NS = 50;

class Timeline {
	constructor(app) {
		Object.assign(this, { app, model: app.model, hover: null, drag: null, active: false });
		this.box = document.getElementById("tracks");
		this.tall = document.getElementById("tall");
		this.canvas = document.getElementById("canvas");
		this.overview = document.getElementById("overview");
		this.painter = new Painter(app.model, app.colours);
		this.full = this.withMargin(app.model.from, Math.max(app.model.to, 0));
		this.view = { ...this.full };
		this.rows = [];
		this.frameMs = 0;
		this.listen();
	}

	withMargin(from, to) {
		const margin = (to - from) * 0.015 + 100;
		return { from: from - margin, to: to + margin };
	}

	// Threads of one process beside each other, the busiest first.
	setRows(threads) {
		this.rows = [{ head: "CPUs", y: 0, h: HEAD_ROW }];
		let y = HEAD_ROW;
		for (let cpu = 0; cpu < this.model.cpus.length; cpu++, y += CPU_ROW)
			this.rows.push({ cpu, y, h: CPU_ROW });
		this.rows.push({ head: `Threads (${formatCount(threads.length)})`, y, h: HEAD_ROW });
		y += HEAD_ROW;
		this.rowOf = new Map();
		for (const t of threads) {
			const row = { thread: t, y, h: THREAD_ROW };
			this.rowOf.set(t.index, row);
			this.rows.push(row);
			y += THREAD_ROW;
			const levels = this.model.callsOf.get(t.index);
			if (!levels)
				continue;
			const h = Math.min(levels.length, MAX_LEVELS) * CALL_LEVEL + 6;
			this.rows.push({ thread: t, calls: levels, y, h });
			y += h;
		}
		this.height = y + 6;
		this.tall.style.height = this.height + AXIS + "px";
		this.invalidate();
	}

	invalidate() {
		if (this.pending)
			return;
		this.pending = true;
		requestAnimationFrame(() => {
			this.pending = false;
			this.draw();
		});
	}

	// ---- the view ----

	setView(from, to) {
		const most = this.full.to - this.full.from;
		const width = Math.min(most, Math.max(MIN_VIEW_NS, to - from));
		from = (from + to) / 2 - width / 2;
		from = Math.min(Math.max(from, this.full.from), this.full.to - width);
		this.view = { from, to: from + width };
		this.invalidate();
	}

	zoom(factor, at) {
		const { from, to } = this.view;
		const around = at === undefined ? (from + to) / 2 : at;
		this.setView(around - (around - from) * factor, around + (to - around) * factor);
	}

	pan(share) {
		const by = (this.view.to - this.view.from) * share;
		this.setView(this.view.from + by, this.view.to + by);
	}

	show(from, to, margin = 0.15) {
		const more = (to - from) * margin;
		this.setView(from - more, to + more);
	}

	// A thread's row, where it can be seen.
	scrollTo(thread) {
		const row = this.rowOf.get(thread);
		if (!row)
			return;
		const top = this.box.scrollTop, high = this.box.clientHeight - AXIS;
		if (row.y < top || row.y + row.h > top + high)
			this.box.scrollTop = Math.max(0, row.y - high / 2);
		this.invalidate();
	}

	x(ns) {
		return GUTTER + (ns - this.view.from) * this.width / (this.view.to - this.view.from);
	}

	at(x) {
		return this.view.from + (x - GUTTER) * (this.view.to - this.view.from) / this.width;
	}

	rowAt(y) {
		y += this.box.scrollTop - AXIS;
		return this.rows.find((r) => y >= r.y && y < r.y + r.h);
	}

	// ---- mouse ----

	listen() {
		const c = this.canvas;
		new ResizeObserver(() => this.invalidate()).observe(this.box);
		this.box.addEventListener("scroll", () => this.invalidate());
		this.box.addEventListener("focus", () => { this.active = true; });
		this.box.addEventListener("blur", () => { this.active = false; });
		c.addEventListener("pointerdown", (e) => this.down(e));
		c.addEventListener("pointermove", (e) => this.move(e));
		c.addEventListener("pointerup", (e) => this.up(e));
		c.addEventListener("pointercancel", () => { this.drag = null; });
		c.addEventListener("pointerleave", () => { this.hover = null; this.app.tip(null); this.invalidate(); });
		c.addEventListener("dblclick", (e) => this.double(e));
		this.box.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
		this.listenOverview();
		const handle = document.getElementById("resize");
		handle.addEventListener("pointerdown", (e) => {
			const high = this.box.clientHeight, y = e.clientY;
			const move = (m) => { this.box.style.height = Math.max(160, high + m.clientY - y) + "px"; };
			handle.setPointerCapture(e.pointerId);
			handle.addEventListener("pointermove", move);
			handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", move), { once: true });
		});
	}

	down(e) {
		this.box.focus({ preventScroll: true });
		if (e.button > 1)
			return;
		e.preventDefault();
		this.canvas.setPointerCapture(e.pointerId);
		const pan = e.offsetY < AXIS || e.shiftKey || e.button === 1;
		this.drag = { x: e.offsetX, y: e.offsetY, moved: false, pan, view: this.view, at: this.at(e.offsetX) };
	}

	move(e) {
		const d = this.drag;
		if (!d) {
			this.hover = { x: e.offsetX, y: e.offsetY };
			this.app.tip(this.describe(e.offsetX, e.offsetY), e.clientX, e.clientY);
			this.invalidate();
			return;
		}
		if (Math.abs(e.offsetX - d.x) > 4)
			d.moved = true;
		if (!d.moved || d.x < GUTTER)
			return;
		this.app.tip(null);
		if (d.pan) {
			const by = (d.x - e.offsetX) * (d.view.to - d.view.from) / this.width;
			this.setView(d.view.from + by, d.view.to + by);
		} else {
			const x = Math.min(Math.max(e.offsetX, GUTTER), GUTTER + this.width);
			const at = this.at(x);
			this.app.setRange(Math.min(d.at, at), Math.max(d.at, at));
		}
	}

	up(e) {
		const d = this.drag;
		this.drag = null;
		if (!d || d.moved || d.pan)
			return;
		const row = this.rowAt(d.y);
		if (!row || row.head || d.y < AXIS)
			return;
		if (d.x < GUTTER) {
			if (row.thread)
				this.app.setThread(row.thread.index);
			return;
		}
		if (row.calls) {
			const call = this.callUnder(row, d.x, d.y);
			if (call >= 0)
				this.app.setRange(this.model.callStart[call], this.model.callStart[call] + Math.max(1, this.model.c.callNs[call]));
			return;
		}
		this.app.choose(this.spanUnder(row, d.x), row.thread ? row.thread.index : -1);
	}

	double(e) {
		const row = this.rowAt(e.offsetY);
		if (row && row.calls) {
			const call = e.offsetX > GUTTER ? this.callUnder(row, e.offsetX, e.offsetY) : -1;
			if (call >= 0)
				this.show(this.model.callStart[call], this.model.callStart[call] + this.model.c.callNs[call]);
			return;
		}
		const i = row && e.offsetX > GUTTER ? this.spanUnder(row, e.offsetX) : -1;
		if (i >= 0)
			this.show(this.model.start[i], this.model.start[i] + this.model.ns[i], 0.5);
	}

	wheel(e) {
		if (e.shiftKey || !(this.active || e.ctrlKey || e.metaKey))
			return;
		e.preventDefault();
		if (Math.abs(e.deltaX) > Math.abs(e.deltaY))
			this.pan(e.deltaX / 1200);
		else
			this.zoom(Math.exp(Math.max(-300, Math.min(300, e.deltaY)) * 0.0022), this.at(Math.max(GUTTER, e.clientX - this.canvas.getBoundingClientRect().left)));
	}

	listenOverview() {
		const o = this.overview;
		const go = (e) => {
			const share = e.offsetX / o.clientWidth, half = (this.view.to - this.view.from) / 2;
			const at = this.full.from + share * (this.full.to - this.full.from);
			this.setView(at - half, at + half);
		};
		o.addEventListener("pointerdown", (e) => { o.setPointerCapture(e.pointerId); this.overviewDrag = true; go(e); });
		o.addEventListener("pointermove", (e) => { if (this.overviewDrag) go(e); });
		o.addEventListener("pointerup", () => { this.overviewDrag = false; });
	}

	// The call of a row at a place, within a pixel or two; -1: none.
	callUnder(row, x, y) {
		const m = this.model, at = this.at(x), slack = 2 * (this.at(1) - this.at(0));
		const level = row.calls[Math.floor((y + this.box.scrollTop - AXIS - row.y - 3) / CALL_LEVEL)];
		if (!level)
			return -1;
		const k = m.callAfter(level, at - slack);
		return k < level.length && m.callStart[level[k]] <= at + slack ? level[k] : -1;
	}

	// The nearest span of a row to a place, within some pixels.
	spanUnder(row, x) {
		const m = this.model, at = this.at(x);
		if (row.thread) {
			const i = m.after(row.thread.index, at);
			return i < m.first[row.thread.index + 1] && m.start[i] <= at + 3 * (this.at(1) - this.at(0)) ? i : -1;
		}
		const k = m.cpuAfter(row.cpu, at), slack = 2 * (this.at(1) - this.at(0));
		return k < m.cpus[row.cpu].length && m.start[m.cpus[row.cpu][k]] <= at + slack ? m.cpus[row.cpu][k] : -1;
	}

	describe(x, y) {
		const row = y >= AXIS ? this.rowAt(y) : null, at = this.at(x);
		if (!row || row.head)
			return null;
		if (x < GUTTER)
			return row.thread ? this.app.aboutThread(row.thread) : `CPU ${row.cpu}`;
		if (row.calls) {
			const call = this.callUnder(row, x, y);
			return call >= 0 ? formatMoment(at) + "\n" + this.app.aboutCall(call) : null;
		}
		for (const [from, to, cpu, nr, throttled] of this.gaps(row))
			if (at >= from && at <= to)
				return throttled ? `the kernel left out samples here, CPU ${cpu}` : `${formatCount(nr)} records were lost up to here, CPU ${cpu}`;
		const i = this.spanUnder(row, x);
		if (i < 0 && at < this.model.scheduled[0])
			return "not recorded yet, or not by all CPUs";
		return formatMoment(at) + (i >= 0 ? "\n" + this.app.aboutSpan(i) : row.thread ? "" : "\nidle");
	}

	gaps(row) {
		return row.cpu === undefined ? [] : this.model.head.gaps.filter((g) => g[2] === row.cpu);
	}

	// ---- drawing ----

	draw() {
		const begun = performance.now();
		const wide = this.box.clientWidth, high = this.box.clientHeight, c = this.app.colours;
		if (!wide || !high)
			return;
		const ctx = fitCanvas(this.canvas, wide, high);
		this.canvas.style.position = "sticky";
		this.width = Math.max(50, wide - GUTTER - 8);
		ctx.fillStyle = c.card;
		ctx.fillRect(0, 0, wide, high);
		const top = this.box.scrollTop;
		ctx.save();
		ctx.beginPath();
		ctx.rect(0, AXIS, wide, high - AXIS);
		ctx.clip();
		const view = { ...this.view, x: GUTTER, width: this.width };
		for (const row of this.rows) {
			const y = row.y - top + AXIS;
			if (y + row.h > AXIS && y < high)
				this.drawRow(ctx, row, y, view, wide);
		}
		this.drawLink(ctx, top);
		ctx.restore();
		this.drawAxis(ctx, wide, high);
		this.drawOver(ctx, high);
		this.drawOverview();
		this.frameMs = performance.now() - begun;
	}

	drawRow(ctx, row, y, view, wide) {
		const c = this.app.colours;
		ctx.textBaseline = "middle";
		if (row.head) {
			ctx.fillStyle = c.soft;
			ctx.fillRect(0, y, wide, row.h);
			ctx.fillStyle = c.dim;
			ctx.font = "600 11.5px system-ui, sans-serif";
			ctx.fillText(row.head, 10, y + row.h / 2);
			return;
		}
		const hovered = this.hover && this.rowAt(this.hover.y) === row;
		if (row.thread && row.thread.index === this.app.thread) {
			ctx.fillStyle = c.shade;
			ctx.fillRect(0, y, wide, row.h);
		} else if (hovered) {
			ctx.fillStyle = c.row;
			ctx.fillRect(0, y, wide, row.h);
		}
		this.drawName(ctx, row, y);
		ctx.save();
		ctx.beginPath();
		ctx.rect(GUTTER, y, view.width, row.h);
		ctx.clip();
		if (row.calls) {
			this.painter.calls(ctx, row.calls, y + 3, CALL_LEVEL, MAX_LEVELS, view);
			ctx.restore();
			return;
		}
		this.drawUnknown(ctx, y, row.h);
		if (row.thread) {
			this.painter.thread(ctx, row.thread.index, y + 3, row.h - 6, view);
			this.painter.samples(ctx, this.model.samplesOf.get(row.thread.index) || [], y + 3, row.h - 5, view, !this.model.head.switches);
			this.drawLives(ctx, row, y);
		} else {
			this.painter.cpu(ctx, row.cpu, y + 2, row.h - 4, view);
			if (!this.model.head.switches)
				this.painter.samples(ctx, this.model.samplesOn.get(row.cpu + 1) || [], y + 2, row.h - 4, view, true);
		}
		ctx.fillStyle = c.lost;
		for (const [from, to] of this.gaps(row)) {
			ctx.globalAlpha = 0.55;
			ctx.fillRect(this.x(from), y + 1, Math.max(2, this.x(to) - this.x(from)), row.h - 2);
			ctx.globalAlpha = 1;
		}
		ctx.restore();
		ctx.fillStyle = c.line;
		ctx.globalAlpha = 0.5;
		ctx.fillRect(0, y + row.h - 0.5, wide, 0.5);
		ctx.globalAlpha = 1;
	}

	drawName(ctx, row, y) {
		const c = this.app.colours, mid = y + row.h / 2 + 0.5;
		ctx.font = "12px system-ui, sans-serif";
		if (!row.thread) {
			ctx.fillStyle = c.ink;
			ctx.fillText("CPU " + row.cpu, 10, mid);
			return;
		}
		if (row.calls) {
			ctx.fillStyle = c.faint;
			ctx.fillText("calls", 20, y + 3 + CALL_LEVEL / 2);
			return;
		}
		const t = row.thread, tid = t.comm ? String(t.tid) : "";
		ctx.fillStyle = c.faint;
		const w = ctx.measureText(tid).width;
		ctx.fillText(tid, GUTTER - 10 - w, mid);
		ctx.fillStyle = c.thread(t);
		ctx.fillRect(10, y + row.h / 2 - 4, 4, 8);
		ctx.fillStyle = t.kernel ? c.dim : c.ink;
		this.painter.clipped(ctx, t.name, 20, mid, GUTTER - 38 - w);
	}

	// Before all rings' first switches not all is known; nothing is after they were frozen.
	drawUnknown(ctx, y, h) {
		const [from, to] = this.model.scheduled, a = this.x(from), b = this.x(to);
		ctx.fillStyle = this.app.colours.unknown;
		if (a > GUTTER)
			ctx.fillRect(GUTTER, y, Math.min(a, GUTTER + this.width) - GUTTER, h);
		if (b < GUTTER + this.width)
			ctx.fillRect(Math.max(b, GUTTER), y, GUTTER + this.width - Math.max(b, GUTTER), h);
	}

	// Births, deaths and signals: small marks on the row.
	drawLives(ctx, row, y) {
		let last = -Infinity;
		for (const life of this.model.lives.get(row.thread.tid) || []) {
			const x = this.x(life.at);
			if (x < GUTTER - 4 || x > GUTTER + this.width + 4 || (x - last < 9 && life.kind >= 3))
				continue;
			last = x;
			ctx.fillStyle = life.kind >= 3 ? this.app.colours.trigger : this.app.colours.ink;
			ctx.beginPath();
			ctx.moveTo(x, y + 6);
			ctx.lineTo(x - 3.5, y + 0.5);
			ctx.lineTo(x + 3.5, y + 0.5);
			ctx.fill();
		}
	}

	// From who woke to who was woken.
	drawLink(ctx, top) {
		const m = this.model, i = this.app.span;
		if (i < 0)
			return;
		const row = this.rowOf.get(m.owner[i]), c = this.app.colours;
		if (row) {
			const a = Math.max(this.x(m.start[i]), GUTTER), b = Math.min(this.x(m.start[i] + m.ns[i]), GUTTER + this.width);
			ctx.strokeStyle = c.ink;
			ctx.lineWidth = 1.5;
			if (b >= a)
				ctx.strokeRect(a - 0.5, row.y - top + AXIS + 1.5, Math.max(b - a + 1, 3), row.h - 3);
		}
		const by = m.c.spanBy[i] - 1, from = this.rowOf.get(by);
		if (by < 0 || !from || !row || from === row)
			return;
		const x = this.x(m.start[i] + (m.state[i] === READY ? 0 : m.ns[i]));
		const y0 = from.y - top + AXIS + from.h / 2, y1 = row.y - top + AXIS + row.h / 2, way = y1 > y0 ? 1 : -1;
		if (x < GUTTER || x > GUTTER + this.width)
			return;
		ctx.strokeStyle = ctx.fillStyle = c.ink;
		ctx.beginPath();
		ctx.arc(x, y0, 3, 0, 7);
		ctx.fill();
		ctx.beginPath();
		ctx.moveTo(x, y0);
		ctx.lineTo(x, y1 - way * 5);
		ctx.stroke();
		ctx.beginPath();
		ctx.moveTo(x, y1);
		ctx.lineTo(x - 4, y1 - way * 8);
		ctx.lineTo(x + 4, y1 - way * 8);
		ctx.fill();
	}

	drawAxis(ctx, wide, high) {
		const c = this.app.colours, span = this.view.to - this.view.from;
		let step = 10 ** Math.floor(Math.log10(span / (this.width / 110)));
		for (const k of [2, 5, 10])
			if (step * this.width / span < 95)
				step = 10 ** Math.floor(Math.log10(span / (this.width / 110))) * k;
		ctx.fillStyle = c.card;
		ctx.fillRect(0, 0, wide, AXIS);
		ctx.fillStyle = c.line;
		ctx.fillRect(0, AXIS - 1, wide, 1);
		ctx.fillRect(GUTTER - 1, 0, 1, high);
		ctx.font = "11.5px system-ui, sans-serif";
		ctx.textBaseline = "middle";
		ctx.textAlign = "center";
		for (let k = Math.ceil(this.view.from / step); k * step <= this.view.to; k++) {
			const x = this.x(k * step);
			ctx.fillStyle = c.line;
			ctx.globalAlpha = 0.6;
			ctx.fillRect(x, AXIS, 1, high - AXIS);
			ctx.globalAlpha = 1;
			ctx.fillRect(x, AXIS - 6, 1, 5);
			ctx.fillStyle = c.dim;
			if (x > GUTTER + 26 && x < wide - 26 && k !== 0)
				ctx.fillText(this.tick(k * step, step), x, AXIS / 2 - 1);
		}
		ctx.textAlign = "left";
		ctx.fillStyle = c.faint;
		ctx.fillText("relative to the trigger", 10, AXIS / 2);
	}

	// As many digits as tell ticks apart.
	tick(ns, step) {
		const [unit, name] = Math.abs(ns) >= 1e9 || step >= 1e8 ? [1e9, "s"] : Math.abs(ns) >= 1e6 || step >= 1e5 ? [1e6, "ms"] : Math.abs(ns) >= 1e3 || step >= 100 ? [1e3, "\u00b5s"] : [1, "ns"];
		const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
		return (ns > 0 ? "+" : "\u2212") + (Math.abs(ns) / unit).toFixed(Math.min(digits, 9)) + " " + name;
	}

	// The trigger, the selected time, the mouse.
	drawOver(ctx, high) {
		const c = this.app.colours, range = this.app.range, right = GUTTER + this.width;
		if (range) {
			const a = Math.max(this.x(range.from), GUTTER), b = Math.min(this.x(range.to), right);
			if (b > a) {
				ctx.fillStyle = c.shade;
				ctx.fillRect(a, 0, b - a, high);
				ctx.fillStyle = c.accent;
				ctx.fillRect(a, 0, 1, high);
				ctx.fillRect(b - 1, 0, 1, high);
			}
		}
		const zero = this.x(0);
		if (zero >= GUTTER && zero <= right) {
			ctx.fillStyle = c.trigger;
			ctx.fillRect(zero - 0.75, 4, 1.5, high);
			ctx.font = "600 11px system-ui, sans-serif";
			const w = ctx.measureText("trigger").width + 10, x = Math.min(zero - w / 2, right + 8 - w);
			ctx.beginPath();
			ctx.roundRect(x, 4, w, 17, 4);
			ctx.fill();
			ctx.fillStyle = "#fff";
			ctx.textBaseline = "middle";
			ctx.fillText("trigger", x + 5, 13);
		}
		if (this.hover && this.hover.x > GUTTER && !this.drag) {
			ctx.fillStyle = c.faint;
			ctx.globalAlpha = 0.6;
			ctx.fillRect(this.hover.x, AXIS, 1, high);
			ctx.globalAlpha = 1;
		}
	}

	// How busy all CPUs were; drawn once, then only the frame.
	drawOverview() {
		const o = this.overview, wide = o.clientWidth, high = 44, c = this.app.colours;
		const key = wide + " " + c.dark;
		if (this.overviewKey !== key) {
			this.overviewKey = key;
			this.overviewImage = document.createElement("canvas");
			this.paintOverview(fitCanvas(this.overviewImage, wide, high), wide, high);
		}
		const ctx = fitCanvas(o, wide, high), scale = wide / (this.full.to - this.full.from);
		o.style.width = "";
		ctx.clearRect(0, 0, wide, high);
		ctx.drawImage(this.overviewImage, 0, 0, wide, high);
		const x = (ns) => (ns - this.full.from) * scale;
		if (this.app.range) {
			ctx.fillStyle = c.shade;
			ctx.fillRect(x(this.app.range.from), 0, Math.max(1, x(this.app.range.to) - x(this.app.range.from)), high);
		}
		ctx.fillStyle = c.trigger;
		ctx.fillRect(x(0) - 0.75, 0, 1.5, high);
		ctx.fillStyle = c.card;
		ctx.globalAlpha = 0.55;
		ctx.fillRect(0, 0, x(this.view.from), high);
		ctx.fillRect(x(this.view.to), 0, wide - x(this.view.to), high);
		ctx.globalAlpha = 1;
		ctx.strokeStyle = c.accent;
		ctx.lineWidth = 1.5;
		ctx.strokeRect(x(this.view.from) + 0.75, 0.75, Math.max(4, x(this.view.to) - x(this.view.from)) - 1.5, high - 1.5);
	}

	paintOverview(ctx, wide, high) {
		const c = this.app.colours, nr = this.model.cpus.length || 1, per = (this.full.to - this.full.from) / wide;
		const [from, to] = this.model.scheduled;
		const each = Math.max(1, Math.floor(nr / 32));
		for (let px = 0; px < wide; px++) {
			const a = this.full.from + px * per;
			if (a + per < from || a > to) {
				ctx.fillStyle = c.unknown;
				ctx.fillRect(px, 0, 1, high);
				continue;
			}
			let share = 0, nrSeen = 0;
			for (let cpu = 0; cpu < nr && this.model.cpus.length; cpu += each, nrSeen++)
				share += this.painter.busyOf(cpu).at(a, a + per)[0];
			ctx.fillStyle = c.state[RUN];
			ctx.globalAlpha = 0.75;
			ctx.fillRect(px, high - high * share / (nrSeen || 1), 1, high);
			ctx.globalAlpha = 1;
		}
	}
}
