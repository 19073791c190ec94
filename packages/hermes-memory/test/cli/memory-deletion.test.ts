import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openHome } from "@hermes-memory/core/internal/memory";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { traceOf } from "../../../core/testing/session-store/gateway-records.ts";
import { MemoryStore, memoryTool } from "../../src/index.ts";
import { runHere } from "./run.ts";

const SECRET = "the harbour code is 4471";

/** A home with the text in the file, the journal, the archive, a backup and a staged write. */
async function homeWithTraces(): Promise<string> {
  const home = tempDirectory();
  const dir = join(home, "memories");
  const store = new MemoryStore({ dir, memoryCharLimit: 60, overflow: "archive" });
  await store.load();
  await store.apply("memory", { action: "add", content: `old: ${SECRET}` });
  await store.apply("memory", { action: "add", content: "x".repeat(40) });
  await store.apply("user", { action: "add", content: SECRET });
  await store.apply("user", { action: "add", content: "harmless" });
  writeFileSync(join(dir, "USER.md.bak.1700000000"), `before ${SECRET} after`);
  await memoryTool(
    store,
    { action: "add", target: "memory", content: `staged ${SECRET}` },
    { home, writeApproval: true },
  );
  return home;
}

function everything(directory: string): string {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("\n");
}

describe("hermes memory forget", () => {
  it("erases traces of recall that quote the text, of every user, and leaves conversations", async () => {
    const home = tempDirectory();
    {
      await using memory = openHome({ home });
      const store = await memory.administrator.sessions({ mode: "write", create: true });
      for (const userId of [null, "bo"]) {
        await store.createSession(`of ${userId}`, { source: "cli", userId });
        for (const injected of [`- 2026-01-01, user: ${SECRET}`, "the lamp is blue"])
          await store.turns.addRecall(traceOf(`of ${userId}`, { injected }));
      }
    }
    const refused = await runHere(["memory", "forget", SECRET], { home, answers: [false] });
    expect(refused.stderr).toContain("traces of recall  2\n");
    const done = await runHere(["memory", "forget", SECRET, "--yes", "--json"], { home });
    expect(JSON.parse(done.stdout)).toMatchObject({ success: true, recalls: { traces: 2, remaining: [] } });
    expect(readFileSync(join(home, "state.db"), "latin1")).not.toContain(SECRET);
    await using memory = openHome({ home });
    const store = await memory.administrator.sessions({ mode: "read" });
    expect((await store?.turns.listRecalls())?.map(({ injected }) => injected)).toEqual([
      "the lamp is blue",
      "the lamp is blue",
    ]);
    const again = await runHere(["memory", "forget", SECRET, "--yes", "--json"], { home });
    expect(JSON.parse(again.stdout)).not.toHaveProperty("recalls");
  });

  it("lists the traces, asks, and erases them all", async () => {
    const home = await homeWithTraces();
    const refused = await runHere(["memory", "forget", SECRET], { home, answers: [false] });
    expect(refused).toMatchObject({ code: 1, stdout: "", questions: ["Forget it everywhere?"] });
    expect(refused.stderr.split("\n")).toEqual([
      "This cannot be undone. It deletes:",
      "journal lines  3",
      "archived       1",
      "backups        1",
      "pending        1",
      "",
      "entries (1)",
      "  target  entry",
      `  user    ${SECRET}`,
      "Cancelled.",
      "",
    ]);
    expect(everything(home)).toContain(SECRET);
    const done = await runHere(["memory", "forget", SECRET], { home, answers: [true] });
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(/^Forgotten:\njournal lines {2}3\n/);
    expect(everything(home)).not.toContain(SECRET);
    expect(readFileSync(join(home, "memories", "USER.md"), "utf8")).toBe("harmless");
    expect((await runHere(["memory", "explain", SECRET], { home })).stdout).toBe("Never seen here.\n");
  });

  it("with --dir the staged writes of the home stay", async () => {
    const home = await homeWithTraces();
    const dir = join(home, "memories");
    await runHere(["memory", "forget", SECRET, "--yes", "--dir", dir], { home });
    expect(everything(dir)).not.toContain(SECRET);
    expect(everything(join(home, "pending"))).toContain(SECRET);
  });
});

describe("hermes memory reset", () => {
  it("lists the files, asks, deletes, and undo brings them back", async () => {
    const home = tempDirectory();
    await runHere(["memory", "add", "alpha"], { home });
    await runHere(["memory", "add", "-t", "user", "beta"], { home });
    const file = join(home, "memories", "MEMORY.md");
    const refused = await runHere(["memory", "reset"], { home, answers: [false] });
    expect(refused).toMatchObject({ code: 1, stdout: "", questions: ["Delete?"] });
    expect(refused.stderr).toBe(
      `To be deleted in ${join(home, "memories")}:\nname       bytes\nMEMORY.md  5 B\nUSER.md    4 B\nCancelled.\n`,
    );
    expect(existsSync(file)).toBe(true);

    const done = await runHere(["memory", "reset"], { home, answers: [true] });
    expect(done.stdout).toMatch(
      /^Deleted MEMORY\.md and USER\.md\. 'hermes memory undo ([0-9a-f]{8})' and 'hermes memory undo [0-9a-f]{8}' brings it back\.\n/,
    );
    expect(existsSync(file)).toBe(false);
    const id = /undo ([0-9a-f]{8})/.exec(done.stdout)?.[1] ?? "";
    expect((await runHere(["memory", "undo", id], { home })).code).toBe(0);
    expect(readFileSync(file, "utf8")).toBe("alpha");
  });

  it("a file that cannot be journalled is left to --purge", async () => {
    const home = tempDirectory();
    mkdirSync(join(home, "memories"));
    const file = join(home, "memories", "MEMORY.md");
    writeFileSync(file, Buffer.from([0xff, 0xfe]));
    const stuck = await runHere(["memory", "reset", "--yes"], { home });
    expect(stuck.code).toBe(1);
    expect(stuck.stderr).toContain("'hermes memory reset --purge' deletes it unread");
    expect(existsSync(file)).toBe(true);
    expect((await runHere(["memory", "reset", "--purge", "--yes"], { home })).code).toBe(0);
    expect(existsSync(file)).toBe(false);
  });

  it("--purge deletes the text behind a link, not the link", async () => {
    const home = tempDirectory();
    mkdirSync(join(home, "memories"));
    writeFileSync(join(home, "real.md"), "alpha");
    symlinkSync(join(home, "real.md"), join(home, "memories", "MEMORY.md"));
    const { stdout } = await runHere(["memory", "reset", "--purge", "--yes"], { home });
    expect(stdout).toContain(join(home, "real.md"));
    expect(existsSync(join(home, "real.md"))).toBe(false);
    expect(readdirSync(join(home, "memories"))).toContain("MEMORY.md");
  });
});
