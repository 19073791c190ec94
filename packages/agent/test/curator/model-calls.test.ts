import { approvePending, readPendingWrites } from "@hermes-memory/core/internal/curated";
import { pendingWritesDirectory } from "@hermes-memory/core/internal/home";
import { describe, expect, it } from "vitest";
import { done } from "../../../core/test/fakes/memory-home.ts";
import { jsonIn, ModelCalls } from "../../src/curator/model-calls.ts";
import { CuratorHome, fakeModel, gist } from "./curator-home.ts";

const ENTRIES = [
  "The project uses pnpm for package management",
  "Package management in the project is done with pnpm, never yarn",
  "Deploys on Monday",
  "Deploys on Friday",
  "The office is in Graz",
];
const MERGED = "The project uses pnpm for package management, never yarn";
const MERGE = { merge: [{ entries: [1, 2], text: MERGED }], contradictions: [], outdated: [] };

async function home(...more: string[]): Promise<CuratorHome> {
  const made = await CuratorHome.make();
  made.remember(...ENTRIES, ...more);
  return made;
}

describe("a model that helps", () => {
  it("has its merge staged, also in a run that applies: one change, which a rollback takes back", async () => {
    const place = await home();
    const before = place.memory;
    const run = await place.run({ mode: "apply", model: fakeModel(MERGE) });
    expect(gist(run)).toEqual([`merge: ${ENTRIES[0]} | ${ENTRIES[1]} => ${MERGED}`]);
    expect(run.decided).toMatchObject([{ outcome: { kind: "staged" } }]);
    expect(place.memory).toBe(before);
    const directory = pendingWritesDirectory(place.home);
    for (const { id } of readPendingWrites(directory).records)
      done(await approvePending(await place.store(), directory, id));
    expect(place.memory.split("\n§\n")).toEqual([MERGED, ...ENTRIES.slice(2)]);
    const [line] = (await place.store()).history();
    expect(line).toMatchObject({ action: "group", group: run.id });
    await place.rollBack();
    expect(place.memory).toBe(before);
  });

  it("sees neither what the rules take away nor a question about a single entry", async () => {
    const place = await CuratorHome.make();
    place.remember("Uses pnpm", "uses pnpm.");
    const model = fakeModel(MERGE);
    await place.run({ model });
    expect(model.prompts).toEqual([]);
  });
});

describe("a model that lies", () => {
  it("cannot merge the entry that vouches for one that goes", async () => {
    const place = await home("Deploys on Friday.");
    const text = "Deploys on Friday and Monday";
    const run = await place.run({ model: fakeModel({ merge: [{ entries: [3, 4], text }] }) });
    expect(gist(run)).toEqual(["duplicate: Deploys on Friday."]);
    expect(run.model.dropped).toEqual(["pinned"]);
  });
});

describe("a model that fails", () => {
  it.each([
    ["says nothing", ""],
    ["chats", "Sure! Here is what I would do: nothing."],
    ["sends another shape", { result: "ok" }],
    ["sends a list", [1, 2, 3]],
    ["sends half of a reply", '{"merge": [{"entries": [1, 2], "te'],
    ["breaks down", new Error("the server is on fire")],
  ])("because it %s costs a note and two calls at most; the rules work on", async (_name, reply) => {
    const place = await home("deploys on Monday");
    const run = await place.run({ mode: "apply", model: fakeModel(reply) });
    expect(gist(run)).toEqual(["duplicate: deploys on Monday"]);
    expect(run.notes).toMatchObject([expect.stringContaining("no usable answer")]);
    expect(run.model.calls).toBeLessThanOrEqual(2);
  });

  it("is heard when its second reply makes sense", async () => {
    const place = await home();
    expect(gist(await place.run({ model: fakeModel("hm", MERGE) }))).toHaveLength(1);
  });

  it("and takes no notice of the signal is left behind in time", async () => {
    const place = await home();
    const model = { complete: () => new Promise<string>(() => {}) };
    const run = await place.run({ model, callTimeoutMs: 20 });
    expect(run.notes).toMatchObject([expect.stringContaining("did not answer in time")]);
  });

  it("is asked at most 60 times in a run", async () => {
    const model = fakeModel({ merge: [] });
    const calls = new ModelCalls(model, 1_000, new AbortController().signal);
    const asked = Array.from({ length: 100 }, () =>
      calls.ask({ system: "", prompt: "?", read: (value) => value }),
    );
    const answers = await Promise.all(asked);
    expect(answers.filter(({ ok }) => ok)).toHaveLength(60);
    expect(answers.at(-1)).toMatchObject({ ok: false, error: { kind: "used-up" } });
    expect(model.prompts).toHaveLength(60);
  });

  it("is not asked any more when it has failed three times in a row", async () => {
    const model = fakeModel("nonsense");
    const calls = new ModelCalls(model, 1_000, new AbortController().signal);
    for (let index = 0; index < 5; index += 1)
      await calls.ask({ system: "", prompt: "?", read: () => undefined });
    expect(model.prompts).toHaveLength(3);
  });

  it("stops with the run when the user stops it, and leaves a run that can be found", async () => {
    const place = await home("deploys on Monday");
    const stop = new AbortController();
    const model = {
      complete: () => {
        stop.abort();
        return new Promise<string>(() => {});
      },
    };
    await expect(place.run({ mode: "apply", model, signal: stop.signal })).rejects.toThrow("aborted");
    expect(Object.values(place.files("logs")).join()).toContain('"status": "stopped"');
    expect(gist(await place.run({ mode: "apply" }))).toHaveLength(1); // the lock is free again
  });
});

describe("JSON in a reply", () => {
  it.each([
    ['{"a": 1}', { a: 1 }],
    ['Here:\n```json\n{"a": 1}\n```\nDone.', { a: 1 }],
    ['I think {"a": 1} is it', { a: 1 }],
    ["no", undefined],
    ["3", undefined],
    ["", undefined],
  ])("%j", (reply, value) => {
    expect(jsonIn(reply)).toEqual(value);
  });
});
