// SPDX-License-Identifier: MIT
// The table of threads: what each did in the selected time. A click on a name shows that thread
// everywhere, a click on a title sorts.

const TABLE_ROWS = 300;
const TABLE_COLUMNS = [
	{ id: "name", title: "thread", text: true, of: (r) => r.t.lower },
	{ id: "tid", title: "tid", of: (r) => r.t.tid },
	{ id: "pid", title: "pid", of: (r) => r.t.pid },
	{ id: "run", title: "on CPU", of: (r) => r.ns[RUN], time: true },
	{ id: "ready", title: "waiting for a CPU", of: (r) => r.ns[READY], time: true },
	{ id: "blocked", title: "blocked", of: (r) => r.ns[BLOCKED], time: true },
	{ id: "sleep", title: "asleep", of: (r) => r.ns[SLEEP], time: true },
	{ id: "runs", title: "runs", of: (r) => r.runs },
];

class ThreadTable {
	constructor(app) {
		Object.assign(this, { app, model: app.model, by: "run", down: true, all: false, rows: [] });
		this.body = document.querySelector("#thread-table tbody");
		this.more = document.getElementById("threads-more");
		this.more.addEventListener("click", () => {
			this.all = true;
			this.fill();
		});
		const tr = document.querySelector("#thread-table thead").insertRow();
		for (const column of TABLE_COLUMNS) {
			const th = document.createElement("th"), button = document.createElement("button");
			th.scope = "col";
			th.className = column.text ? "" : "n";
			th.dataset.id = column.id;
			button.type = "button";
			button.textContent = column.title;
			button.addEventListener("click", () => this.sortBy(column));
			th.append(button);
			tr.append(th);
		}
		const th = document.createElement("th");
		th.scope = "col";
		th.textContent = "of the time";
		tr.append(th);
	}

	sortBy(column) {
		this.down = this.by === column.id ? !this.down : !column.text;
		this.by = column.id;
		this.fill();
	}

	update() {
		const { from, to } = this.app.time();
		this.rows = [];
		for (const t of this.app.listed()) {
			const { ns, runs } = this.model.sums(t.index, from, to);
			this.rows.push({ t, ns, runs });
		}
		this.length = Math.max(1, Math.min(to, this.model.scheduled[1]) - Math.max(from, this.model.scheduled[0]));
		this.fill();
	}

	fill() {
		const column = TABLE_COLUMNS.find((c) => c.id === this.by), way = this.down ? -1 : 1;
		this.rows.sort((a, b) => {
			const x = column.of(a), y = column.of(b);
			return way * (x < y ? -1 : x > y ? 1 : 0) || a.t.index - b.t.index;
		});
		for (const th of document.querySelectorAll("#thread-table th[data-id]")) {
			if (th.dataset.id === this.by)
				th.setAttribute("aria-sort", this.down ? "descending" : "ascending");
			else
				th.removeAttribute("aria-sort");
		}
		const shown = this.all ? this.rows : this.rows.slice(0, TABLE_ROWS);
		this.body.textContent = "";
		for (const row of shown)
			this.body.append(this.line(row));
		this.more.hidden = shown.length === this.rows.length;
		this.more.textContent = `All ${formatCount(this.rows.length)} threads`;
		document.getElementById("threads-of").textContent = `${formatCount(this.rows.length)} threads, ${this.app.timeText()}`;
	}

	line(row) {
		const tr = document.createElement("tr"), { t } = row;
		const button = document.createElement("button"), name = tr.insertCell();
		button.type = "button";
		button.className = "link name";
		button.textContent = t.name;
		button.addEventListener("click", () => this.app.setThread(this.app.thread === t.index ? -1 : t.index));
		name.append(button);
		tr.dataset.tid = String(t.tid);
		tr.classList.toggle("on", t.index === this.app.thread);
		for (const column of TABLE_COLUMNS.slice(1)) {
			const cell = tr.insertCell(), v = column.of(row);
			cell.className = "n";
			cell.textContent = column.time ? (v ? formatTime(v) : "") : column.id === "runs" ? formatCount(v) : v ? String(v) : "";
			if (column.time)
				cell.dataset.ns = String(Math.round(v));
		}
		const share = tr.insertCell(), split = document.createElement("div");
		share.className = "share";
		split.className = "split";
		for (const s of [RUN, READY, BLOCKED, SLEEP]) {
			const part = document.createElement("i");
			part.className = "s" + s;
			part.style.width = Math.min(100, 100 * row.ns[s] / this.length) + "%";
			split.append(part);
		}
		split.title = [RUN, READY, BLOCKED, SLEEP].map((s) => `${STATES[s]} ${formatShare(row.ns[s], this.length)}`).join(", ");
		share.append(split);
		return tr;
	}

	mark() {
		for (const tr of this.body.rows)
			tr.classList.toggle("on", this.app.thread >= 0 && tr.dataset.tid === String(this.model.threads[this.app.thread].tid));
	}
}
