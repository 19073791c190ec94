// Slack: the export of a workspace, as ZIP or unpacked folder, with one file per channel and day.
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { format } from "../declare.ts";
import {
  type ExportFiles,
  filesIn,
  isArchiveName,
  ofEach,
  openExport,
  openExportFolder,
  textOfSample,
  toldOf,
} from "../kit/exports.ts";
import { jsonArrayItems, parsedWhole } from "../kit/json-array.ts";
import { type Chat, type ChatMessage, chatIfChosen, MESSENGER } from "../kit/messenger.ts";
import { joined } from "../kit/parts.ts";
import { type Json, listOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, Unit, Walking } from "../reader.ts";

const DAY_FILE = /(?:^|\/)([^/]+)\/\d{4}-\d\d-\d\d\.json$/;
const USERS = "users.json";
/** Public channels, private ones, direct messages and groups of direct messages. */
const CHANNEL_LISTS = ["channels.json", "groups.json", "dms.json", "mpims.json"];

export const slack = format({
  source: "slack",
  title: "Slack export",
  ...MESSENGER,
  roots: () => [],
  units: unitsBelow,
  recognises: (sample) => {
    const isDay = (name: string): boolean => DAY_FILE.test(name.replaceAll("\\", "/"));
    const head = textOfSample(sample, isDay);
    return (
      (isDay(sample.path) || isArchiveName(sample.path)) && /^\s*\[/.test(head) && /"ts"\s*:\s*"/.test(head)
    );
  },
  async *read(unit, reading) {
    await using files = await openUnit(unit.path, reading);
    const names = await namesOfUsers(files, reading);
    const channels = await channelsOf(files, names, reading);
    for (const [folder, days] of daysByChannel(files.names)) {
      const chat = channels.get(folder) ?? { id: folder, name: folder };
      yield* chatIfChosen(chat, messagesOf(files, days, names, reading), reading);
    }
  },
});

async function openUnit(path: string, reading: Reading): Promise<ExportFiles> {
  if ((await stat(path)).isDirectory()) return openExportFolder(path, reading);
  if (isArchiveName(path)) return openExport(path, reading);
  const folder = dirname(dirname(path));
  const lists = [USERS, ...CHANNEL_LISTS].filter((name) => existsSync(join(folder, name)));
  return filesIn(folder, [`${basename(dirname(path))}/${basename(path)}`, ...lists], reading);
}

/** One file of a day that the user named, archives with such files, and folders that hold a list of users or channels beside folders with files of days. */
async function* unitsBelow(root: string, walking: Walking): AsyncGenerator<Unit> {
  const inFolders: { readonly folder: string; readonly path: string }[] = [];
  const isDay = (path: string): boolean => DAY_FILE.test(path.replaceAll("\\", "/"));
  const isWanted = (path: string): boolean =>
    path === root || isArchiveName(path) || isList(path) || isDay(path);
  for await (const path of filesBelow(root, { file: isWanted }, walking)) {
    if (path === root && isDay(path)) yield { path };
    else if (isArchiveName(path)) {
      if (path === root || (await isSlackArchive(path, walking))) yield { path };
    } else inFolders.push({ path, folder: isList(path) ? dirname(path) : dirname(dirname(path)) });
  }
  for (const [path, files] of Map.groupBy(inFolders, ({ folder }) => folder)) {
    const lists = files.filter((file) => isList(file.path));
    const days = files.filter((file) => !isList(file.path));
    if (lists.length > 0 && days.length > 0)
      yield { path, stamps: [...lists, ...days].map((file) => file.path) };
  }
}

function isList(path: string): boolean {
  return basename(path) === USERS || CHANNEL_LISTS.includes(basename(path));
}

async function isSlackArchive(path: string, walking: Walking): Promise<boolean> {
  try {
    await using files = await openExport(path, { signal: walking.signal, advanced: () => {} });
    return files.names.some(isList) && files.names.some((name) => DAY_FILE.test(name));
  } catch (cause) {
    walking.signal.throwIfAborted();
    walking.unreadable(path, describeCause(cause));
    return false;
  }
}

function daysByChannel(names: readonly string[]): Map<string, string[]> {
  const days = names.filter((name) => DAY_FILE.test(name)).toSorted();
  return Map.groupBy(days, (name) => DAY_FILE.exec(name)?.[1] ?? "");
}

async function recordsIn(files: ExportFiles, list: string, reading: Reading): Promise<Json[]> {
  const name = files.names.find((other) => basename(other) === list && !DAY_FILE.test(other));
  if (name === undefined) return [];
  try {
    return recordsOf(await parsedWhole(files.chunks(name)));
  } catch (cause) {
    reading.signal.throwIfAborted();
    reading.unreadable(files.pathOf(name) ?? name, describeCause(cause));
    return [];
  }
}

async function namesOfUsers(files: ExportFiles, reading: Reading): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const user of await recordsIn(files, USERS, reading)) {
    const id = textOf(user.id);
    const profile = recordOf(user.profile) ?? {};
    const name =
      textOf(profile.display_name) ??
      textOf(profile.real_name) ??
      textOf(user.real_name) ??
      textOf(user.name);
    if (id !== undefined && name !== undefined) names.set(id, name);
  }
  return names;
}

/** By the name of their folder: the channel's name, or the id of a direct conversation. */
async function channelsOf(
  files: ExportFiles,
  names: ReadonlyMap<string, string>,
  reading: Reading,
): Promise<Map<string, Chat>> {
  const channels = new Map<string, Chat>();
  for (const list of CHANNEL_LISTS)
    for (const channel of await recordsIn(files, list, reading)) {
      const id = textOf(channel.id);
      if (id === undefined) continue;
      const name = textOf(channel.name);
      const members = listOf(channel.members).flatMap((member) => textOf(member) ?? []);
      const title = name ?? members.map((member) => names.get(member) ?? member).join(", ");
      channels.set(name ?? id, { id, name: title });
    }
  return channels;
}

/** What a person or a bot wrote. Every other subtype is a note of Slack, such as that somebody joined. */
const WRITTEN: ReadonlySet<string | undefined> = new Set([
  undefined,
  "bot_message",
  "me_message",
  "file_share",
  "thread_broadcast",
]);

async function* messagesOf(
  files: ExportFiles,
  days: readonly string[],
  names: ReadonlyMap<string, string>,
  reading: Reading,
): AsyncGenerator<ChatMessage> {
  yield* ofEach(days, files, reading, async function* (day) {
    const path = files.pathOf(day);
    const told = toldOf(day, files, reading);
    for await (const { line, value } of jsonArrayItems(files.chunks(day), told)) {
      const message = recordOf(value);
      const id = textOf(message?.ts);
      if (message === undefined || id === undefined) {
        told.malformed(line, "not a message");
        continue;
      }
      const type = textOf(message.type) ?? "missing";
      if (type !== "message") reading.unknown(`type ${type}`);
      if (type !== "message" || !WRITTEN.has(textOf(message.subtype))) continue;
      const author = textOf(message.user) ?? textOf(message.bot_id) ?? "unknown";
      yield {
        id,
        at: timeOf(id),
        authorIds: [message.user, message.bot_id].flatMap((one) => textOf(one) ?? []),
        author: names.get(author) ?? textOf(message.username) ?? author,
        text: joined([plainText(textOf(message.text) ?? "", names), ...fileMarks(message.files)]),
        thread: textOf(message.thread_ts),
        line,
        path,
      };
    }
  });
}

/** `<@U1>`, `<#C1|general>`, `<https://example.com|label>` and `<!here>` as a reader sees them. */
function plainText(text: string, names: ReadonlyMap<string, string>): string {
  const readable = text.replace(/<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>/g, (_, mark, target, label) => {
    if (mark === "@") return `@${names.get(target) ?? label ?? target}`;
    if (mark === "#") return `#${label || target}`;
    if (mark === "!") return label || `@${target}`;
    return label === undefined || label === target ? target : `${label} (${target})`;
  });
  return readable.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

function fileMarks(files: unknown): string[] {
  return listOf(files).map((value) => {
    const file = recordOf(value) ?? {};
    if (textOf(file.mimetype)?.startsWith("image/")) return "[image]";
    return `[file: ${textOf(file.name) ?? textOf(file.title) ?? "untitled"}]`;
  });
}
