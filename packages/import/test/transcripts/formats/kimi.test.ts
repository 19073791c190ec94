import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { kimi } from "../../../src/transcripts/formats/kimi.ts";
import { makeFixtureHome } from "../fixture-home.ts";
import { messagesIn } from "./plain-reading.ts";

let home = "";
let path = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-kimi-"));
  await makeFixtureHome("kimi", home);
  path = join(home, ".kimi-code/sessions/wd_shop_0a1b2c3d4e5f/session_k1/agents/main/wire.jsonl");
});
afterEach(() => rm(home, { recursive: true, force: true }));

it("keeps the id of a step while it grows", async () => {
  const { session_k1: before } = await messagesIn(kimi, path);
  const lines = (await readFile(path, "utf8")).split("\n").slice(0, -1);
  const more = { type: "content.part", stepUuid: "s5", part: { type: "text", text: "times." } };
  await writeFile(
    path,
    [
      ...lines,
      JSON.stringify({ type: "context.append_loop_event", event: more, time: 1788249803000 }),
      "",
    ].join("\n"),
  );
  const { session_k1: after } = await messagesIn(kimi, path);
  expect(after?.map(({ id }) => id)).toEqual(before?.map(({ id }) => id));
  expect(after?.at(-1)?.text).toBe("Added: uploads are tried three\n\ntimes.");
});
