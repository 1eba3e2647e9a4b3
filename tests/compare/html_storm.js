// SPDX-License-Identifier: MIT
//
// html_storm.js PAGE DIRECTORY: how quick a large page is in Chromium. Prints "ready MS" from the start of
// unpacking until it can be used, "frame MS" the median that a zoom takes to draw, "spans N", and
// "merged N TEXT" what is said of detail that was left out.
"use strict";
const { openBrowser } = require("../helpers/browser.js");

async function main() {
	const [, , page, directory] = process.argv, b = await openBrowser(directory);
	await b.size(1400, 1000);
	const begun = Date.now();
	await b.open("file://" + page);
	await b.until("window.ringback !== undefined", 60000);
	console.log("opened", Date.now() - begun);
	console.log("ready", await b.value("document.documentElement.dataset.readyMs"));
	console.log("painted", await b.value("Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1)"));
	console.log("spans", await b.value("ringback.model.nrSpans"));
	console.log("merged", await b.value("ringback.model.head.merged"), await b.value("document.querySelector('#detail').textContent"));
	// Of threads, the worst difference between what their spans have and what was summed up as recorded.
	console.log("off", await b.value(`(() => { const m = ringback.model, parts = [0, 0, 0, 0, 0]; let off = 0;
		for (const t of m.threads) {
			const ns = [0, 0, 0, 0, 0], [from, to] = m.scheduled;
			for (let i = m.first[t.index]; i < m.first[t.index + 1]; i++) {
				const share = m.ns[i] ? Math.max(0, Math.min(m.start[i] + m.ns[i], to) - Math.max(m.start[i], from)) / m.ns[i] : 0;
				m.parts(i, parts).forEach((v, s) => { ns[s] += v * share; });
			}
			for (let s = 0; s < 4; s++)
				off = Math.max(off, Math.abs(ns[s] - t.whole[s]));
		}
		return Math.round(off); })()`));
	const times = await b.value(`(async () => { const out = [], tl = ringback.timeline;
		for (let k = 0; k < 40; k++) {
			tl.zoom(k < 20 ? 0.75 : 1 / 0.75, -2e6);
			await new Promise((r) => setTimeout(r, 25));
			out.push(tl.frameMs);
		}
		return out.sort((a, b) => a - b); })()`);
	console.log("frame", times[20].toFixed(1), "worst", times[39].toFixed(1));
	console.log("select", await b.value(`(() => { const at = performance.now(); ringback.range = { from: ringback.model.scheduled[0] + 1e6, to: -1e6 };
		ringback.flame.update(); ringback.table.update(); return (performance.now() - at).toFixed(1); })()`));
	await b.screenshot(directory + "/storm.png", true);
	console.log("problems", b.problems.length);
	b.problems.forEach((p) => console.log("problem", p));
	await b.close();
}

main();
