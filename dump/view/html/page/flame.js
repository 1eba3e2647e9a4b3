// SPDX-License-Identifier: MIT
// Flame graphs of the selected time and thread: where CPUs were, by samples; where threads slept or
// were blocked, by time. The outermost function is at the top. Beside it the same as a table.

const FLAME_KINDS = [
	{ id: "cpu", title: "On CPU", unit: "samples", none: "No CPU samples in this time." },
	{ id: "off", title: "Off CPU", unit: "time", none: "No stacks of sleeping threads: --preset waits records them." },
	{ id: "blocked", title: "Blocked", unit: "time", none: "No blocked threads in this time, or no stacks of them: --preset waits records stacks." },
];
const FLAME_ROW = 19;
// What every sleep ends in says nothing of where it was.
const PLUMBING = /^(__schedule|schedule|schedule_timeout|io_schedule(_timeout)?|schedule_hrtimeout_range(_clock)?|preempt_schedule(_common|_irq)?|__cond_resched|schedule_idle)$/;

class Flame {
	constructor(app) {
		Object.assign(this, { app, model: app.model, kind: FLAME_KINDS[0], top: -1, boxes: [] });
		this.canvas = document.getElementById("flame");
		this.nothing = document.getElementById("flame-none");
		this.body = document.querySelector("#functions tbody");
		if (!this.model.sampleAt.length && this.model.head.stacks)
			this.kind = FLAME_KINDS[1];
		const group = document.getElementById("flame-kinds");
		for (const kind of FLAME_KINDS) {
			const b = document.createElement("button");
			b.type = "button";
			b.textContent = kind.title;
			b.dataset.kind = kind.id;
			b.addEventListener("click", () => {
				this.kind = kind;
				this.top = -1;
				this.update();
			});
			group.append(b);
		}
		this.reset = document.getElementById("flame-reset");
		this.reset.addEventListener("click", () => this.zoomTo(-1));
		document.getElementById("flame-all").addEventListener("click", () => app.setThread(-1));
		this.canvas.addEventListener("pointermove", (e) => {
			const box = this.boxAt(e.offsetX, e.offsetY);
			app.tip(box ? (box.narrow ? this.others(box) + "\n" + this.value(box.rest) : this.describe(box.node)) : null, e.clientX, e.clientY);
		});
		this.canvas.addEventListener("pointerleave", () => app.tip(null));
		this.canvas.addEventListener("click", (e) => {
			const box = this.boxAt(e.offsetX, e.offsetY);
			if (box && !box.narrow)
				this.zoomTo(box.node);
		});
		new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
	}

	zoomTo(node) {
		this.top = node;
		this.reset.hidden = node < 0;
		this.draw();
	}

	// ---- counting ----

	countSamples(self) {
		const m = this.model, c = m.c, { from, to } = this.app.time();
		let idle = 0, nr = 0, bare = 0;
		for (let i = m.sampleAfter(from); i < m.sampleAt.length && m.sampleAt[i] <= to; i++) {
			const t = c.sampleThread[i];
			if (this.app.thread >= 0 && t !== this.app.thread)
				continue;
			if (t === 0) {
				idle++;
				continue;
			}
			nr++;
			const node = c.sampleChain[i] ? m.chain[c.sampleChain[i]] : 0;
			if (node)
				self[node - 1]++;
			else
				bare++;
		}
		return { total: nr, bare, idle };
	}

	countTime(self) {
		const m = this.model, { from, to } = this.app.time(), sleeps = this.kind.id === "off";
		const only = this.app.thread, parts = [0, 0, 0, 0, 0];
		let total = 0, bare = 0;
		for (let t = only >= 0 ? only : 1; t < (only >= 0 ? only + 1 : m.threads.length); t++) {
			for (let i = m.after(t, from); i < m.first[t + 1] && m.start[i] < to; i++) {
				const state = m.state[i];
				if (state !== BLOCKED && state !== MERGED && !(sleeps && state === SLEEP))
					continue;
				const ns = Math.min(m.start[i] + m.ns[i], to) - Math.max(m.start[i], from);
				m.parts(i, parts);
				const part = (parts[BLOCKED] + (sleeps ? parts[SLEEP] : 0)) * (m.ns[i] ? ns / m.ns[i] : 0);
				const node = m.chain[m.c.spanChain[i]];
				if (node) {
					self[node - 1] += part;
					total += part;
				} else {
					bare += part;
				}
			}
		}
		return { total, bare, idle: 0 };
	}

	// Parents come before their children: one way back adds all up.
	update() {
		const m = this.model, n = m.parent.length;
		this.self = new Float64Array(n);
		this.counts = this.kind.id === "cpu" ? this.countSamples(this.self) : this.countTime(this.self);
		this.total = this.self.slice();
		this.firstChild = new Int32Array(n + 1).fill(-1);
		this.next = new Int32Array(n).fill(-1);
		for (let i = n - 1; i >= 0; i--) {
			if (!this.total[i])
				continue;
			const p = m.parent[i];
			if (p >= 0)
				this.total[p] += this.total[i];
			this.next[i] = this.firstChild[p + 1];
			this.firstChild[p + 1] = i;
		}
		this.all = 0;
		for (let i = this.firstChild[0]; i >= 0; i = this.next[i])
			this.all += this.total[i];
		if (this.top >= 0 && !this.total[this.top])
			this.top = -1;
		this.reset.hidden = this.top < 0;
		this.say();
		this.draw();
		this.list();
	}

	value(v) {
		return this.kind.unit === "time" ? formatTime(v) : formatCount(v);
	}

	say() {
		const { bare, idle } = this.counts, parts = [];
		for (const b of document.querySelectorAll("#flame-kinds button"))
			b.setAttribute("aria-pressed", String(b.dataset.kind === this.kind.id));
		if (this.kind.id === "cpu") {
			parts.push(formatCount(this.counts.total) + (this.counts.total === 1 ? " sample" : " samples"));
			if (bare)
				parts.push(formatCount(bare) + " without a stack");
			if (idle)
				parts.push(formatCount(idle) + " of idle CPUs left out");
		} else {
			parts.push(formatTime(this.all));
			if (bare)
				parts.push(formatTime(bare) + " without a stack left out");
		}
		parts.push(this.app.thread >= 0 ? "of " + this.app.called(this.app.thread) : "of all threads");
		parts.push(this.app.timeText());
		document.getElementById("flame-of").textContent = parts.join(", ");
		document.getElementById("flame-all").hidden = this.app.thread < 0;
		document.getElementById("self-title").textContent = this.kind.unit === "time" ? "slept in" : "self";
		document.getElementById("flame").dataset.total = String(this.kind.id === "cpu" ? this.counts.total : Math.round(this.all));
	}

	// ---- drawing ----

	kids(node) {
		const out = [];
		for (let i = this.firstChild[node + 1]; i >= 0; i = this.next[i])
			out.push(i);
		return out.sort((a, b) => this.total[b] - this.total[a]);
	}

	layout(width) {
		const boxes = [], above = [];
		for (let p = this.top; p >= 0; p = this.model.parent[p])
			above.unshift(p);
		above.pop();
		boxes.push({ node: -1, x: 0, w: width, depth: 0, above: this.top >= 0 });
		above.forEach((node, k) => boxes.push({ node, x: 0, w: width, depth: k + 1, above: true }));
		const whole = this.top >= 0 ? this.total[this.top] : this.all;
		const start = this.top >= 0 ? [{ node: this.top, x: 0, w: width, depth: above.length + 1 }] : [];
		if (this.top < 0)
			this.spread(-1, 0, width, 1, whole, start);
		for (const b of start)
			boxes.push(b);
		for (let k = boxes.length - start.length; k < boxes.length; k++) {
			const b = boxes[k];
			if (b.narrow)
				continue;
			this.spread(b.node, b.x, b.w, b.depth + 1, this.total[b.node], boxes);
		}
		return boxes;
	}

	spread(node, x, w, depth, whole, out) {
		let narrow = 0, rest = 0;
		for (const kid of this.kids(node)) {
			const wide = w * this.total[kid] / whole;
			if (wide >= 0.7) {
				out.push({ node: kid, x, w: wide, depth });
				x += wide;
			} else {
				narrow++;
				rest += this.total[kid];
			}
		}
		if (narrow && w * rest / whole >= 1)
			out.push({ node: -1, x, w: w * rest / whole, depth, narrow, rest });
	}

	recorded() {
		return this.kind.id === "cpu" ? this.model.sampleAt.length > 0 : this.model.head.stacks;
	}

	draw() {
		if (!this.self)
			return;
		const wide = this.canvas.parentElement.clientWidth, c = this.app.colours;
		this.nothing.hidden = this.all > 0;
		this.nothing.textContent = this.all > 0 ? "" : this.recorded() ? "Nothing of this in the selected time." : this.kind.none;
		this.canvas.hidden = !(this.all > 0);
		if (!(this.all > 0) || !wide)
			return;
		this.boxes = this.layout(wide);
		const deep = this.boxes.reduce((d, b) => Math.max(d, b.depth), 0);
		const ctx = fitCanvas(this.canvas, wide, (deep + 1) * FLAME_ROW + 2), hits = this.app.hits;
		this.canvas.style.width = "100%";
		ctx.clearRect(0, 0, wide, (deep + 1) * FLAME_ROW + 2);
		ctx.font = "11.5px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
		ctx.textBaseline = "middle";
		for (const b of this.boxes) {
			const f = b.node >= 0 ? this.model.frames[this.model.frame[b.node]] : null;
			const hit = f && hits && hits.has(this.model.frame[b.node]);
			ctx.globalAlpha = b.above || (hits && hits.size && !hit) ? 0.45 : 1;
			ctx.fillStyle = !f ? c.soft : hit ? c.hit : f.kernel ? c.kernel : this.shade(f, c);
			ctx.fillRect(b.x, b.depth * FLAME_ROW, Math.max(b.w - 0.75, 0.5), FLAME_ROW - 1);
			if (b.w > 26) {
				ctx.fillStyle = !f ? c.ink : "#16130c";
				this.app.timeline.painter.clipped(ctx, f ? f.name : b.narrow ? this.others(b) : "all", b.x + 4, b.depth * FLAME_ROW + 9.5, b.w - 8);
			}
		}
		ctx.globalAlpha = 1;
	}

	// Neighbours are told apart by a shade of their own.
	shade(f, c) {
		if (f.colour && f.dark === c.dark)
			return f.colour;
		let hash = 3;
		for (let i = 0; i < f.name.length; i++)
			hash = (Math.imul(hash, 33) + f.name.charCodeAt(i)) >>> 0;
		f.dark = c.dark;
		f.colour = `hsl(${36 + hash % 14} ${c.dark ? 48 : 78}% ${(c.dark ? 46 : 64) + hash % 8}%)`;
		return f.colour;
	}

	others(b) {
		return `${formatCount(b.narrow)} others, each too narrow to show`;
	}

	boxAt(x, y) {
		const depth = Math.floor(y / FLAME_ROW);
		return this.boxes.find((b) => b.depth === depth && x >= b.x && x < b.x + b.w);
	}

	describe(node) {
		const v = node >= 0 ? this.total[node] : this.all;
		if (node < 0)
			return `all: ${this.value(v)} ${this.kind.unit === "time" ? "" : "samples"}`;
		const f = this.model.frames[this.model.frame[node]];
		return `${f.name}${f.inlined ? " (inlined)" : ""}\n${f.kernel ? "kernel" : f.image}\n${this.value(v)}${this.kind.unit === "time" ? "" : " samples"}, ${formatShare(v, this.all)}`;
	}

	// ---- the same as a table ----

	byFunction() {
		const m = this.model, rows = new Map(), slept = this.kind.unit === "time";
		const row = (frame) => {
			let r = rows.get(frame);
			if (!r)
				rows.set(frame, r = { frame, self: 0, total: 0 });
			return r;
		};
		for (let i = 0; i < m.parent.length; i++) {
			if (!this.total[i])
				continue;
			let again = false;
			for (let p = m.parent[i]; p >= 0 && !again; p = m.parent[p])
				again = m.frame[p] === m.frame[i];
			if (!again)
				row(m.frame[i]).total += this.total[i];
			if (!this.self[i])
				continue;
			let own = i;
			while (slept && m.parent[own] >= 0 && PLUMBING.test(m.frames[m.frame[own]].name))
				own = m.parent[own];
			row(m.frame[own]).self += this.self[i];
		}
		return [...rows.values()].filter((r) => r.self || (this.app.hits && this.app.hits.has(r.frame)));
	}

	list() {
		const hits = this.app.hits, rows = this.byFunction();
		const isHit = (r) => (hits && hits.has(r.frame) ? 1 : 0);
		rows.sort((a, b) => isHit(b) - isHit(a) || b.self - a.self || b.total - a.total);
		this.body.textContent = "";
		for (const r of rows.slice(0, 60)) {
			const tr = document.createElement("tr"), f = this.model.frames[r.frame];
			const name = tr.insertCell();
			name.textContent = f.name;
			name.title = f.name + (f.image ? "\n" + f.image : "");
			for (const v of [r.self, r.total]) {
				const cell = tr.insertCell();
				cell.className = "n";
				cell.textContent = this.kind.unit === "time" ? formatTime(v) : formatCount(v) + "  " + formatShare(v, this.all);
			}
			tr.classList.toggle("hit", isHit(r) === 1);
			this.body.append(tr);
		}
	}
}
