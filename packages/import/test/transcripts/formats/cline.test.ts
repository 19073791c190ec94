import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { cline, roo } from "../../../src/transcripts/formats/cline.ts";
import { DEFAULT_PREPARE, prepared } from "../../../src/transcripts/prepare.ts";
import { importInto, openEmptyStore } from "../import-suite.ts";
import { readHome } from "../read-fixture.ts";
import { eventsOf, textsOf } from "./reading.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "hermes-cline-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it("reads a task again later when its file is being written", async () => {
  const path = join(folder, "api_conversation_history.json");
  await writeFile(path, '[{"role":"user","content":"add a ret');
  await expect(eventsOf(roo, folder)).rejects.toThrow("still being written");
  await writeFile(path, '[{"role":"user","content":"add a retry"}]');
  expect(textsOf(await eventsOf(roo, path))).toEqual(["add a retry"]);
});

it("reads a session whose subagent is being written", async () => {
  const session = join(folder, "1788255000000_a");
  await mkdir(session);
  const messages = [{ id: "m1", role: "user", content: "add a retry" }];
  await writeFile(join(session, "1788255000000_a.messages.json"), JSON.stringify({ messages }));
  await writeFile(join(session, "agent_1.messages.json"), '{"messages":[{"id":');
  const unreadable: string[] = [];
  const events = await eventsOf(cline, folder, { unreadable: (path) => void unreadable.push(path) });
  expect(textsOf(events)).toEqual(["add a retry"]);
  expect(unreadable).toEqual([join(session, "agent_1.messages.json")]);
});

it("unwraps the task although notes for the model and images follow it", async () => {
  const texts = ["<task>\nadd a retry\n</task>", "# Hints\nKeep a list.", "<environment_details>\nx"];
  const content = [...texts.map((text) => ({ type: "text", text })), { type: "image", source: {} }];
  await writeFile(
    join(folder, "api_conversation_history.json"),
    JSON.stringify([
      { role: "user", content: content.toSpliced(2, 1) },
      { role: "user", content: texts[2] },
    ]),
  );
  expect(textsOf(await eventsOf(roo, folder))).toEqual(["add a retry\n\n# Hints\nKeep a list.\n\n[image]"]);
});

it("keeps reasoning that stands in a block of its own", async () => {
  const content = [
    { type: "reasoning", text: "The client has no timeout." },
    { type: "text", text: "Done." },
  ];
  await writeFile(
    join(folder, "api_conversation_history.json"),
    JSON.stringify([{ role: "assistant", content }]),
  );
  const { sessions, unknown } = await readHome(roo, folder, { path: folder });
  expect(sessions[0]?.messages[0]).toMatchObject({ text: "Done.", reasoning: "The client has no timeout." });
  expect(unknown).toEqual({});
});

it("keeps what a tool returned as records, and takes the mode off the prompt", async () => {
  const session = join(folder, "1788255000000_c");
  await mkdir(session);
  const [query, unknown]: [object, string[]] = [{ query: "echo ok", result: "ok", success: true }, []];
  const messages = [
    {
      id: "m1",
      role: "user",
      content: [{ type: "text", text: '<user_input mode="act">run it</user_input>' }],
    },
    { id: "m2", role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: [query] }] },
  ];
  await writeFile(join(session, "1788255000000_c.messages.json"), JSON.stringify({ messages }));
  const events = await eventsOf(cline, folder, { unknown: (type) => void unknown.push(type) });
  const rows = events.flatMap((event) => (event.kind === "message" ? [event.message] : []));
  expect(rows.map((row) => prepared(row, DEFAULT_PREPARE)?.content)).toEqual([
    "run it",
    JSON.stringify([query]),
  ]);
  expect(unknown).toEqual([]);
});

it("keeps a task that begins like a text of the extension", async () => {
  const content = "<task>\n[ERROR] no such file: what is wrong?\n</task>";
  await writeFile(join(folder, "api_conversation_history.json"), JSON.stringify([{ role: "user", content }]));
  expect(textsOf(await eventsOf(roo, folder))).toEqual(["[ERROR] no such file: what is wrong?"]);
});

it("imports a fork that has a subagent", async () => {
  const session = join(folder, "sessions", "1788255000000_b");
  await mkdir(session, { recursive: true });
  const write = (name: string, value: object) => writeFile(join(session, name), JSON.stringify(value));
  const message = { id: "m1", role: "user", content: "add a retry" };
  await write("1788255000000_b.json", {
    session_id: "1788255000000_b",
    metadata: { fork: { forkedFromSessionId: "1788255000000_a" } },
  });
  await write("1788255000000_b.messages.json", { messages: [message] });
  await write("agent_1.messages.json", { messages: [{ ...message, id: "k1" }] });
  await using store = await openEmptyStore(folder);
  const report = await importInto(store, cline, folder, { path: join(folder, "sessions") });
  expect(report).toMatchObject({ sessionsAdded: 2, errors: [] });
});

it("takes a file for the extension that its path names", () => {
  const sample = (path: string) => ({ path, head: new Uint8Array(), first: {} });
  const inRoo = sample("/home/ana/globalStorage/rooveterinaryinc.roo-cline/tasks/1/ui_messages.json");
  expect([cline.recognises(inRoo), roo.recognises(inRoo)]).toEqual([false, true]);
  const anywhere = sample("/home/ana/backup/1788250000000/ui_messages.json");
  expect([cline.recognises(anywhere), roo.recognises(anywhere)]).toEqual([true, false]);
});
