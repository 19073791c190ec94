// What the fixture of Hermes cannot show: times without a zone, and a gateway transcript that grows.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { hermes } from "../../../src/transcripts/formats/hermes.ts";
import { readHome } from "../read-fixture.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-own-files-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

it("reports a snapshot that is no session", async () => {
  await writeFile(join(home, "session_x.json"), "[]");
  await expect(readHome(hermes, home, { path: home })).rejects.toThrow("not a snapshot of a Hermes session");
});

it.each([
  [{ role: "session_meta", model: "m" }, true],
  [{ session_id: "s", session_start: "2026-03-04", messages: [] }, true],
  [{ id: "s", source: "cli", started_at: 1, messages: [] }, true],
  [{ role: "user", content: "x" }, false],
  [{ id: "s", messages: [] }, false],
])("recognises its files: %j", (first, isOurs) => {
  expect(hermes.recognises({ path: "x", head: new Uint8Array(), first })).toBe(isOurs);
});
