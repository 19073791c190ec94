// The first example: two runs, and the second knows what was said in the first.
import assert from "node:assert/strict";
import { node, stage } from "../kit.ts";

const cwd = stage("examples/first-memory");
assert.equal(await node(["index.ts"], { cwd }), "So far you said: I live in Lisbon.\n");
const second = await node(["index.ts", "Where do I live?"], { cwd });
assert.equal(second, "So far you said: I live in Lisbon. / Where do I live?\n");
console.log("two runs, one chat");
