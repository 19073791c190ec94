// Hermes Agent at schema 30 on files that we have written to, replayed by a script in test/golden with Python's SQLite: it finds
// nothing to repair, its indexes are exact, and we changed nothing of its own.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSessionStore, type SessionStore } from "../../../src/sessions/index.ts";
import { newPath } from "../../fakes/session-index.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";
import { copyOf, readAnswers } from "../../golden/session-databases.ts";
import { referenceReplay30 } from "../../golden/vectors.ts";

const whyNot = whyNoReplay();
if (whyNot !== undefined) console.warn(`Today's original is not replayed: ${whyNot}.`);
const golden =
  whyNot === undefined ? readAnswers<object>("intermediate.expected.json", "sessions-db-v30") : undefined;

type Make = () => string;
const created: Make = () => {
  const path = newPath();
  reportOf("create", path);
  return path;
};
const later =
  (make: Make): Make =>
  () => {
    const path = make();
    reportOf("future", path);
    return path;
  };
const copied =
  (name: string): Make =>
  () =>
    copyOf(name, "sessions-db-v30");

const FILES: readonly [string, Make][] = [
  ["a new file", created],
  ["a new file of a later version", later(created)],
  ...(golden === undefined
    ? []
    : ([
        ...[
          "state.db",
          "legacy-index-v30.db",
          "storage1-v26.db",
          "storage1-opened-by-v30.db",
          "before-v16.db",
        ].map((name) => [name, copied(name)] as const),
        ["state.db of a later version", later(copied("state.db"))],
      ] as [string, Make][])),
];

describe.skipIf(whyNot !== undefined).each(FILES)("%s", (_name, make) => {
  it("is as it was after every kind of write, and the original goes on with it", async () => {
    const path = make();
    const before = fingerprint(path);
    {
      await using store = await openSessionStore({ path });
      expect(store.readOnly).toBe(false);
      await writeOfEveryKind(store, "one");
    }
    expectOk(reportOf("check", path, before));
    expectOk(reportOf("replay", path));
    expectOk(reportOf("replay", path, "--keep"));
    const between = fingerprint(path);
    {
      await using store = await openSessionStore({ path });
      await writeOfEveryKind(store, "two");
    }
    expectOk(reportOf("check", path, between));
    expectOk(reportOf("replay", path));
  });

  it("is shared: the original works while our store has it open", async () => {
    const path = make();
    await using store = await openSessionStore({ path });
    await writeOfEveryKind(store, "one");
    expectOk(reportOf("replay", path, "--keep"));
    const before = fingerprint(path);
    await writeOfEveryKind(store, "two");
    expectOk(reportOf("check", path, before));
    expectOk(reportOf("replay", path, "--keep"));
  });
});

/** Plain text only: the check cannot tell what another SQLite has indexed of structured content (docs/formats/database.md). */
async function writeOfEveryKind(store: SessionStore, name: string): Promise<void> {
  const user = (content: string) => ({ role: "user", content });
  const call = { role: "assistant", content: "", toolCalls: [{ id: "c1", function: { name: "grep" } }] };
  const holder = `pid=${process.pid}:host=here:nonce=${name}`;
  const id = `ours-${name}`;
  await store.createSession(id, { source: "cli", systemPrompt: `prompt of ${name}` });
  await store.acquireSessionLease(id, holder);
  const lease = { leaseHolder: holder };
  await store.appendMany(
    id,
    [user("a lanternfish question"), call, { role: "tool", content: "x".repeat(9000) }],
    lease,
  );
  const second = await store.appendMessage(id, user("and another"));
  await store.rewindToMessage(id, second, lease);
  await store.restoreRewound(id, second, lease);
  await store.undoTurns(id, 1, lease);
  await store.replaceMessages(
    id,
    [user("rewritten"), { role: "assistant", content: "琥珀灯塔的部署方案" }],
    lease,
  );
  await store.setSessionTitle(id, `Title ${name}`);
  await store.saveOwnPrompt(id, "another prompt", 1);
  await store.tryAcquireCompressionLock(id, holder);
  const tip = await store.continueSession(id, {
    lockHolder: holder,
    messages: [user("[CONTEXT SUMMARY]: of it")],
  });
  await store.releaseCompressionLock(id, holder);
  await store.releaseSessionLease(id, holder);
  await store.appendMessage(tip.id, user("in the continuation"));
  await store.createSession(`${id}-run`, {
    source: "subagent",
    parentSessionId: tip.id,
    modelConfig: { _delegate_from: tip.id },
  });
  await store.appendMessage(`${id}-run`, user("work for a subagent 琥珀灯塔"));
  const branch = await store.branchSession(tip.id, { title: `Branch ${name}` });
  await store.setSessionArchived(tip.id, true);
  await store.endSession(branch.id, "session_reset");
  // Also rows of Hermes Agent, if no process runs a turn in them.
  for (const session of await store.listSessionsRich({ limit: 5, orderByLastActive: true })) {
    if ((await store.getSessionLease(session.id)) !== null || session.source === "cron") continue;
    await store.appendMessage(session.id, user(`of ${name} for another program`));
    await store.undoTurns(session.id, 1);
    await store.restoreRewound(session.id, 1);
  }
  expect(await store.deleteSessions([branch.id, tip.id])).toBe(2); // and the subagent's run
  expect(await store.getSession(`${id}-run`)).toBeNull();
}

function fingerprint(path: string): string {
  const file = join(tempDirectory(), "before.json");
  const { stdout, stderr, status } = run("fingerprint", path);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  writeFileSync(file, stdout);
  return file;
}

type Report = {
  readonly ok: boolean;
  readonly steps: readonly { readonly ok: boolean; readonly step: string }[];
};

function reportOf(...args: readonly string[]): Report {
  const { stdout, stderr } = run(...args);
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Report;
}

function expectOk({ ok, steps }: Report): void {
  expect({ ok, failed: steps.filter((step) => !step.ok) }).toEqual({ ok: true, failed: [] });
}

function run(...args: readonly string[]) {
  return spawnSync("python3", [referenceReplay30, ...args], { encoding: "utf8" });
}

function whyNoReplay(): string | undefined {
  if (spawnSync("python3", ["-c", "import sqlite3"]).status !== 0)
    return "there is no python3 with SQLite here";
  return undefined;
}
