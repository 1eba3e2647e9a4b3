// SPDX-License-Identifier: MIT
//
// A headless Chromium for tests of pages, driven through its DevTools protocol over a pipe. Needs
// no package besides the browser: https://chromedevtools.github.io/devtools-protocol/
//
//	const b = await openBrowser(directory);      its profile and its log go to the directory
//	await b.open("file:///tmp/page.html");
//	await b.value("document.title");             the value of an expression, awaited
//	b.problems                                   errors of the page: console, exceptions, network
//	await b.close();
"use strict";
const { spawn } = require("node:child_process");
const fs = require("node:fs");

class Browser {
	constructor(child) {
		Object.assign(this, { child, id: 0, waiting: new Map(), problems: [], requests: [], rest: "" });
		child.stdio[4].setEncoding("utf8");
		child.stdio[4].on("data", (text) => this.take(text));
		child.stdio[3].on("error", () => {});
		child.on("exit", () => this.fail(new Error("the browser ended")));
	}

	fail(error) {
		for (const { reject } of this.waiting.values())
			reject(error);
		this.waiting.clear();
	}

	// Messages end with a NUL.
	take(text) {
		const parts = (this.rest + text).split("\0");
		this.rest = parts.pop();
		for (const part of parts) {
			const message = JSON.parse(part), waits = this.waiting.get(message.id);
			if (waits) {
				this.waiting.delete(message.id);
				if (message.error)
					waits.reject(new Error(message.error.message));
				else
					waits.resolve(message.result);
			} else if (message.method) {
				this.heard(message.method, message.params);
			}
		}
	}

	heard(method, p) {
		if (method === "Runtime.exceptionThrown")
			this.problems.push(p.exceptionDetails.text + " " + (p.exceptionDetails.exception?.description || ""));
		else if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(p.type))
			this.problems.push(p.type + ": " + p.args.map((a) => a.value || a.description).join(" "));
		else if (method === "Log.entryAdded" && ["error", "warning"].includes(p.entry.level))
			this.problems.push("log: " + p.entry.text);
		else if (method === "Network.requestWillBeSent")
			this.requests.push(p.request.url.slice(0, 100));
		else if (method === "Page.loadEventFired")
			this.loaded?.();
		else if (method === "Page.javascriptDialogOpening")
			this.problems.push("dialog: " + p.message);
	}

	send(method, params = {}) {
		const message = { id: ++this.id, method, params };
		if (this.session)
			message.sessionId = this.session;
		return new Promise((resolve, reject) => {
			this.waiting.set(message.id, { resolve, reject });
			this.child.stdio[3].write(JSON.stringify(message) + "\0");
		});
	}

	async attach() {
		const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
		const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
		this.session = sessionId;
		for (const domain of ["Page", "Runtime", "Log", "Network"])
			await this.send(domain + ".enable");
	}

	async size(width, height) {
		await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
	}

	async dark(on) {
		await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: on ? "dark" : "light" }] });
	}

	async open(url) {
		const loaded = new Promise((resolve) => { this.loaded = resolve; });
		const { errorText } = await this.send("Page.navigate", { url });
		if (errorText)
			throw new Error(url + ": " + errorText);
		await loaded;
	}

	async value(expression) {
		const r = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
		if (r.exceptionDetails)
			throw new Error(expression + ": " + (r.exceptionDetails.exception?.description || r.exceptionDetails.text));
		return r.result.value;
	}

	// Waits until an expression is true; returns false after `ms`.
	async until(expression, ms = 20000) {
		for (const end = Date.now() + ms; Date.now() < end;) {
			if (await this.value(expression))
				return true;
			await new Promise((r) => setTimeout(r, 30));
		}
		return false;
	}

	// Scrolls to an element; returns the position of its middle, and its box.
	async place(selector) {
		return this.value(`(() => { const e = document.querySelector(${JSON.stringify(selector)});
			e.scrollIntoView({ block: "center" }); const r = e.getBoundingClientRect();
			return { x: r.x + r.width / 2, y: r.y + r.height / 2, left: r.x, top: r.y, width: r.width, height: r.height }; })()`);
	}

	mouse(type, x, y, more = {}) {
		return this.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1, ...more });
	}

	async click(selector) {
		const { x, y } = await this.place(selector);
		await this.clickAt(x, y);
	}

	async clickAt(x, y) {
		await this.mouse("mouseMoved", x, y, { button: "none" });
		await this.mouse("mousePressed", x, y);
		await this.mouse("mouseReleased", x, y);
	}

	async drag(x0, y0, x1, y1) {
		await this.mouse("mousePressed", x0, y0);
		for (let k = 1; k <= 8; k++)
			await this.mouse("mouseMoved", x0 + (x1 - x0) * k / 8, y0 + (y1 - y0) * k / 8, { buttons: 1 });
		await this.mouse("mouseReleased", x1, y1);
	}

	async key(key, more = {}) {
		const text = key.length === 1 ? key : undefined;
		await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, text, ...more });
		await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, ...more });
	}

	async type(text) {
		await this.send("Input.insertText", { text });
	}

	// The visible part of the page as PNG, or with `whole` all of it.
	async screenshot(file, whole) {
		const params = { format: "png" };
		if (whole) {
			const { cssContentSize } = await this.send("Page.getLayoutMetrics");
			Object.assign(params, { captureBeyondViewport: true, clip: { ...cssContentSize, x: 0, y: 0, scale: 1 } });
		}
		const { data } = await this.send("Page.captureScreenshot", params);
		fs.writeFileSync(file, Buffer.from(data, "base64"));
	}

	async pdf(file) {
		const { data } = await this.send("Page.printToPDF", { printBackground: true });
		fs.writeFileSync(file, Buffer.from(data, "base64"));
	}

	async close() {
		const gone = new Promise((resolve) => { this.child.once("exit", resolve); });
		this.session = undefined;
		this.send("Browser.close").catch(() => {});
		const timer = setTimeout(() => this.child.kill("SIGKILL"), 5000);
		await gone;
		clearTimeout(timer);
	}
}

async function openBrowser(directory) {
	const log = fs.openSync(directory + "/browser.log", "w");
	const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--mute-audio", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir=" + directory + "/profile"];
	const child = spawn("chromium", args, { stdio: ["ignore", log, log, "pipe", "pipe"], env: { ...process.env, HOME: directory } });
	child.on("error", (e) => { console.error("chromium: " + e.message); process.exit(1); });
	const browser = new Browser(child);
	await browser.attach();
	return browser;
}

module.exports = { openBrowser };
