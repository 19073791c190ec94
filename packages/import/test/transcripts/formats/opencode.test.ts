import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { opencode } from "../../../src/transcripts/formats/opencode.ts";
import { makeFixtureHome } from "../fixture-home.ts";
import { messagesIn, plainReading, unitsBelow } from "./plain-reading.ts";

let home = "";
let path = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-opencode-"));
  await makeFixtureHome("opencode", home);
  path = join(home, ".local/share/opencode/opencode.db");
});
afterEach(() => rm(home, { recursive: true, force: true }));

const ADD_MESSAGE = `
  INSERT INTO message VALUES ('msg_0203', 'ses_02child', 1788250007000, 1788250007000, '{"role":"user"}');
  INSERT INTO part VALUES ('prt_0203', 'msg_0203', 'ses_02child', 1788250007000, 1788250007000, '{"type":"text","text":"And tests?"}');
`;

it("reads rows that are only in the write-ahead log and leaves no file beside the database", async () => {
  using writer = new DatabaseSync(path);
  writer.exec(ADD_MESSAGE);
  const before = await readdir(dirname(path));
  const { ses_02child: messages } = await messagesIn(opencode, path);
  expect(messages?.at(-1)).toMatchObject({ id: "msg_0203", text: "And tests?" });
  expect(await readdir(dirname(path))).toEqual(before);
});

it("sees what another program writes between two sessions", async () => {
  const seen: string[] = [];
  const events = opencode.read({ path }, plainReading());
  for await (const event of events) {
    if (event.kind === "end" && seen.length > 0 && !seen.includes("msg_0201")) {
      using writer = new DatabaseSync(path);
      writer.exec(ADD_MESSAGE);
    }
    if (event.kind === "message") seen.push(event.message.id ?? "");
  }
  expect(seen).toContain("msg_0203");
});

it("reads only sessions whose rows changed, also when the session's own time did not", async () => {
  const marks = new Map<string, string>();
  for await (const event of opencode.read({ path }, plainReading()))
    if (event.kind === "session") marks.set(event.facts.nativeId, event.facts.mark ?? "");
  const isUnchanged = (id: string, mark: string): boolean => marks.get(id) === mark;
  expect(await messagesIn(opencode, path, { isUnchanged })).toEqual({});
  using writer = new DatabaseSync(path);
  writer.exec("UPDATE part SET time_updated = 1788250099000 WHERE id = 'prt_0202a'");
  expect(Object.keys(await messagesIn(opencode, path, { isUnchanged }))).toEqual(["ses_02child"]);
});

it("reads sessions of the tree whose database cannot be opened, and reports the database", async () => {
  await writeFile(path, "no database");
  const units = await unitsBelow(opencode, dirname(path));
  expect(units.map((unit) => unit.path.slice(dirname(path).length + 1))).toContain(
    "storage/session/prj_shop/ses_01main.json",
  );
  await expect(messagesIn(opencode, path)).rejects.toThrow();
});
