// SPDX-License-Identifier: MIT
// A menu server. `/menu` is small. `/import` parses a catalogue of all menus, so large that JSON.parse() takes about
// as long as the second argument says, in ms. The first argument is the path of the socket.
"use strict";

const http = require("http");

const [path, parseMs] = process.argv.slice(2);

// An array of n menus, as text.
function catalogueText(n) {
	const menus = [];

	for (let i = 0; i < n; i++)
		menus.push(`{"id":${i},"name":"menu ${i}","dishes":["soup","roast","cake"],"price":${i % 97}.5}`);
	return `[${menus.join(",")}]`;
}

function importCatalogue(text) {
	return JSON.parse(text).length;
}

// As many menus as are parsed in that time on this machine.
function catalogueFor(ms) {
	const probe = 40000, text = catalogueText(probe);

	importCatalogue(text);
	const began = performance.now();
	importCatalogue(text);
	return catalogueText(Math.round(probe * ms / (performance.now() - began)));
}

const catalogue = catalogueFor(Number(parseMs));

http.createServer((request, response) => {
	const body = request.url === "/import" ? importCatalogue(catalogue) : "soup, roast, cake";

	response.end(`${body}\n`);
}).listen(path);
