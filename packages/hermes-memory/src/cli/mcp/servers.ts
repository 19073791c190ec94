// The servers in a client's config, in whichever format it is written.
import { isDeepStrictEqual } from "node:util";
import type { Result } from "@hermes-memory/core/lib";
import type { Client, ServerLaunch } from "./clients.ts";
import type { ConfigEdit, EditFailure, Place, WordChange } from "./config-edit.ts";
import { jsonWords, listJsonServers, removeJsonServer, setJsonServer } from "./json-servers.ts";
import type { NamedLaunch } from "./launch.ts";
import { listTomlServers, removeTomlServer, setTomlServer, tomlText, tomlWords } from "./toml-servers.ts";

export function listServers(text: string, { format }: Client): Result<readonly NamedLaunch[], EditFailure> {
  return format === "toml" ? listTomlServers(text) : listJsonServers(text);
}

export function setServer(
  text: string,
  { format, namesTransport }: Client,
  name: string,
  launch: ServerLaunch,
): Result<ConfigEdit, EditFailure> {
  if (format === "toml") return setTomlServer(text, name, launch);
  return setJsonServer(text, name, namesTransport ? { type: "stdio", ...launch } : launch);
}

export function removeServer(
  text: string,
  { format }: Client,
  name: string,
): Result<ConfigEdit, EditFailure> {
  return format === "toml" ? removeTomlServer(text, name) : removeJsonServer(text, name);
}

/**
 * Replaces the literals of single words and leaves every other byte; `tomlText` is valid in JSON as well. Undefined when they cannot be found in the text, or when the text
 * would then say anything else than the same servers with these words.
 */
export function replaceWords(
  text: string,
  client: Client,
  { name, command, args }: NamedLaunch,
  change: WordChange,
): string | undefined {
  const places = client.format === "toml" ? tomlWords(text, name) : jsonWords(text, name);
  const before = listServers(text, client);
  if (places === undefined || !before.ok) return undefined;
  const pieces: (Place & { readonly piece: string })[] = [];
  if (change.command !== undefined) {
    if (!isOneLiner(text, places.command)) return undefined;
    pieces.push({ ...places.command, piece: tomlText(change.command) });
  }
  if (change.arg?.isNew === false) {
    const place = places.items[change.arg.at];
    if (place === undefined || !isOneLiner(text, place)) return undefined;
    pieces.push({ ...place, piece: tomlText(change.arg.word) });
  } else if (change.arg) pieces.push(inFront(text, places.list.start + 1, places.items[0], change.arg.word));
  const next = pieces
    .sort((one, other) => other.start - one.start)
    .reduce((now, { start, end, piece }) => now.slice(0, start) + piece + now.slice(end), text);
  const { arg } = change;
  const words = arg ? args.toSpliced(arg.at, arg.isNew ? 0 : 1, arg.word) : args;
  const wanted = before.value.map((each) =>
    each.name === name ? { ...each, command: change.command ?? command, args: words } : each,
  );
  const after = listServers(next, client);
  return after.ok && isDeepStrictEqual(after.value.map(essence), wanted.map(essence)) ? next : undefined;
}

/** Without the obstacle, which names a line that may have moved. */
function essence({ name, command, args }: NamedLaunch): NamedLaunch {
  return { name, command, args };
}

/** A text in quotes. What TOML writes in three quotes is not read exactly, so it is not replaced either. */
function isOneLiner(text: string, { start, end }: Place): boolean {
  return /^(?:"(?!"")|'(?!''))/.test(text.slice(start, end));
}

/** As the first item of a list, with the line break and the indentation that the one behind it has. */
function inFront(
  text: string,
  open: number,
  first: Place | undefined,
  word: string,
): Place & { readonly piece: string } {
  const at = first?.start ?? open;
  const lead = text.slice(open, at);
  const gap = /^\s*\n\s*$/.test(lead) ? lead : " ";
  return { start: at, end: at, piece: first ? `${tomlText(word)},${gap}` : tomlText(word) };
}
