// Edits our `[[hooks]]` tables in the TOML config of Kimi.
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { type ConfigEdit, newlineOf, shapeError } from "./config-edit.ts";
import { MARK, parseToml, type TomlTable, tablesOf, tomlValue, withBlock, withoutTables } from "./toml.ts";

const HOOKS = "hooks";

export type TomlHook = { readonly event: string; readonly command: string };

type IsOwn = (command: unknown) => boolean;

export function setTomlHooks(text: string, wanted: readonly TomlHook[], isOwn: IsOwn): ConfigEdit {
  const own = ownTables(text, isOwn);
  const present = own.map(({ event, command }) => ({ event, command }));
  if (isDeepStrictEqual(present, wanted)) return { text, action: "unchanged" };
  const newline = newlineOf(text);
  const tables = wanted.map(({ event, command }) => {
    // Any other key breaks the file for Kimi.
    const lines = [`[[${HOOKS}]]`, `event = ${tomlValue(event)}`, `command = ${tomlValue(command)}`];
    return lines.map((line) => line + newline).join("");
  });
  const next = withBlock(withoutTables(text, own), MARK + newline + tables.join(newline));
  return { text: next, action: own.length > 0 ? "updated" : "added" };
}

export function removeTomlHooks(text: string, isOwn: IsOwn): ConfigEdit {
  const own = ownTables(text, isOwn);
  return own.length === 0
    ? { text, action: "absent" }
    : { text: withoutTables(text, own), action: "removed" };
}

/** The commands of our hooks. */
export function tomlHookCommands(text: string, isOwn: IsOwn): readonly string[] {
  return ownTables(text, isOwn).map(({ command }) => String(command));
}

/** What the file holds without our hooks. */
export function otherTables(text: string, isOwn: IsOwn): unknown {
  const { [HOOKS]: hooks = [], ...others } = parseToml(text);
  const left = Array.isArray(hooks) ? hooks.filter((hook) => !isRecord(hook) || !isOwn(hook.command)) : hooks;
  return { ...others, [HOOKS]: left };
}

type OwnTable = TomlTable & { readonly event: unknown; readonly command: unknown };

function ownTables(text: string, isOwn: IsOwn): readonly OwnTable[] {
  const { [HOOKS]: hooks = [] } = parseToml(text);
  const tables = tablesOf(text)
    .filter(({ path, isInArray }) => isInArray && isDeepStrictEqual(path, [HOOKS]))
    .map((table) => {
      const { event, command } = Object.assign({}, ...table.pairs.map(({ data }) => data));
      return { ...table, event, command };
    });
  if (!Array.isArray(hooks) || hooks.length !== tables.length)
    throw shapeError(`it writes '${HOOKS}' in another way than as [[${HOOKS}]] tables`);
  return tables.filter(({ command }) => isOwn(command));
}
