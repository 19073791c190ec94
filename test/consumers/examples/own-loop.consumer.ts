// The own loop: a tool call adds an entry, the chat is compacted, and it still knows what it is about.
import assert from "node:assert/strict";
import { node, stage } from "../kit.ts";

const cwd = stage("examples/own-loop");
const lines = (await node(["index.ts"], { cwd })).trimEnd().split("\n");
assert.match(lines[0] ?? "", /^Noted as \S+\.$/);
const compactions = lines.filter((line) => /^\(compacted from \d+ to \d+ tokens\)$/.test(line));
assert.ok(compactions.length > 0, lines.join("\n"));
assert.equal(lines.at(-2), "Vesuvius");
assert.equal(lines.at(-1), "entries: [ 'The user says: my kiln is called Vesuvius' ]");
console.log(`a tool call, ${compactions.length} compaction(s)`);
