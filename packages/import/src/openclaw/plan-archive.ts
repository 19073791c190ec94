// Plans the archive: OpenClaw's config without credentials, and everything else without a place in Hermes, for review. One item.
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { itemOf, type PlannedItem } from "./operation.ts";
import {
  archivedCopy,
  archiveItem,
  archiveName,
  findFiles,
  findFolder,
  type NewArchiveFile,
  type PlanContext,
} from "./plan-context.ts";

const DOCUMENTS = [
  ["IDENTITY.md"],
  ["TOOLS.md"],
  ["HEARTBEAT.md"],
  ["BOOTSTRAP.md"],
  ["BOOT.md"],
  ["DREAMS.md", "dreams.md"],
];
const FOLDERS_OF_WORKSPACE = [".learnings", "hooks", "memory", "tts"];
const FOLDERS_OF_STATE = ["cron", "extensions"];
const APPROVALS = "exec-approvals.json";
/** Folders that a tool can make again. */
const REMADE = /(?:^|\/)(?:node_modules|\.git)(?:\/|$)/;
const NOT_COPIED = {
  "raw-config-skip": ["openclaw.json", "credentials/telegram-default-allowFrom.json"],
  "sensitive-skip": ["memory/main.sqlite", "credentials", "devices", "identity", "workspace.zip"],
};

/** A file or folder of OpenClaw, with the names of links in it that were not followed. */
type Part = { readonly name: string; readonly files: readonly NewArchiveFile[]; readonly leftOut: string[] };

export function planArchive(context: PlanContext): PlannedItem[] {
  const { source } = context;
  const { root } = source;
  const documents = DOCUMENTS.flatMap((names) => findFiles(context, names).slice(0, 1));
  const folders = FOLDERS_OF_WORKSPACE.flatMap((name) => findFolder(context, name) ?? []);
  const parts = [
    ...(Object.keys(source.config).length > 0 ? [configPart(context)] : []),
    ...(existsSync(join(root, APPROVALS)) ? [filePart(context, join(root, APPROVALS), root)] : []),
    ...FOLDERS_OF_STATE.map((name) => folderPart(context, join(root, name), root)),
    ...documents.map(({ path, workspace }) => filePart(context, path, workspace.path)),
    ...folders.map(({ path, workspace }) => folderPart(context, path, workspace.path)),
  ].filter(({ files }) => files.length > 0);
  const left = Object.entries(NOT_COPIED).flatMap(([kind, names]) =>
    names
      .map((name) => join(root, name))
      .filter((path) => existsSync(path))
      .map((path): PlannedItem => ({ item: itemOf(kind, "skipped", NOT_COPIED_REASON, { source: path }) })),
  );
  if (parts.length === 0)
    return [{ item: itemOf("archive", "skipped", "OpenClaw has nothing else") }, ...left];
  const links = parts.flatMap(({ leftOut }) => leftOut).slice(0, 20);
  const details = {
    parts: parts.map(({ name }) => name),
    ...(links.length > 0 ? { links_not_followed: links } : {}),
  };
  const files = parts.flatMap((part) => part.files);
  return [archiveItem(context, "archive", { source: root, name: "", files }, { details }), ...left];
}

const NOT_COPIED_REASON = "It may hold credentials and is never copied as it is";

/** Two spaces, final newline, without credentials and comments. */
function configPart({ source, redactor }: PlanContext): Part {
  const name = "openclaw.json";
  const text = `${JSON.stringify(redactor.json(source.config), null, 2)}\n`;
  return { name, files: [{ name, content: () => Buffer.from(text) }], leftOut: [] };
}

function filePart(context: PlanContext, path: string, bound: string): Part {
  const name = archiveName(context, path);
  return { name, files: [archivedCopy(context, { path, name: basename(path) }, bound, name)], leftOut: [] };
}

function folderPart(context: PlanContext, path: string, bound: string): Part {
  const { files, leftOut } = context.source.files.tree(path, bound, (file) => !REMADE.test(file));
  const name = archiveName(context, path);
  const copies = files.map((file) => archivedCopy(context, file, path, `${name}/${file.name}`));
  return { name, files: copies, leftOut: leftOut.map((each) => `${name}/${each}`) };
}
