// A memory directory for one test, with short ways to look at what lies in it.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MemoryErrorKind, MemoryStoreOptions } from "../../src/curated/index.ts";
import {
  type MemoryError,
  type MemoryOpOutcome,
  MemoryStore,
  type MemoryTarget,
  type Result,
} from "../../src/index.ts";
import type { Clock } from "../../src/lib/index.ts";
import { tempDirectory } from "./temp-directory.ts";

type Options = Omit<MemoryStoreOptions, "dir">;

export class MemoryHome {
  readonly home: string;
  readonly dir: string;

  constructor(home = tempDirectory()) {
    this.home = home;
    this.dir = join(home, "memories");
  }

  async open(options: Options = {}): Promise<MemoryStore> {
    const store = new MemoryStore({ dir: this.dir, ...options });
    await store.load();
    return store;
  }

  path(...parts: string[]): string {
    return join(this.dir, ...parts);
  }

  get pending(): string {
    return join(this.home, "pending", "memory");
  }

  /** The bytes of a target's file as text; undefined when there is no file. */
  text(target: MemoryTarget = "memory"): string | undefined {
    const path = this.path(target === "user" ? "USER.md" : "MEMORY.md");
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }

  write(text: string | Uint8Array, target: MemoryTarget = "memory"): void {
    writeFileSync(this.path(target === "user" ? "USER.md" : "MEMORY.md"), text);
  }

  journalText(target: MemoryTarget = "memory"): string {
    const path = this.path(".history", `${target}.jsonl`);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  /** Every line must parse. */
  journal(target: MemoryTarget = "memory"): Record<string, unknown>[] {
    const lines = this.journalText(target).split("\n");
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  backups(target: MemoryTarget = "memory"): string[] {
    const prefix = target === "user" ? "USER.md.bak." : "MEMORY.md.bak.";
    return readdirSync(this.dir).filter((name) => name.startsWith(prefix));
  }

  /** Files below the home that hold these bytes. */
  filesWith(text: string): string[] {
    const names = readdirSync(this.home, { recursive: true, withFileTypes: true });
    return names
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => readFileSync(path).includes(Buffer.from(text)));
  }
}

/** A home with these entries in MEMORY.md, and its open store. */
export async function memoryWith(
  texts: readonly string[] = [],
  options?: Parameters<MemoryHome["open"]>[0],
): Promise<{ readonly home: MemoryHome; readonly store: MemoryStore; readonly ids: readonly string[] }> {
  const home = new MemoryHome();
  const store = await home.open(options);
  return { home, store, ids: await addAll(store, texts) };
}

/** Moves on by one second at each look, so that times in a journal are all different and known. */
export function tickingClock(start = "2026-03-01T08:00:00.000Z"): Clock {
  let next = Date.parse(start);
  return {
    now: () => {
      const now = new Date(next);
      next += 1000;
      return now;
    },
  };
}

export async function addAll(
  store: MemoryStore,
  texts: readonly string[],
  target: MemoryTarget = "memory",
): Promise<string[]> {
  const ids: string[] = [];
  for (const content of texts) {
    const outcome = done(await store.apply(target, { action: "add", content }));
    ids.push(outcome.changeId ?? "");
  }
  return ids;
}

/** The value, or a failing test that says why there is none. */
export function done<T>(outcome: Result<T, { readonly kind: string; readonly message: string }>): T {
  if (outcome.ok) return outcome.value;
  throw new Error(`expected success, got ${outcome.error.kind}: ${outcome.error.message}`);
}

/** The refusal, which has to be of this kind. */
export function refused<K extends MemoryErrorKind>(
  outcome: Result<MemoryOpOutcome | unknown, MemoryError>,
  kind: K,
): MemoryError & { kind: K } {
  if (outcome.ok) throw new Error(`expected ${kind}, got success`);
  if (outcome.error.kind !== kind)
    throw new Error(`expected ${kind}, got ${outcome.error.kind}: ${outcome.error.message}`);
  return outcome.error as MemoryError & { kind: K };
}
