// Edits our `[[hooks]]` tables in the TOML config of Kimi and leaves every other byte unchanged.
import { isDeepStrictEqual } from "node:util";
import { err, isRecord, ok, type Result } from "@hermes-memory/core/internal/lib";
import type { ConfigEdit, EditFailure } from "./config-edit.ts";
import { parseTomlDocument, type TomlStatement } from "./toml-document.ts";
import { appendBlock, newlineOf, removeLines, tomlText } from "./toml-servers.ts";

const HOOKS = "hooks";

export type TomlHook = { readonly event: string; readonly command: string };

export function setTomlHooks(
  text: string,
  wanted: readonly TomlHook[],
  isOwn: (command: unknown) => boolean,
): Result<ConfigEdit, EditFailure> {
  const opened = open(text, isOwn);
  if (!opened.ok) return opened;
  const own = opened.value;
  const present = own.map(({ event, command }) => ({ event, command }));
  if (isDeepStrictEqual(present, wanted)) return ok({ text, action: "unchanged" });
  const newline = newlineOf(text);
  const next = wanted.reduce(
    (now, { event, command }) => {
      // Any other key breaks the file for Kimi.
      const lines = [`[[${HOOKS}]]`, `event = ${tomlText(event)}`, `command = ${tomlText(command)}`];
      return appendBlock(now, lines.map((line) => line + newline).join(""));
    },
    withoutTables(text, own),
  );
  return ok({ text: next, action: own.length > 0 ? "updated" : "added" });
}

export function removeTomlHooks(
  text: string,
  isOwn: (command: unknown) => boolean,
): Result<ConfigEdit, EditFailure> {
  const opened = open(text, isOwn);
  if (!opened.ok) return opened;
  if (opened.value.length === 0) return ok({ text, action: "absent" });
  return ok({ text: withoutTables(text, opened.value), action: "removed" });
}

/** The commands of our hooks. */
export function tomlHookCommands(
  text: string,
  isOwn: (command: unknown) => boolean,
): Result<readonly string[], EditFailure> {
  const opened = open(text, isOwn);
  return opened.ok ? ok(opened.value.map(({ command }) => String(command))) : opened;
}

type OwnTable = {
  readonly event: unknown;
  readonly command: unknown;
  readonly first: TomlStatement;
  readonly last: TomlStatement;
};

function open(text: string, isOwn: (command: unknown) => boolean): Result<readonly OwnTable[], EditFailure> {
  const parsed = parseTomlDocument(text);
  if (!parsed.ok) return err({ kind: "syntax", ...parsed.error });
  const other = parsed.value.find(
    ({ kind, path }) => kind !== "array-table" && path.length === 1 && path[0] === HOOKS,
  );
  if (other) {
    const line = text.slice(0, other.start).split("\n").length;
    return err({
      kind: "shape",
      reason: `line ${line} writes '${HOOKS}' in another way than as [[${HOOKS}]] tables`,
    });
  }
  return ok(tablesIn(parsed.value).filter(({ command }) => isOwn(command)));
}

function tablesIn(statements: readonly TomlStatement[]): OwnTable[] {
  const tables: OwnTable[] = [];
  let isInside = false;
  for (const statement of statements) {
    const { kind, path, value } = statement;
    if (kind !== "pair") {
      isInside = kind === "array-table" && path.length === 1 && path[0] === HOOKS;
      if (isInside) tables.push({ event: undefined, command: undefined, first: statement, last: statement });
      continue;
    }
    const table = tables.at(-1);
    if (!isInside || !table) continue;
    const data = isRecord(value?.data) ? undefined : value?.data;
    const known = path[1] === "event" || path[1] === "command" ? { [path[1]]: data } : {};
    tables[tables.length - 1] = { ...table, ...known, last: statement };
  }
  return tables;
}

/** From the end, so that earlier offsets stay valid. */
function withoutTables(text: string, tables: readonly OwnTable[]): string {
  return tables.reduceRight((now, { first, last }) => removeLines(now, first, last), text);
}
