// Every answer of the Python original that we mean to give too, down to the bytes on disk.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MemoryStore, type MemoryTarget, memoryTool } from "../../src/index.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";
import { readVectors } from "./vectors.ts";

type FileContent = string | { base64: string } | null;
type Files = Record<"MEMORY.md" | "USER.md", FileContent>;
type ToolCall = { action: string; target?: string; content?: string; old_text?: string };
type Op =
  | ToolCall
  | { external: { file: string; append?: string; write?: string; delete?: boolean } }
  | { reload: true };
type Entries = Record<MemoryTarget, string[]>;
type Block =
  | null
  | { block: string }
  | { header_prefix: string; parts: ({ text: string } | { blocked_ids: string[] })[] };
type ExpectedOp = Record<string, unknown> & {
  success?: boolean;
  error_starts_with?: string;
  error_contains?: string[];
  has_keys?: string[];
  blocked_ids?: string[];
  live_entries?: string[];
};
type Case = {
  id: string;
  title: string;
  differs: string | null;
  limits: { memory: number; user: number };
  write_approval: boolean;
  initial: Files;
  ops: Op[];
  expect: {
    load_raises?: unknown;
    entries_loaded: Entries;
    snapshot_loaded: Record<MemoryTarget, Block>;
    ops: ExpectedOp[];
    entries_reloaded: Entries;
    snapshot_reloaded: Record<MemoryTarget, Block>;
    final_files: Files;
    bak: Record<string, { appeared: boolean; text?: string }>;
    pending?: { action: string; summary: string; payload: object }[];
  };
};

const EXACT_KEYS = [
  "success",
  "message",
  "target",
  "entries",
  "usage",
  "entry_count",
  "matches",
  "current_entries",
  "error",
  "staged",
];
const TARGETS: MemoryTarget[] = ["memory", "user"];

const cases = readVectors<Case>("curated-ops.jsonl");

describe.skipIf(!cases)("curated memory answers as the original does", () => {
  // Cases marked `differs` stand for improvements; each has a test of its own in test/curated/improvements.test.ts.
  // `backup_byte_exact` differs in the backup's bytes only, so the rest of it still counts.
  const comparable =
    cases?.filter(({ differs }) => differs === null || differs === "backup_byte_exact") ?? [];
  it.each(comparable.map((each) => [each.id, each.title, each] as const))(
    "%s %s",
    async (_id, _title, vector) => {
      const home = tempDirectory();
      const dir = join(home, "memories");
      mkdirSync(dir);
      for (const [name, content] of Object.entries(vector.initial)) {
        if (content !== null) writeFileSync(join(dir, name), bytesOf(content));
      }
      const open = async (): Promise<MemoryStore> => {
        const store = new MemoryStore({
          dir,
          memoryCharLimit: vector.limits.memory,
          userCharLimit: vector.limits.user,
        });
        await store.load();
        return store;
      };
      let store = await open();
      const { expect: wanted } = vector;
      for (const target of TARGETS) {
        expect(store.entries(target)).toEqual(wanted.entries_loaded[target]);
        expectBlock(store.renderSnapshot(target), wanted.snapshot_loaded[target]);
      }
      for (const [index, op] of vector.ops.entries()) {
        const frozen = TARGETS.map((target) => store.renderSnapshot(target));
        if ("reload" in op) store = await open();
        else if ("external" in op) change(dir, op.external);
        else {
          const result = await memoryTool(store, op, { home, writeApproval: vector.write_approval });
          if (isShrinkingReplace(wanted.ops[index]!)) {
            // Allowed in ours (spec 01, section 13). The random cases are not marked for it; what follows cannot be compared.
            expect(result).toMatchObject({ success: true, message: "Entry replaced." });
            return;
          }
          expectResult(
            result as Record<string, unknown>,
            wanted.ops[index]!,
            store,
            (op.target ?? "memory") as MemoryTarget,
          );
          expect(TARGETS.map((target) => store.renderSnapshot(target))).toEqual(frozen);
        }
      }
      const again = await open();
      for (const target of TARGETS) {
        expect(again.entries(target)).toEqual(wanted.entries_reloaded[target]);
        expectBlock(again.renderSnapshot(target), wanted.snapshot_reloaded[target]);
      }
      for (const [name, content] of Object.entries(wanted.final_files)) {
        const path = join(dir, name);
        expect(existsSync(path) ? readFileSync(path).toString("latin1") : null).toEqual(
          content === null ? null : bytesOf(content).toString("latin1"),
        );
      }
      for (const [name, backup] of Object.entries(wanted.bak)) {
        const found = readdirSync(dir)
          .filter((each) => each.startsWith(`${name}.bak.`))
          .sort();
        expect(found.length > 0).toBe(backup.appeared);
        if (backup.text !== undefined && vector.differs === null) {
          expect(readFileSync(join(dir, found.at(-1)!), "utf8")).toBe(backup.text);
        }
      }
      if (wanted.pending) expect(sorted(pendingRecords(home))).toEqual(sorted(wanted.pending));
    },
  );
});

function expectResult(
  result: Record<string, unknown>,
  wanted: ExpectedOp,
  store: MemoryStore,
  target: MemoryTarget,
): void {
  for (const key of EXACT_KEYS) if (key in wanted) expect(result[key], key).toEqual(wanted[key]);
  if (wanted.error_starts_with !== undefined)
    expect(String(result.error)).toMatch(startsWith(wanted.error_starts_with));
  for (const part of wanted.error_contains ?? []) expect(result.error).toContain(part);
  for (const key of wanted.has_keys ?? []) expect(result).toHaveProperty(key);
  if (wanted.blocked_ids) {
    const named = wanted.blocked_ids.map((id) => id.replace("invisible_unicode_", ""));
    expect(
      named.some((id) => String(result.error).includes(id)),
      String(result.error),
    ).toBe(true);
  }
  if (wanted.live_entries) expect(store.entries(target)).toEqual(wanted.live_entries);
}

/** The original refuses a replacement that leaves less than there was, as long as the total stays over the limit. */
function isShrinkingReplace({ error_starts_with, usage }: ExpectedOp): boolean {
  const [, total] = /^Replacement would put memory at ([\d,]+)\//.exec(error_starts_with ?? "") ?? [];
  const number = (text: string): number => Number(text.replaceAll(",", ""));
  return total !== undefined && number(total) < number(String(usage).split("/")[0]!);
}

function expectBlock(block: string | undefined, wanted: Block): void {
  if (wanted === null || "block" in wanted) {
    expect(block).toBe(wanted?.block);
    return;
  }
  expect(block?.split("\n")[1]).toMatch(startsWith(wanted.header_prefix));
  const parts = block!.split("\n").slice(3).join("\n").split("\n§\n");
  expect(parts.length).toBe(wanted.parts.length);
  for (const [index, part] of wanted.parts.entries()) {
    if ("text" in part) expect(parts[index]).toBe(part.text);
    else expect(parts[index]).toContain(`entry contained threat pattern(s): ${part.blocked_ids.join(", ")}.`);
  }
}

function change(
  dir: string,
  { file, append, write, delete: gone }: { file: string; append?: string; write?: string; delete?: boolean },
): void {
  const path = join(dir, file);
  if (append !== undefined) appendFileSync(path, append);
  if (write !== undefined) writeFileSync(path, write);
  if (gone) rmSync(path, { force: true });
}

function pendingRecords(home: string): object[] {
  const directory = join(home, "pending", "memory");
  if (!existsSync(directory)) return [];
  return readdirSync(directory).map((name) => {
    const { action, summary, payload } = JSON.parse(readFileSync(join(directory, name), "utf8")) as Record<
      string,
      unknown
    >;
    return { action, summary, payload };
  });
}

function bytesOf(content: string | { base64: string }): Buffer {
  return typeof content === "string" ? Buffer.from(content, "utf8") : Buffer.from(content.base64, "base64");
}

function sorted(values: object[]): string[] {
  return values.map((value) => JSON.stringify(value, Object.keys(value).sort())).sort();
}

function startsWith(text: string): RegExp {
  return new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`);
}
