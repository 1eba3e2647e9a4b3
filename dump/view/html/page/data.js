// SPDX-License-Identifier: MIT
// The data of the page, unpacked: columns of numbers become typed arrays, and what is asked of them
// again and again is found out once. Times are ns relative to the trigger.

const RUN = 0, READY = 1, SLEEP = 2, BLOCKED = 3, STOPPED = 4, ENDED = 5, MERGED = 7;
const STATES = ["running", "waiting for a CPU", "asleep", "blocked", "stopped", "ended", "", "merged"];
const FLAG_CUT = 1, FLAG_OPEN = 2, FLAG_GUESSED = 4, FLAG_PREEMPTED = 8, FLAG_IRQ = 16, FLAG_SOFTIRQ = 32, FLAG_FORKED = 64;
const LIVES = ["started", "executed another program", "ended", "was sent", "took", "was chosen by the out-of-memory killer"];

async function unpack(base64) {
	const binary = atob(base64.trim());
	const bytes = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++)
		bytes[i] = binary.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

// LEB128 numbers into `out`; those beyond 32 bits without bit arithmetic.
function readColumn(bytes, at, n, out) {
	for (let i = 0; i < n; i++) {
		let b = bytes[at++], v = b & 127;
		if (b > 127) {
			b = bytes[at++];
			v |= (b & 127) << 7;
			if (b > 127) {
				b = bytes[at++];
				v |= (b & 127) << 14;
				if (b > 127) {
					b = bytes[at++];
					v |= (b & 127) << 21;
					let scale = 2 ** 28;
					while (b > 127) {
						b = bytes[at++];
						v += (b & 127) * scale;
						scale *= 128;
					}
				}
			}
		}
		out[i] = v;
	}
	return out;
}

const KINDS = {
	spanGap: Float64Array, spanNs: Float64Array, spanState: Uint8Array, spanFlags: Uint8Array, spanCpu: Int32Array,
	sampleNs: Float64Array, sampleCpu: Int32Array, lifeNs: Float64Array, lifeKind: Uint8Array, lifeSignal: Uint8Array,
	callGap: Float64Array, callNs: Float64Array, callDepth: Uint16Array, callFlags: Uint8Array,
	mergedRun: Float64Array, mergedReady: Float64Array, mergedSleep: Float64Array, mergedBlocked: Float64Array,
};

function readAll(bytes) {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const length = view.getUint32(0, true);
	const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
	const columns = {};
	let at = 4 + length;
	for (const [name, n, size] of head.columns) {
		columns[name] = readColumn(bytes, at, n, new (KINDS[name] || Uint32Array)(n));
		at += size;
	}
	return [head, columns];
}

// Everything that there is to show.
class Model {
	constructor(head, c) {
		Object.assign(this, { head, c });
		this.from = Number(head.base);
		this.to = Math.max(Number(head.end), this.from + 1);
		this.scheduled = head.scheduled.map(Number);
		this.nrSpans = c.spanNs.length;
		this.placeSpans();
		this.placeThreads();
		this.placeSamples();
		this.placeStacks();
		this.placeCpus();
		this.placeLives();
		this.placeCalls();
	}

	// Starts of spans, the thread of each; where the numbers of merged ones are.
	placeSpans() {
		const { spanGap, spanNs, spanState } = this.c;
		const per = this.head.spans;
		this.start = new Float64Array(this.nrSpans);
		this.ns = spanNs;
		this.state = spanState;
		this.owner = new Uint32Array(this.nrSpans);
		this.first = new Uint32Array(per.length + 1);
		this.mergedAt = new Map();
		let i = 0, merged = 0;
		for (let t = 0; t < per.length; t++) {
			let at = this.from;
			this.first[t] = i;
			for (const end = i + per[t]; i < end; i++) {
				at += spanGap[i];
				this.start[i] = at;
				at += spanNs[i];
				this.owner[i] = t;
				if (spanState[i] === MERGED)
					this.mergedAt.set(i, merged++);
			}
		}
		this.first[per.length] = i;
	}

	placeThreads() {
		this.threads = this.head.threads.map((t, i) => ({
			index: i, comm: t[0], tid: t[1], pid: t[2], kernel: t[3] === 1, name: t[0] || String(t[1]),
			whole: [t[4], t[5], t[6], t[7], 0].map(Number), runs: Number(t[8]), lower: (t[0] + " " + t[1]).toLowerCase(),
		}));
		this.byTid = new Map(this.threads.map((t) => [t.tid, t]));
	}

	placeSamples() {
		const { sampleNs } = this.c;
		let at = this.from;
		this.sampleAt = new Float64Array(sampleNs.length);
		for (let i = 0; i < sampleNs.length; i++)
			this.sampleAt[i] = at += sampleNs[i];
		const list = (of) => {
			const out = new Map();
			for (let i = 0; i < of.length; i++) {
				if (!out.has(of[i]))
					out.set(of[i], []);
				out.get(of[i]).push(i);
			}
			return out;
		};
		this.samplesOf = list(this.c.sampleThread);
		this.samplesOn = list(this.c.sampleCpu);
		// Where no switches were recorded, samples are all that is known.
		if (!this.head.switches && sampleNs.length)
			this.scheduled = [this.from, this.to];
	}

	// Parents of nodes: index, or -1.
	placeStacks() {
		const { nodeParent, nodeFrame, chainNode } = this.c;
		this.parent = new Int32Array(nodeParent.length);
		for (let i = 0; i < nodeParent.length; i++)
			this.parent[i] = nodeParent[i] ? i - nodeParent[i] : -1;
		this.frame = nodeFrame;
		this.chain = chainNode;
		this.frames = this.head.frames.map(([name, image, flags]) => ({
			name, image, kernel: (flags & 1) !== 0, inlined: (flags & 2) !== 0, lower: name.toLowerCase(),
		}));
	}

	// By CPU: the spans that ran there, in the order of time.
	placeCpus() {
		const { spanCpu } = this.c;
		let nr = this.head.cpus;
		const lists = [];
		const counts = [];
		for (let i = 0; i < this.nrSpans; i++)
			if (spanCpu[i] > 0 && (this.state[i] === RUN || this.state[i] === MERGED))
				counts[spanCpu[i] - 1] = (counts[spanCpu[i] - 1] || 0) + 1;
		nr = Math.max(nr, counts.length);
		for (let k = 0; k < nr; k++)
			lists.push(new Uint32Array(counts[k] || 0));
		const fill = new Uint32Array(nr);
		for (let i = 0; i < this.nrSpans; i++)
			if (spanCpu[i] > 0 && (this.state[i] === RUN || this.state[i] === MERGED))
				lists[spanCpu[i] - 1][fill[spanCpu[i] - 1]++] = i;
		this.cpus = lists.map((list) => this.sortByStart(list));
	}

	sortByStart(list) {
		const keys = new Float64Array(list.length);
		// Starts are below 2^53 and a list has fewer than 2^32: sorted as pairs through an index.
		const order = Array.from(list.keys());
		for (let i = 0; i < list.length; i++)
			keys[i] = this.start[list[i]];
		order.sort((a, b) => keys[a] - keys[b]);
		return Uint32Array.from(order, (i) => list[i]);
	}

	placeLives() {
		const { lifeNs, lifeTid, lifeOther, lifeKind, lifeSignal } = this.c;
		this.lives = new Map();
		for (let i = 0; i < lifeNs.length; i++) {
			const life = { at: this.from + lifeNs[i], kind: lifeKind[i], other: lifeOther[i], signal: lifeSignal[i] };
			const tid = lifeKind[i] === 0 ? lifeOther[i] : lifeTid[i];
			if (!this.lives.has(tid))
				this.lives.set(tid, []);
			this.lives.get(tid).push(life);
		}
	}

	// Calls of a hardware's trace: of each thread by depth, in the order of time.
	placeCalls() {
		const { callGap, callDepth } = this.c;
		this.callStart = new Float64Array(callGap.length);
		this.callsOf = new Map();
		let i = 0;
		for (const [thread, nr] of this.head.calls) {
			const levels = [];
			let at = this.from;
			for (const end = i + nr; i < end; i++) {
				this.callStart[i] = at += callGap[i];
				(levels[callDepth[i]] = levels[callDepth[i]] || []).push(i);
			}
			this.callsOf.set(thread, Array.from(levels, (l) => Uint32Array.from(l || [])));
		}
	}

	// Where in a level of calls the first one is that ends after `at`.
	callAfter(level, at) {
		let low = 0, high = level.length;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (this.callStart[level[mid]] + this.c.callNs[level[mid]] < at)
				low = mid + 1;
			else
				high = mid;
		}
		return low;
	}

	// The first span of a thread that ends after `at`.
	after(thread, at) {
		let low = this.first[thread], high = this.first[thread + 1];
		while (low < high) {
			const mid = (low + high) >> 1;
			if (this.start[mid] + this.ns[mid] <= at)
				low = mid + 1;
			else
				high = mid;
		}
		return low;
	}

	spanAt(thread, at) {
		const i = this.after(thread, at);
		return i < this.first[thread + 1] && this.start[i] <= at ? i : -1;
	}

	cpuAfter(cpu, at) {
		const list = this.cpus[cpu];
		let low = 0, high = list.length;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (this.start[list[mid]] + this.ns[list[mid]] <= at)
				low = mid + 1;
			else
				high = mid;
		}
		return low;
	}

	sampleAfter(at) {
		let low = 0, high = this.sampleAt.length;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (this.sampleAt[mid] < at)
				low = mid + 1;
			else
				high = mid;
		}
		return low;
	}

	// What a span spent in each state; of a merged one its parts.
	parts(i, out) {
		out.fill(0);
		if (this.state[i] !== MERGED) {
			if (this.state[i] < 5)
				out[this.state[i]] = this.ns[i];
			return out;
		}
		const k = this.mergedAt.get(i);
		out[RUN] = this.c.mergedRun[k];
		out[READY] = this.c.mergedReady[k];
		out[SLEEP] = this.c.mergedSleep[k];
		out[BLOCKED] = this.c.mergedBlocked[k];
		return out;
	}

	// By state, and runs, of a thread in a time: numbers as recorded when all of the time is meant.
	sums(thread, from, to) {
		const out = [0, 0, 0, 0, 0], parts = [0, 0, 0, 0, 0];
		const t = this.threads[thread];
		if (!this.head.switches)
			return this.sampled(thread, from, to);
		if (from <= this.scheduled[0] && to >= this.scheduled[1])
			return { ns: t.whole, runs: t.runs };
		from = Math.max(from, this.scheduled[0]);
		to = Math.min(to, this.scheduled[1]);
		let runs = 0;
		for (let i = this.after(thread, from); i < this.first[thread + 1] && this.start[i] < to; i++) {
			const begin = Math.max(this.start[i], from), end = Math.min(this.start[i] + this.ns[i], to);
			const share = this.ns[i] ? (end - begin) / this.ns[i] : 0;
			if (share <= 0)
				continue;
			runs += this.state[i] === RUN;
			if (this.state[i] !== MERGED) {
				if (this.state[i] < ENDED)
					out[this.state[i]] += end - begin;
				continue;
			}
			this.parts(i, parts);
			for (let s = 0; s < 5; s++)
				out[s] += parts[s] * share;
		}
		return { ns: out, runs };
	}

	// Each sample stands for the time to the next.
	sampled(thread, from, to) {
		const list = this.samplesOf.get(thread) || [];
		const n = list.reduce((sum, i) => sum + (this.sampleAt[i] >= from && this.sampleAt[i] <= to), 0);
		return { ns: [n * this.head.samplePeriod, 0, 0, 0, 0], runs: 0 };
	}

	// Innermost first: indices of frames.
	stack(chain) {
		const out = [];
		for (let node = chain ? this.chain[chain] - 1 : -1; node >= 0; node = this.parent[node])
			out.push(this.frame[node]);
		return out;
	}
}

// ---- how numbers are written ----

function threeDigits(v) {
	return Math.abs(v) >= 100 ? v.toFixed(0) : v.toPrecision(3);
}

function formatTime(ns) {
	const a = Math.abs(ns);
	if (a >= 1e9)
		return threeDigits(ns / 1e9) + " s";
	if (a >= 1e6)
		return threeDigits(ns / 1e6) + " ms";
	if (a >= 1e3)
		return threeDigits(ns / 1e3) + " \u00b5s";
	return Math.round(ns) + " ns";
}

function formatMoment(ns) {
	return (ns > 0 ? "+" : ns < 0 ? "\u2212" : "") + formatTime(Math.abs(ns));
}

function formatCount(n) {
	return Math.round(n).toLocaleString("en-US");
}

function formatShare(part, of) {
	const p = of ? 100 * part / of : 0;
	return (p >= 10 ? Math.round(p) : p.toFixed(1)) + "\u202f%";
}
