import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { goose } from "../../../src/transcripts/formats/goose.ts";
import { makeFixtureHome } from "../fixture-home.ts";
import { messagesIn, plainReading } from "./plain-reading.ts";

let home = "";
let path = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-goose-"));
  await makeFixtureHome("goose", home);
  path = join(home, ".local/share/goose/sessions/sessions.db");
});
afterEach(() => rm(home, { recursive: true, force: true }));

it("reads only sessions that changed", async () => {
  const marks = new Map<string, string>();
  for await (const event of goose.read({ path }, plainReading()))
    if (event.kind === "session") marks.set(event.facts.nativeId, event.facts.mark ?? "");
  const isUnchanged = (id: string, mark: string): boolean => marks.get(id) === mark;
  expect(await messagesIn(goose, path, { isUnchanged })).toEqual({});
  using writer = new DatabaseSync(path);
  writer.exec("DELETE FROM messages WHERE message_id = 'msg_j'");
  expect(Object.keys(await messagesIn(goose, path, { isUnchanged }))).toEqual(["20260901_2"]);
});

it("reads the tables of an older version, which lack most columns", async () => {
  using writer = new DatabaseSync(path);
  for (const column of ["name", "session_type", "provider_name", "model_config_json", "updated_at"])
    writer.exec(`ALTER TABLE sessions DROP COLUMN ${column}`);
  for (const column of ["message_id", "metadata_json"])
    writer.exec(`ALTER TABLE messages DROP COLUMN ${column}`);
  const sessions = await messagesIn(goose, path);
  expect(sessions["20260901_3"]).toMatchObject([{ id: "row-13", text: "Write the nightly report" }]);
});
