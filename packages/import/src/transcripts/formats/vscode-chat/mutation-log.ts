// A value written as a log of changes, one JSON object per line: VS Code stores chat sessions so.

import { jsonLines } from "../../kit/json-lines.ts";
import { type Json, listOf, recordOf } from "../../kit/values.ts";
import type { Reading } from "../../reader.ts";

const KIND = { whole: 0, set: 1, push: 2, delete: 3 } as const;

type Path = readonly (string | number)[];
type Told = Pick<Reading, "signal" | "malformed" | "advanced" | "unknown">;

/**
 * The value after all changes, without the parts that `keeps` refuses: single lines reach hundreds of megabytes, of which a transcript
 * needs little. Undefined for an empty file. Throws if the log does not begin with a whole value.
 */
export async function replayed(
  path: string,
  keeps: (path: Path) => boolean,
  told: Told,
): Promise<Json | undefined> {
  let state: Json | undefined;
  for await (const { line, value } of jsonLines(path, told)) {
    const { kind, k, v, i } = value;
    if (kind === KIND.whole) {
      const whole = recordOf(v);
      if (whole === undefined) told.malformed(line, "a whole state that is no object");
      else state = recordOf(reduced(whole, [], keeps));
      continue;
    }
    if (state === undefined) throw new Error("the log does not begin with a whole state");
    const steps = pathOf(k);
    if (steps === undefined) told.malformed(line, "a change without a path");
    else if (kind !== KIND.set && kind !== KIND.push && kind !== KIND.delete)
      told.unknown(`kind ${String(kind)}`);
    else if (keepsAll(steps, keeps)) {
      const change =
        kind === KIND.push
          ? { kind, values: listOf(reduced(v, steps, keeps)), from: i }
          : { kind, value: kind === KIND.set ? reduced(v, steps, keeps) : undefined };
      if (!applied(state, steps, change)) told.malformed(line, `no place for a change at ${steps.join("/")}`);
    }
  }
  return state;
}

type Change =
  | { readonly kind: typeof KIND.push; readonly values: readonly unknown[]; readonly from: unknown }
  | { readonly kind: typeof KIND.set | typeof KIND.delete; readonly value: unknown };

/** False if the path leads nowhere in this state. */
function applied(state: Json, path: Path, change: Change): boolean {
  let at: unknown = state;
  for (const step of path.slice(0, -1)) at = childOf(at, step);
  const last = path.at(-1);
  if (last === undefined) return false;
  if (change.kind !== KIND.push) return assigned(at, last, change.value);
  const old = childOf(at, last);
  if (old !== undefined && !Array.isArray(old)) return false;
  const list: unknown[] = old ?? [];
  if (change.from !== undefined) {
    if (!isIndex(change.from)) return false;
    if (change.from < list.length) list.length = change.from;
  }
  for (const value of change.values) list.push(value);
  return old !== undefined || assigned(at, last, list);
}

function childOf(parent: unknown, step: string | number): unknown {
  if (Array.isArray(parent)) return isIndex(step) ? parent[step] : undefined;
  const record = recordOf(parent);
  return record !== undefined && Object.hasOwn(record, step) ? record[step] : undefined;
}

/** A list grows by one at most, so that a hostile index cannot make it huge. */
function assigned(parent: unknown, step: string | number, value: unknown): boolean {
  if (Array.isArray(parent)) {
    if (!isIndex(step) || step > parent.length) return false;
    parent[step] = value;
    return true;
  }
  const record = recordOf(parent);
  if (record === undefined || step === "__proto__") return false;
  record[step] = value;
  return true;
}

function isIndex(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0;
}

function pathOf(value: unknown): Path | undefined {
  const steps = listOf(value).filter((step) => typeof step === "string" || typeof step === "number");
  return steps.length > 0 && steps.length === listOf(value).length ? steps : undefined;
}

function keepsAll(path: Path, keeps: (path: Path) => boolean): boolean {
  return path.every((_, index) => keeps(path.slice(0, index + 1)));
}

/** How deep `keeps` is asked. Below, values stay whole. */
const MAX_DEPTH = 5;

/** Removes in place what is not kept, so that its memory is free before the next line is read. */
function reduced(value: unknown, path: Path, keeps: (path: Path) => boolean): unknown {
  if (path.length >= MAX_DEPTH) return value;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) value[index] = reduced(item, [...path, index], keeps);
    return value;
  }
  const record = recordOf(value);
  if (record === undefined) return value;
  for (const [key, item] of Object.entries(record)) {
    const below = [...path, key];
    if (!keeps(below)) delete record[key];
    else record[key] = reduced(item, below, keeps);
  }
  return record;
}
