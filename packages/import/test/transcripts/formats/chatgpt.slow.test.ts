// A large export is read conversation by conversation, so memory does not grow with the file.
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, it } from "vitest";
import { chatgpt } from "../../../src/transcripts/formats/chatgpt.ts";
import { OFF, plainReading } from "./plain-reading.ts";

const MIB = 1024 ** 2;
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hermes-large-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("300 MB within 150 MiB of memory", { timeout: 120_000 }, async () => {
  const path = join(folder, "conversations.json");
  const file = openSync(path, "w");
  let conversations = 0;
  for (let bytes = 0; bytes < 300e6; conversations++) {
    const text = JSON.stringify(conversation(`c${conversations}`));
    bytes += writeSync(file, `${conversations === 0 ? "[" : ",\n"}${text}`);
  }
  writeSync(file, "]");
  closeSync(file);

  const problem = (reason: string): never => expect.unreachable(reason);
  const reading = plainReading({
    options: OFF,
    malformed: (_, reason) => problem(reason),
    unknown: problem,
    unreadable: (_, reason) => problem(reason),
  });
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  // Without garbage: this process runs other tests too.
  const used = (): number => {
    collect();
    return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  };
  const before = used();
  let [sessions, most] = [0, 0];
  for await (const event of chatgpt.read({ path }, reading)) {
    if (event.kind !== "session") continue;
    sessions += 1;
    if (sessions % 50 === 0) most = Math.max(most, used() - before);
  }
  expect(sessions).toBe(conversations);
  expect(most / MIB).toBeLessThan(150);
});

function conversation(id: string): object {
  const mapping: Record<string, object> = {};
  for (let place = 0; place < 100; place++) {
    const name = `${id}-${place}`;
    mapping[name] = {
      id: name,
      parent: place === 0 ? null : `${id}-${place - 1}`,
      message: {
        id: name,
        author: { role: place % 2 === 0 ? "user" : "assistant" },
        create_time: 1_788_250_000 + place,
        content: { content_type: "text", parts: ["a sentence about the build ".repeat(100)] },
      },
    };
  }
  return { conversation_id: id, title: id, mapping, current_node: `${id}-99` };
}
