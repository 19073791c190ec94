// Files written by other programs: tidied when that loses nothing, else the write is refused and the file backed up.
import { readFileSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { MemoryOp, MemoryTarget } from "../../src/index.ts";
import { addAll, done, MemoryHome, memoryWith, refused } from "../fakes/memory-home.ts";

const OPS: MemoryOp[] = [
  { action: "add", content: "new" },
  { action: "replace", oldText: "a", content: "other" },
  { action: "remove", oldText: "a" },
];

async function homeWith(text: string | Uint8Array, target: MemoryTarget = "memory"): Promise<MemoryHome> {
  const home = new MemoryHome();
  await home.open();
  home.write(text, target);
  return home;
}

describe("a hand-edited file is tidied by the next write", () => {
  it.each([
    ["space around the whole text", "  a\n§\nb  \n\n", "a\n§\nb\n§\nnew"],
    ["CRLF line ends", "a\r\n§\r\nb\r\nc\r\n", "a\n§\nb\nc\n§\nnew"],
    ["lone CR line ends", "a\r§\rb", "a\n§\nb\n§\nnew"],
    ["duplicates", "a\n§\nb\n§\na", "a\n§\nb\n§\nnew"],
    ["a delimiter at the end", "a\n§\n", "a\n§\nnew"],
    ["nothing but a delimiter", "\n§\n", "new"],
    ["blank lines on both sides of a delimiter", "a\n\n§\n\nb", "a\n§\nb\n§\nnew"],
    ["a space before a delimiter", "a \n§\nb", "a\n§\nb\n§\nnew"],
    ["an empty piece between two delimiters", "a\n§\n\n§\nb", "a\n§\nb\n§\nnew"],
    ["a section sign at the start", "§\nfoo\n§\nbar", "§\nfoo\n§\nbar\n§\nnew"],
    ["a section sign with a space behind it", "a\n§ \nb", "a\n§ \nb\n§\nnew"],
    ["nothing but blanks", " \n\t\n", "new"],
  ])("%s", async (_what, before, after) => {
    const home = await homeWith(before);
    await addAll(await home.open(), ["new"]);
    expect(home.text()).toBe(after);
    expect(home.backups()).toEqual([]);
  });

  it("also when the total is over the limit, as long as each entry fits", async () => {
    const home = await homeWith("aaaaaa\n§\nbbbbbb\n§\ncccccc");
    const store = await home.open({ memoryCharLimit: 12 });
    refused(await store.apply("memory", { action: "add", content: "new" }), "over_limit");
    done(await store.apply("memory", { action: "remove", oldText: "aaa" }));
    expect(home.text()).toBe("bbbbbb\n§\ncccccc");
  });

  it("a load alone never writes", async () => {
    const home = await homeWith("a\n\n§\n\nb");
    const store = await home.open();
    expect([store.entries("memory"), home.text()]).toEqual([["a", "b"], "a\n\n§\n\nb"]);
  });
});

describe("a file that a rewrite could spoil is refused", () => {
  const cases: [string, string][] = [
    ["text pasted past the limit without delimiters", `a ${"long ".repeat(30)}`],
    ["a program that appended without reading, so that its text hangs on the last entry", "a\n\n§\nb"],
  ];

  for (const [what, text] of cases)
    for (const target of ["memory", "user"] as const)
      it(`${what} (${target})`, async () => {
        const home = await homeWith(text, target);
        const store = await home.open({ memoryCharLimit: 100, userCharLimit: 100 });
        for (const op of OPS) {
          const error = refused(await store.apply(target, op), "drift");
          const name = target === "user" ? "USER.md" : "MEMORY.md";
          expect(error.message).toMatch(new RegExp(`^Refusing to write ${name}:.*26045`));
          expect(error.message).toContain(error.backup);
          expect(error.backup).toMatch(/\.bak\.\d+$/);
          expect(error.remediation).toContain(error.backup);
          expect(readFileSync(error.backup, "utf8")).toBe(text);
        }
        expect(home.text(target)).toBe(text);
        expect(home.backups(target)).toHaveLength(1); // three refusals of one content, one backup
      });

  it("with its bytes in a private backup, one for each distinct content", async () => {
    const bytes = Buffer.from(`a\r\n${"x".repeat(30)}\r\n`);
    const home = await homeWith(bytes);
    const clock = { now: () => new Date("2026-05-05T10:00:00Z") };
    const store = await home.open({ memoryCharLimit: 20, clock });
    const first = refused(await store.apply("memory", OPS[0]!), "drift").backup;
    expect(readFileSync(first)).toEqual(bytes);
    expect(statSync(first).mode & 0o777).toBe(0o600);
    expect(first).toBe(home.path(`MEMORY.md.bak.${Date.parse("2026-05-05T10:00:00Z") / 1000}`));
    home.write("y".repeat(40));
    const second = refused(await store.apply("memory", OPS[0]!), "drift").backup;
    expect(readFileSync(second, "utf8")).toBe("y".repeat(40)); // same second, other content
    home.write(bytes);
    expect(refused(await store.apply("memory", OPS[0]!), "drift").backup).toBe(first);
    expect(home.backups()).toHaveLength(2);
  });

  it("and writable again once it is cleaned up", async () => {
    const home = await homeWith("z".repeat(50));
    const store = await home.open({ memoryCharLimit: 20 });
    refused(await store.apply("memory", OPS[0]!), "drift");
    home.write("short again");
    await addAll(store, ["new"]);
    expect(home.text()).toBe("short again\n§\nnew");
  });
});

describe("a limit lowered below an entry that we wrote ourselves", () => {
  async function lowered(): Promise<{ home: MemoryHome; open: () => ReturnType<MemoryHome["open"]> }> {
    const { home } = await memoryWith(["a".repeat(80), "short"]);
    return { home, open: () => home.open({ memoryCharLimit: 40 }) };
  }

  it("still lets entries be removed", async () => {
    const { home, open } = await lowered();
    done(await (await open()).apply("memory", { action: "remove", oldText: "aaa" }));
    expect([home.text(), home.backups()]).toEqual(["short", []]);
  });

  it("answers an add with the budget, not with a drift refusal", async () => {
    const { home, open } = await lowered();
    refused(await (await open()).apply("memory", { action: "add", content: "x" }), "over_limit");
    expect(home.backups()).toEqual([]);
  });
});
