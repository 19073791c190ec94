// Databases that Hermes Agent made or goes on with: an import changes nothing of what is Hermes', which can still use the file.
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { expect, it } from "vitest";
import { copyOf, readAnswers } from "../../../core/test/golden/session-databases.ts";
import { referenceReplay, referenceReplay30 } from "../../../core/test/golden/vectors.ts";
import { readerNamed } from "../../src/internal.ts";
import { line, linesOf, writeClaude } from "./claude-lines.ts";
import { importInto, temporaryFolder } from "./import-suite.ts";

const hasPython = spawnSync("python3", ["--version"]).status === 0;

function failures(script: string, ...args: readonly string[]): unknown {
  const { stdout, stderr } = spawnSync("python3", [script, ...args], { encoding: "utf8" });
  if (stdout === "") throw new Error(stderr);
  const { steps } = JSON.parse(stdout) as { steps: { step: string; ok: boolean }[] };
  return steps.filter(({ ok }) => !ok);
}

async function importTwice(folder: string, path: string): Promise<void> {
  const reader = readerNamed("claude-code");
  if (reader === undefined) throw new Error("no reader");
  await using store = await openSessionStore({ path });
  await writeClaude(folder, "s", linesOf("s", 6));
  expect(await importInto(store, reader, folder)).toMatchObject({ sessionsAdded: 1, messagesAdded: 6 });
  // The second time it grows and takes another course.
  await writeClaude(folder, "s", [...linesOf("s", 3), line("s", 4, "a marmot", { parentUuid: "s-2" })]);
  expect(await importInto(store, reader, folder)).toMatchObject({ sessionsUpdated: 1, messagesAdded: 1 });
  expect(await store.searchMessages("marmot", { limit: 5 })).toHaveLength(1);
}

it.skipIf(!hasPython)("today's Hermes finds its own untouched and goes on with the file", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "state.db");
  expect(failures(referenceReplay30, "create", path)).toEqual([]);
  const before = join(folder.path, "before.json");
  const { stdout } = spawnSync("python3", [referenceReplay30, "fingerprint", path], { encoding: "utf8" });
  await writeFile(before, stdout);
  await importTwice(folder.path, path);
  expect(failures(referenceReplay30, "check", path, before)).toEqual([]);
  expect(failures(referenceReplay30, "replay", path, "--keep")).toEqual([]);
});

const hasJune = hasPython && readAnswers<object>("expected.json") !== undefined;

it.skipIf(!hasJune)("June's Hermes goes on with its own file, and the imports stay", async () => {
  await using folder = await temporaryFolder();
  const path = copyOf("state.db");
  await importTwice(folder.path, path);
  expect(failures(referenceReplay, path, "--keep")).toEqual([]);
  await using store = await openSessionStore({ path });
  expect(await store.getMessages("claude-code-s")).toHaveLength(4);
});
