// OpenHands: events are files, so a broken one costs only itself.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openhands } from "../../../src/transcripts/formats/openhands.ts";
import { readHome } from "../read-fixture.ts";

it("reports an event that is still being written and reads the others", async () => {
  const home = await mkdtemp(join(tmpdir(), "hermes-openhands-"));
  const events = join(home, ".openhands", "conversations", "c1", "events");
  await mkdir(events, { recursive: true });
  const said = { kind: "MessageEvent", id: "e1", llm_message: { role: "user", content: "hello" } };
  await writeFile(join(events, "event-00000-e0.json"), '{"kind":"MessageEv');
  await writeFile(join(events, "event-00001-e1.json"), JSON.stringify(said));
  const { sessions, unreadable } = await readHome(openhands, home);
  await rm(home, { recursive: true, force: true });
  expect(sessions).toMatchObject([{ facts: { nativeId: "c1" }, messages: [{ id: "e1", text: "hello" }] }]);
  const path = "~/.openhands/conversations/c1/events/event-00000-e0.json";
  expect(unreadable).toEqual([expect.stringContaining(`${path}: not valid JSON`)]);
});
