// Records of staged writes: listed in order, named safely, approved by one approver at a time.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stagePending } from "../../src/curated/approval/pending.ts";
import { approvePending, readPendingWrites, rejectPending } from "../../src/curated/index.ts";
import { memoryTool } from "../../src/index.ts";
import { startScript } from "../fakes/child.ts";
import { MemoryHome, memoryWith, refused } from "../fakes/memory-home.ts";

it("writes staged within one millisecond are listed in the order they were staged", () => {
  const home = new MemoryHome();
  const now = new Date(2026, 0, 1);
  const ids = Array.from({ length: 12 }, (_, n) => {
    const payload = { action: "add", target: "memory", content: `text ${n}`, old_text: null } as const;
    const staged = stagePending(home.pending, { action: "add", summary: "", origin: "", payload }, now);
    return staged.ok ? staged.value.id : "";
  });
  expect(readPendingWrites(home.pending).records.map(({ id }) => id)).toEqual(ids);
});

function write(home: MemoryHome, id: string, fields: object = {}): void {
  mkdirSync(home.pending, { recursive: true });
  const payload = { action: "add", target: "memory", content: `text of ${id}`, old_text: null };
  const record = {
    id,
    subsystem: "memory",
    action: "add",
    summary: "",
    origin: "",
    created_at: 5,
    payload,
    ...fields,
  };
  writeFileSync(join(home.pending, `${id}.json`), JSON.stringify(record));
}

describe("an id", () => {
  it.each([
    "../../x",
    "../memories/MEMORY",
    "..",
    "",
    "0123abc",
    "0123abcde",
    "0123ABCD",
    "0123abcg",
    "0123abcd\n",
    "0123abcd.json",
    "/etc/passwd",
    "0123abcd\0",
  ])("such as %j is refused before it becomes part of a path", async (id) => {
    const { home, store } = await memoryWith();
    mkdirSync(home.pending, { recursive: true });
    const victim = join(home.home, "x.json");
    writeFileSync(victim, '{"id":"x","payload":{"action":"add","content":"smuggled"}}');
    refused(await approvePending(store, home.pending, id), "no_match");
    refused(rejectPending(home.pending, id), "no_match");
    expect(readFileSync(victim, "utf8")).toContain("smuggled");
    expect(home.text()).toBeUndefined();
  });

  it("that is well-formed but unknown is named in the answer", async () => {
    const home = new MemoryHome();
    const { message } = refused(
      await approvePending(await home.open(), home.pending, "0123abcd"),
      "no_match",
    );
    expect(message).toBe("No pending memory write with id '0123abcd'.");
    expect(refused(rejectPending(home.pending, "0123abcd"), "no_match").message).toBe(message);
  });
});

describe("the list", () => {
  it("is ordered by time, and names the files that make no sense", async () => {
    const home = new MemoryHome();
    write(home, "aaaaaaaa", { created_at: 30.5 });
    write(home, "bbbbbbbb", { created_at: 10 });
    write(home, "cccccccc", { created_at: 10 });
    for (const [name, text] of [
      ["dddddddd.json", "{"],
      ["eeeeeeee.json", '{"id":"ffffffff","payload":{}}'],
      ["readme.json", "{}"],
      ["11111111.json", '{"id":"11111111","payload":null}'],
      ["notes.txt", "ignored"],
    ] as const)
      writeFileSync(join(home.pending, name), text);
    const { records, skipped } = readPendingWrites(home.pending);
    expect(records.map(({ id }) => id)).toEqual(["bbbbbbbb", "cccccccc", "aaaaaaaa"]);
    expect([...skipped].sort()).toEqual(["11111111.json", "dddddddd.json", "eeeeeeee.json", "readme.json"]);
  });
});

describe("a record", () => {
  it("without a usable operation is refused and kept", async () => {
    const { home, store } = await memoryWith();
    write(home, "aaaaaaaa", {
      payload: { action: "replace", target: "memory", content: "x", old_text: null },
    });
    write(home, "bbbbbbbb", { payload: { action: "add", target: "memory", content: 7, old_text: null } });
    write(home, "cccccccc", { payload: { action: "add", target: "../x", content: "x", old_text: null } });
    refused(await approvePending(store, home.pending, "aaaaaaaa"), "bad_action");
    refused(await approvePending(store, home.pending, "bbbbbbbb"), "bad_action");
    refused(await approvePending(store, home.pending, "cccccccc"), "io");
    expect(readdirSync(home.pending).sort()).toEqual(["aaaaaaaa.json", "bbbbbbbb.json", "cccccccc.json"]);
  });

  it("that is damaged is refused, kept, and can be rejected", async () => {
    const home = new MemoryHome();
    mkdirSync(home.pending, { recursive: true });
    writeFileSync(join(home.pending, "aaaaaaaa.json"), "{");
    refused(await approvePending(await home.open(), home.pending, "aaaaaaaa"), "io");
    expect(rejectPending(home.pending, "aaaaaaaa").ok).toBe(true);
    expect(readdirSync(home.pending)).toEqual([]);
  });
});

describe("two approvers", () => {
  it("in different processes: one writes, the other finds nothing", async () => {
    const home = new MemoryHome();
    const staged = (await memoryTool(
      await home.open(),
      { action: "add", content: "only once" },
      { home: home.home, writeApproval: true },
    )) as { pending_id: string };
    const approvers = [1, 2].map(() =>
      startScript("approver.ts", [home.dir, home.pending, staged.pending_id]),
    );
    for (const approver of approvers) expect(await approver.nextLine()).toBe("ready");
    for (const approver of approvers) approver.say("go");
    const answers = await Promise.all(approvers.map((approver) => approver.rest()));
    expect(answers.flat().sort()).toEqual(["approved", "no_match"]);
    expect([home.text(), home.journal().length, readdirSync(home.pending)]).toEqual(["only once", 1, []]);
  });
});
