import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { placeBrv } from "../fakes/brv.ts";
import { recall, startProvider } from "./started.ts";

const QUESTION = "what is the database port";
const NOTES = ["The database port is 5433.", "The cache port is 6380."];
const FOUND =
  "## ByteRover Context\n**Title of note-1.md** (note-1.md)\nThe database port is 5433.\n\n" +
  "**Title of note-2.md** (note-2.md)\nThe cache port is 6380.";

describe("recall from ByteRover", () => {
  it("searches the tree by words, in the provider's directory, without input", async () => {
    const { provider, brv, directory } = startProvider({ notes: NOTES });
    expect(await recall(provider, `  ${QUESTION}\n`)).toBe(FOUND);
    expect(brv.calls()).toMatchObject([
      {
        argv: ["search", "--format", "json", "--limit", "5", "--", QUESTION],
        cwd: directory,
        path: [brv.bin, brv.env.PATH].join(delimiter),
        stdin: "closed",
      },
    ]);
  });

  it("is empty, without a process, for short messages and in the mode of tools", async () => {
    const { provider, brv } = startProvider({ notes: NOTES });
    expect(await recall(provider, "  123456789 ")).toBe("");
    const tools = startProvider({ notes: NOTES, settings: { mode: "tools" } });
    expect(await recall(tools.provider, QUESTION)).toBe("");
    expect([...brv.calls(), ...tools.brv.calls()]).toEqual([]);
  });

  it("is empty, without a process, until there is a tree: brv would search a directory above", async () => {
    const { provider, brv, directory } = startProvider();
    expect(await recall(provider, QUESTION)).toBe("");
    expect(brv.calls()).toEqual([]);
    mkdirSync(directory);
    writeFileSync(join(directory, ".brv"), '{"projectRoot":"/elsewhere"}');
    await recall(provider, QUESTION);
    expect(brv.calls()).toHaveLength(1);
  });

  it("ignores notices around the answer", async () => {
    const { provider } = startProvider({ notes: NOTES, plan: { mode: "noisy" } });
    expect(await recall(provider, QUESTION)).toBe(FOUND);
  });

  it.each([
    ["an error that comes with exit code 0", "offline", "Failed to connect to the daemon. Port: 49152"],
    ["a lost connection", "lost", "Daemon disconnected"],
    ["half an answer", "half", "ended before it was done"],
    ["an answer that is no JSON", "text", "3.14"],
    ["no answer", "quiet", "3.14"],
    ["a crash", "crash", "something broke"],
  ] as const)("never contains %s", async (_what, mode, message) => {
    const { provider } = startProvider({ notes: NOTES, plan: { mode } });
    await expect(recall(provider, QUESTION)).rejects.toThrow(message);
  });

  it("fails at the time limit", async () => {
    const limits = { prefetchMs: 400 };
    const { provider } = startProvider({ notes: NOTES, plan: { mode: "hang" }, options: { limits } });
    await expect(recall(provider, QUESTION)).rejects.toThrow("brv timed out after 0.4s");
  });

  it("ends when the caller aborts, which does not count as a failure of brv", async () => {
    const { provider, brv } = startProvider({
      notes: NOTES,
      plan: { mode: "hang" },
      options: { limits: { breakerFailures: 1 } },
    });
    const controller = new AbortController();
    const pending = recall(provider, QUESTION, controller.signal);
    await brv.called(1);
    controller.abort();
    await expect(pending).rejects.toThrow("called off");
    brv.plan({});
    expect(await recall(provider, QUESTION)).toBe(FOUND);
  });

  it("leaves brv alone for two minutes after two failures in a row, then tries once", async () => {
    let nowMs = Date.UTC(2026, 5, 1);
    const clock = { now: () => new Date(nowMs) };
    const { provider, brv } = startProvider({ notes: NOTES, plan: { mode: "offline" }, options: { clock } });
    await expect(recall(provider, QUESTION)).rejects.toThrow();
    await expect(recall(provider, QUESTION)).rejects.toThrow();
    expect(await recall(provider, QUESTION)).toBe("");
    nowMs += 119_999;
    expect(await recall(provider, QUESTION)).toBe("");
    expect(brv.calls()).toHaveLength(2);
    nowMs += 1;
    await expect(recall(provider, QUESTION)).rejects.toThrow();
    expect(await recall(provider, QUESTION)).toBe("");
    nowMs += 120_000;
    brv.plan({});
    expect(await recall(provider, QUESTION)).toBe(FOUND);
    expect(await recall(provider, QUESTION)).toBe(FOUND);
    expect(brv.calls()).toHaveLength(5);
  });

  it("finds brv again when it moved, and says that it is missing when it is gone", async () => {
    const { provider, brv } = startProvider({ notes: NOTES });
    await recall(provider, QUESTION);
    rmSync(join(brv.bin, "brv"));
    const elsewhere = join(brv.userHome, ".brv-cli", "bin");
    placeBrv(elsewhere, brv.userHome);
    expect(await recall(provider, QUESTION)).toBe(FOUND);
    expect(brv.calls()[1]?.path.startsWith(elsewhere)).toBe(true);
    rmSync(elsewhere, { recursive: true });
    await expect(recall(provider, QUESTION)).rejects.toThrow(
      "brv CLI not found. Install: npm install -g byterover-cli",
    );
  });
});
