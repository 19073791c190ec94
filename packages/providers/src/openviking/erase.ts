// Erasing at OpenViking: files of the user that contain a text, and conversations. All files are read, because search finds by meaning.
import type { ForgetReport } from "@hermes-memory/core/internal/providers";
import { textIn } from "../kit/networked/answers.ts";
import { inParallel, reportOf } from "../kit/networked/erasing.ts";
import type { VikingMemories } from "./memories.ts";
import type { VikingServer } from "./server.ts";
import type { VikingSessions } from "./sessions.ts";

type Parts = {
  readonly server: VikingServer;
  readonly memories: VikingMemories;
  readonly sessions: VikingSessions;
};

/** More entries than any memory has; a list that is cut off there is said. */
const MAX_ENTRIES = 100_000;

type Entry = { readonly uri: string; readonly isFolder: boolean };

/** Files whose text contains `text`, and conversations with a message that contains it and was not committed yet. */
export async function forgetText(
  { server, memories, sessions }: Parts,
  text: string,
  isDryRun: boolean,
  signal: AbortSignal,
): Promise<ForgetReport> {
  const entries = await entriesBelow(server, await userHome(server), signal, true);
  const files = entries.filter(({ isFolder }) => !isFolder).map(({ uri }) => uri);
  const holdsText = async (uri: string) => (await read(server, uri, signal)).includes(text);
  const found = await filtered(files, holdsText);
  const { ids, unclear } = await sessions.list(signal);
  const talks = await filtered(ids, async (id) =>
    (await sessions.openTexts(id, signal)).some((message) => message.includes(text)),
  );
  if (!isDryRun) {
    for (const uri of found) await memories.remove(uri, signal);
    for (const id of talks) await sessions.remove(id, signal);
  }
  const kept = ids.length - talks.length;
  const notes = [
    kept === 0
      ? ""
      : `The archives of ${conversations(kept)} at OpenViking cannot be searched and may contain it; delete them with 'ov session delete <id>' if they do.`,
    unclearNote(unclear),
    entries.length < MAX_ENTRIES
      ? ""
      : `Only the first ${MAX_ENTRIES} files were searched: repeat the command.`,
  ];
  return reportOf(found.length + talks.length, notes);
}

/** All files and conversations of the user. Resources belong to the account. */
export async function eraseEverything(
  { server, memories, sessions }: Parts,
  isDryRun: boolean,
  signal: AbortSignal,
): Promise<ForgetReport> {
  const home = await userHome(server);
  const files = (await entriesBelow(server, home, signal, true)).filter(({ isFolder }) => !isFolder);
  const { ids, unclear } = await sessions.list(signal);
  if (!isDryRun) {
    for (const { uri, isFolder } of await entriesBelow(server, home, signal, false))
      await memories.remove(uri, signal, isFolder);
    for (const id of ids) await sessions.remove(id, signal);
  }
  const resources = await entriesBelow(server, "viking://resources", signal, false);
  return reportOf(files.length + ids.length, [
    unclearNote(unclear),
    resources.length === 0
      ? ""
      : "Resources below viking://resources belong to everyone in the account and were not erased; remove those you added with 'ov rm <uri>'.",
  ]);
}

function conversations(count: number): string {
  return count === 1 ? "1 conversation" : `${count} conversations`;
}

/** For sessions that the server does not keep by user: deleting them would delete those of others. */
function unclearNote(count: number): string {
  return count === 0
    ? ""
    : `This OpenViking server keeps ${conversations(count)} for the whole account and does not say whose they are, so they were not erased; delete your own with 'ov session delete <id>'.`;
}

async function userHome(server: VikingServer): Promise<string> {
  return `viking://user/${(await server.info()).user}`;
}

async function entriesBelow(
  server: VikingServer,
  uri: string,
  signal: AbortSignal,
  isRecursive: boolean,
): Promise<readonly Entry[]> {
  const list = await server.list({
    method: "GET",
    path: "/api/v1/fs/ls",
    query: { uri, recursive: isRecursive, node_limit: MAX_ENTRIES },
    maxBytes: 64 * 2 ** 20,
    signal,
  });
  return list
    .map((entry) => ({ uri: textIn(entry.uri), isFolder: isFolder(entry) }))
    .filter((entry) => entry.uri.startsWith(`${uri}/`));
}

/** Servers have several ways to say it. */
export function isFolder({ isDir, is_dir, type }: Readonly<Record<string, unknown>>): boolean {
  return isDir === true || is_dir === true || type === "dir" || type === "directory";
}

/** "" for what was removed in the meantime. */
async function read(server: VikingServer, uri: string, signal: AbortSignal): Promise<string> {
  const path = "/api/v1/content/read";
  const content = await server.find({ method: "GET", path, query: { uri }, maxBytes: 64 * 2 ** 20, signal });
  return typeof content === "string" ? content : JSON.stringify(content ?? "");
}

/** Those that pass the check, in their order, several checked at once. */
async function filtered<T>(items: readonly T[], check: (item: T) => Promise<boolean>): Promise<readonly T[]> {
  const passed = await inParallel(items, check);
  return items.filter((_, index) => passed[index]);
}
