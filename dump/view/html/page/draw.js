// SPDX-License-Identifier: MIT
// How rows of the timeline are drawn: spans one by one where there is room for them; where there is
// not, each column of pixels shows what share of its time was what. Sums over halves of halves of
// the time are kept for long lists, so that a frame costs the same however many spans there are.

const DRAWN = [SLEEP, RUN, READY, BLOCKED, STOPPED];
const MAX_BINS = 1 << 16;

// The page's colours, as the style sheet has them for the theme that is on.
class Colours {
	constructor() {
		this.read();
	}

	read() {
		const style = getComputedStyle(document.documentElement);
		const get = (name) => style.getPropertyValue("--" + name).trim();
		for (const name of ["card", "ink", "dim", "faint", "line", "soft", "accent", "trigger", "shade", "row", "merged",
			"lost", "kernel", "user", "hit"])
			this[name] = get(name);
		this.state = [get("run"), get("ready"), get("sleep"), get("blocked"), get("stopped"), "transparent", "", get("merged")];
		this.unknown = this.hatch(get("unknown-a"), get("unknown-b"));
		this.dark = document.documentElement.dataset.theme === "dark";
		this.threads = new Map();
	}

	hatch(a, b) {
		const tile = document.createElement("canvas");
		tile.width = tile.height = 8;
		const ctx = tile.getContext("2d");
		ctx.fillStyle = b;
		ctx.fillRect(0, 0, 8, 8);
		ctx.strokeStyle = a;
		ctx.lineWidth = 3;
		ctx.beginPath();
		for (const x of [-8, 0, 8]) {
			ctx.moveTo(x - 1, 9);
			ctx.lineTo(x + 9, -1);
		}
		ctx.stroke();
		return ctx.createPattern(tile, "repeat");
	}

	// The same name, the same colour.
	thread(t) {
		let colour = this.threads.get(t.comm);
		if (!colour) {
			let hash = 7;
			for (const ch of t.comm || String(t.tid))
				hash = (Math.imul(hash, 31) + ch.codePointAt(0)) >>> 0;
			const hue = (hash * 47) % 360, light = this.dark ? 52 : 66;
			colour = t.kernel ? `hsl(${hue} 14% ${light}%)` : `hsl(${hue} 58% ${light}%)`;
			this.threads.set(t.comm, colour);
		}
		return colour;
	}
}

// Sums of each state in 2^k equal parts of all the time, and of all halves of these.
class Sums {
	constructor(model, thread) {
		const first = model.first[thread], end = model.first[thread + 1];
		let bins = 256;
		while (bins < MAX_BINS && bins < (end - first) / 2)
			bins *= 2;
		this.from = model.from;
		this.width = (model.to - model.from) / bins;
		const level = new Float32Array(bins * 5), parts = [0, 0, 0, 0, 0];
		for (let i = first; i < end; i++)
			this.add(level, bins, model.start[i], model.ns[i], model.parts(i, parts));
		this.levels = [level];
		for (let n = bins / 2; n >= 1; n /= 2) {
			const below = this.levels[this.levels.length - 1], above = new Float32Array(n * 5);
			for (let i = 0; i < n; i++)
				for (let s = 0; s < 5; s++)
					above[i * 5 + s] = below[i * 10 + s] + below[i * 10 + 5 + s];
			this.levels.push(above);
		}
	}

	add(level, bins, start, ns, parts) {
		let bin = Math.min(bins - 1, Math.max(0, Math.floor((start - this.from) / this.width)));
		for (let at = start, end = start + ns; at < end && bin < bins; bin++) {
			const next = Math.min(end, this.from + (bin + 1) * this.width);
			const share = next > at ? (next - at) / ns : 0;
			for (let s = 0; s < 5; s++)
				level[bin * 5 + s] += parts[s] * share;
			at = Math.max(next, at);
		}
	}

	// Adds what lies in a time to `out`, bins counted by the share that they overlap.
	sum(from, to, out) {
		let k = 0;
		while (k + 1 < this.levels.length && this.width * 2 ** (k + 1) <= (to - from) / 2)
			k++;
		const width = this.width * 2 ** k, level = this.levels[k], n = level.length / 5;
		const first = Math.max(0, Math.floor((from - this.from) / width));
		for (let i = first; i < n && this.from + i * width < to; i++) {
			const a = Math.max(from, this.from + i * width), b = Math.min(to, this.from + (i + 1) * width);
			const share = (b - a) / width;
			for (let s = 0; s < 5; s++)
				out[s] += level[i * 5 + s] * share;
		}
	}
}

// How busy a CPU was in each part of the time, and with which thread most: the same halves of halves.
class Busy {
	constructor(model, cpu) {
		const list = model.cpus[cpu];
		let bins = 256;
		while (bins < MAX_BINS && bins < list.length / 2)
			bins *= 2;
		this.from = model.from;
		this.width = (model.to - model.from) / bins;
		this.levels = [this.lowest(model, list, bins)];
		for (let n = bins / 2; n >= 1; n /= 2)
			this.levels.push(this.halved(this.levels[this.levels.length - 1], n));
	}

	lowest(model, list, bins) {
		const out = { ns: new Float32Array(bins), who: new Uint32Array(bins), lead: new Float32Array(bins) };
		const parts = [0, 0, 0, 0, 0];
		for (const i of list) {
			const run = model.parts(i, parts)[RUN], start = model.start[i], ns = model.ns[i];
			let bin = Math.min(bins - 1, Math.max(0, Math.floor((start - this.from) / this.width)));
			for (let at = start, end = start + ns; at < end && bin < bins; bin++) {
				const next = Math.min(end, this.from + (bin + 1) * this.width);
				if (next > at)
					this.vote(out, bin, model.owner[i], run * (next - at) / ns);
				at = Math.max(next, at);
			}
		}
		return out;
	}

	vote(out, bin, who, ns) {
		out.ns[bin] += ns;
		if (out.who[bin] === who)
			out.lead[bin] += ns;
		else if (out.lead[bin] >= ns)
			out.lead[bin] -= ns;
		else {
			out.lead[bin] = ns - out.lead[bin];
			out.who[bin] = who;
		}
	}

	halved(below, n) {
		const out = { ns: new Float32Array(n), who: new Uint32Array(n), lead: new Float32Array(n) };
		for (let i = 0; i < 2 * n; i++) {
			const to = i >> 1;
			const ns = out.ns[to] + below.ns[i];
			this.vote(out, to, below.who[i], below.lead[i]);
			out.ns[to] = ns;
		}
		return out;
	}

	// [share, thread]
	at(from, to) {
		let k = 0;
		while (k + 1 < this.levels.length && this.width * 2 ** (k + 1) <= (to - from) / 2)
			k++;
		const width = this.width * 2 ** k, level = this.levels[k], n = level.ns.length;
		let ns = 0, best = 0, who = 0;
		for (let i = Math.max(0, Math.floor((from - this.from) / width)); i < n && this.from + i * width < to; i++) {
			const share = (Math.min(to, this.from + (i + 1) * width) - Math.max(from, this.from + i * width)) / width;
			ns += level.ns[i] * share;
			if (level.lead[i] > best) {
				best = level.lead[i];
				who = level.who[i];
			}
		}
		return [Math.min(1, ns / (to - from)), who];
	}
}

class Painter {
	constructor(model, colours) {
		Object.assign(this, { model, colours, sums: new Map(), busy: [] });
		this.columns = DRAWN.map(() => new Float32Array(0));
	}

	sumsOf(thread) {
		let s = this.sums.get(thread);
		if (!s)
			this.sums.set(thread, s = new Sums(this.model, thread));
		return s;
	}

	busyOf(cpu) {
		return this.busy[cpu] || (this.busy[cpu] = new Busy(this.model, cpu));
	}

	// `view`: from, to, x, width in pixels.
	// Calls below each other as they nest; names where there is room. Of what is narrower than a pixel
	// one stands for all in it.
	calls(ctx, levels, y, h, max, view) {
		const m = this.model, scale = view.width / (view.to - view.from);
		ctx.font = "11px system-ui, sans-serif";
		for (let d = 0; d < levels.length && d < max; d++, y += h) {
			const level = levels[d];
			let last = -1;
			for (let k = m.callAfter(level, view.from); k < level.length && m.callStart[level[k]] < view.to; k++) {
				const i = level[k];
				const a = (Math.max(m.callStart[i], view.from) - view.from) * scale;
				const b = (Math.min(m.callStart[i] + m.c.callNs[i], view.to) - view.from) * scale;
				if (b <= last)
					continue;
				const from = Math.max(a, last), w = Math.max(b - from, 0.75), name = m.head.callNames[m.c.callName[i]];
				ctx.fillStyle = this.callColour(m.c.callName[i]);
				ctx.fillRect(view.x + from, y, w > 3 ? w - 0.5 : w, h - 1);
				last = Math.max(from + w, Math.floor(from) + 1);
				if (w > 24) {
					ctx.fillStyle = this.colours.ink;
					this.clipped(ctx, name[0], view.x + from + 3, y + h / 2, w - 6);
				}
			}
		}
	}

	// The same function, the same colour; functions of one file are of one kind.
	callColour(name) {
		this.callColours = this.callColours || [];
		const key = name * 2 + (this.colours.dark ? 1 : 0);
		if (!this.callColours[key]) {
			const [text, file] = this.model.head.callNames[name];
			let hue = 7, shade = 3;
			for (const ch of file)
				hue = (Math.imul(hue, 31) + ch.codePointAt(0)) >>> 0;
			for (const ch of text)
				shade = (Math.imul(shade, 31) + ch.codePointAt(0)) >>> 0;
			const light = this.colours.dark ? 30 + shade % 12 : 76 + shade % 12;
			this.callColours[key] = `hsl(${(hue * 47) % 360} ${45 + shade % 25}% ${light}%)`;
		}
		return this.callColours[key];
	}

	thread(ctx, thread, y, h, view) {
		const m = this.model, scale = view.width / (view.to - view.from);
		const first = m.after(thread, view.from), end = m.after(thread, view.to) + 1;
		if (end - first > 2 * view.width && m.first[thread + 1] - m.first[thread] > 2000) {
			this.dense(ctx, this.sumsOf(thread), y, h, view);
			return;
		}
		const last = Math.min(end, m.first[thread + 1]), parts = [0, 0, 0, 0, 0];
		const column = [0, 0, 0, 0, 0];
		let at = -1;
		const flush = () => {
			if (at >= 0)
				this.stacked(ctx, column, view.x + at, y, 1, h, 1 / scale);
			column.fill(0);
			at = -1;
		};
		for (let i = first; i < last && m.start[i] < view.to; i++) {
			const a = (Math.max(m.start[i], view.from) - view.from) * scale;
			const b = (Math.min(m.start[i] + m.ns[i], view.to) - view.from) * scale;
			if (b - a >= 1) {
				flush();
				this.span(ctx, i, view.x + a, y, b - a, h);
				continue;
			}
			const px = Math.floor(a);
			if (px !== at)
				flush();
			at = px;
			m.parts(i, parts);
			for (let s = 0; s < 5; s++)
				column[s] += parts[s];
		}
		flush();
	}

	span(ctx, i, x, y, w, h) {
		const m = this.model, state = m.state[i];
		if (state === MERGED) {
			const parts = m.parts(i, [0, 0, 0, 0, 0]);
			this.stacked(ctx, parts, x, y, w, h, m.ns[i]);
			ctx.fillStyle = this.colours.merged;
			ctx.fillRect(x, y + h, Math.max(w - 0.5, 0.5), 1);
			return;
		}
		ctx.fillStyle = this.colours.state[state];
		if (state === RUN)
			ctx.fillRect(x, y, w, h);
		else if (state === READY)
			ctx.fillRect(x, y + h * 0.3, w, h * 0.7);
		else if (state === BLOCKED)
			ctx.fillRect(x, y + h * 0.15, w, h * 0.7);
		else if (state < ENDED)
			ctx.fillRect(x, y + h / 2 - 1, w, 2);
	}

	// What a stretch of time had of each state, from the bottom up; sleep is the line in the middle.
	stacked(ctx, ns, x, y, w, h, of) {
		if (ns[SLEEP]) {
			ctx.fillStyle = this.colours.state[SLEEP];
			ctx.fillRect(x, y + h / 2 - 1, w, 2);
		}
		let bottom = y + h;
		for (const s of [RUN, READY, BLOCKED, STOPPED]) {
			const part = Math.min(h, h * ns[s] / of);
			if (part < 0.05)
				continue;
			const high = Math.max(part, 1);
			ctx.fillStyle = this.colours.state[s];
			ctx.fillRect(x, Math.max(y, bottom - high), w, Math.min(high, bottom - y));
			bottom -= part;
		}
	}

	// All columns of one state, then all of the next: colours are changed rarely.
	dense(ctx, sums, y, h, view) {
		const n = Math.ceil(view.width), per = (view.to - view.from) / view.width;
		const column = [0, 0, 0, 0, 0], tops = new Float32Array(n), high = [];
		for (let s = 0; s < 5; s++)
			high.push(new Float32Array(n));
		for (let x = 0; x < n; x++) {
			column.fill(0);
			sums.sum(view.from + x * per, view.from + (x + 1) * per, column);
			for (let s = 0; s < 5; s++)
				high[s][x] = Math.min(h, h * column[s] / per);
		}
		ctx.fillStyle = this.colours.state[SLEEP];
		for (let x = 0; x < n; x++)
			if (high[SLEEP][x] > 0.05)
				ctx.fillRect(view.x + x, y + h / 2 - 1, 1, 2);
		for (const s of [RUN, READY, BLOCKED, STOPPED]) {
			ctx.fillStyle = this.colours.state[s];
			for (let x = 0; x < n; x++) {
				const part = high[s][x];
				if (part < 0.05)
					continue;
				ctx.fillRect(view.x + x, y + Math.max(0, h - tops[x] - Math.max(1, part)), 1, Math.max(1, part));
				tops[x] += part;
			}
		}
	}

	cpu(ctx, cpu, y, h, view) {
		const m = this.model, list = m.cpus[cpu];
		const first = m.cpuAfter(cpu, view.from), end = m.cpuAfter(cpu, view.to) + 1;
		const scale = view.width / (view.to - view.from);
		let near = end - first <= 2 * view.width;
		for (let k = first; near && k < Math.min(end, list.length); k++)
			near = m.state[list[k]] !== MERGED;
		if (!near) {
			this.busyColumns(ctx, cpu, y, h, view);
			return;
		}
		ctx.font = "11px system-ui, sans-serif";
		ctx.textBaseline = "middle";
		for (let k = first; k < list.length && m.start[list[k]] < view.to; k++) {
			const i = list[k], t = m.threads[m.owner[i]];
			const a = view.x + (Math.max(m.start[i], view.from) - view.from) * scale;
			const b = view.x + (Math.min(m.start[i] + m.ns[i], view.to) - view.from) * scale;
			ctx.fillStyle = this.colours.thread(t);
			ctx.fillRect(a, y, Math.max(b - a - (b - a > 3 ? 0.5 : 0), 0.6), h);
			if (b - a > 34) {
				ctx.fillStyle = this.colours.dark ? "#0b0d12" : "#10131a";
				this.clipped(ctx, t.name, a + 4, y + h / 2 + 0.5, b - a - 8);
			}
		}
	}

	// Samples of a thread or a CPU: where nothing else is known of it, else as marks at the bottom when
	// there is room for them.
	samples(ctx, list, y, h, view, alone) {
		const m = this.model, scale = view.width / (view.to - view.from);
		let low = 0, high = list.length;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (m.sampleAt[list[mid]] < view.from)
				low = mid + 1;
			else
				high = mid;
		}
		let end = low;
		while (end < list.length && m.sampleAt[list[end]] <= view.to)
			end++;
		if (!alone && end - low > view.width / 8)
			return;
		ctx.fillStyle = alone ? this.colours.state[RUN] : this.colours.ink;
		for (let k = low; k < end; k++) {
			const x = view.x + (m.sampleAt[list[k]] - view.from) * scale;
			if (alone && m.c.sampleThread[list[k]])
				ctx.fillRect(x - 0.75, y, 1.5, h);
			else if (!alone)
				ctx.fillRect(x - 0.5, y + h - 3, 1, 3);
		}
	}

	busyColumns(ctx, cpu, y, h, view) {
		const busy = this.busyOf(cpu), per = (view.to - view.from) / view.width, m = this.model;
		let colour = null;
		for (let x = 0; x < view.width; x++) {
			const [share, who] = busy.at(view.from + x * per, view.from + (x + 1) * per);
			if (share <= 0)
				continue;
			const next = this.colours.thread(m.threads[who]);
			if (next !== colour)
				ctx.fillStyle = colour = next;
			ctx.fillRect(view.x + x, y + h - Math.max(1, h * share), 1, Math.max(1, h * share));
		}
	}

	// Text cut to a width.
	clipped(ctx, text, x, y, width) {
		if (ctx.measureText(text).width <= width) {
			ctx.fillText(text, x, y);
			return;
		}
		let low = 0, high = text.length;
		while (low < high) {
			const mid = (low + high + 1) >> 1;
			if (ctx.measureText(text.slice(0, mid) + "\u2026").width <= width)
				low = mid;
			else
				high = mid - 1;
		}
		if (low > 0)
			ctx.fillText(text.slice(0, low) + "\u2026", x, y);
	}
}

// A canvas as sharp as the screen; returns its context, scaled to CSS pixels.
function fitCanvas(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
		canvas.style.width = width + "px";
		canvas.style.height = height + "px";
	}
	const ctx = canvas.getContext("2d");
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	return ctx;
}
