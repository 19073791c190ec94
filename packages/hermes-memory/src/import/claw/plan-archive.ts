// Plans everything that is kept for review only: documents of the workspace, sections of the config, and stores of OpenClaw.
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { type Json, jsonOf, recordOf } from "../kit/values.ts";
import { itemOf, type PlannedItem } from "./operation.ts";
import type { OptionId } from "./options.ts";
import {
  archivedCopy,
  archivedJson,
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
const FOLDERS = [".learnings", "memory"];
/** Folders that a tool can make again. */
const REMADE = /(?:^|\/)(?:node_modules|\.git)(?:\/|$)/;
const RAW_CONFIG = ["openclaw.json", "credentials/telegram-default-allowFrom.json"];
const SENSITIVE = ["memory/main.sqlite", "credentials", "devices", "identity", "workspace.zip"];

export function planDocuments(context: PlanContext): PlannedItem[] {
  const { source } = context;
  const documents = DOCUMENTS.flatMap((names) => {
    const [found] = findFiles(context, names);
    if (found === undefined) return [];
    const name = archiveName(context, found.path);
    const copy = archivedCopy(
      context,
      { path: found.path, name: basename(found.path) },
      found.workspace.path,
      name,
    );
    return [archiveItem(context, "archive", { source: found.path, name, files: [copy] })];
  });
  const folders = FOLDERS.flatMap((name) => planFolder(context, "archive", name));
  const skipped = (kind: string, names: readonly string[], reason: string): PlannedItem[] =>
    names
      .map((name) => join(source.root, name))
      .filter((path) => existsSync(path))
      .map((path) => ({ item: itemOf(kind, "skipped", reason, { source: path }) }));
  return [
    ...documents,
    ...folders,
    ...skipped(
      "raw-config-skip",
      RAW_CONFIG,
      "Its settings are migrated one by one; the file itself is not copied",
    ),
    ...skipped("sensitive-skip", SENSITIVE, "It may hold credentials and is never copied"),
  ];
}

export function planSpeechFiles(context: PlanContext): PlannedItem[] {
  const planned = planFolder(context, "tts-assets", "tts");
  return planned.length > 0
    ? planned
    : [{ item: itemOf("tts-assets", "skipped", "No workspace/tts/ directory found") }];
}

/** A folder of the workspace, whole. */
function planFolder(context: PlanContext, kind: string, name: string): PlannedItem[] {
  const found = findFolder(context, name);
  return found === undefined
    ? []
    : planTree(context, kind, found.path, found.workspace.path, archiveName(context, found.path));
}

function planTree(
  context: PlanContext,
  kind: string,
  path: string,
  bound: string,
  name: string,
): PlannedItem[] {
  const { files, leftOut } = context.source.files.tree(path, bound, (file) => !REMADE.test(file));
  if (files.length === 0) return [];
  const details = leftOut.length === 0 ? {} : { links_not_followed: leftOut.slice(0, 20) };
  const copies = files.map((file) => archivedCopy(context, file, path, `${name}/${file.name}`));
  return [archiveItem(context, kind, { source: path, name, files: copies }, { details })];
}

// ---- Sections of the config ----

type Section = {
  /** The parts of the config, undefined when it has none of them. */
  readonly of: (config: Json) => unknown;
  readonly file: string;
  /** A folder of the state folder that belongs to it, and its name in the archive. */
  readonly store?: readonly [folder: string, name: string];
  /** The same for a folder of the workspace. */
  readonly workspaceStore?: readonly [folder: string, name: string];
};

const channel = (name: string, file: string): Section => ({
  of: ({ channels }) => recordOf(channels)?.[name],
  file,
});
const part = (name: string, file: string): Section => ({ of: (config) => config[name], file });

/** Channels that have an option of their own. */
const OWN_CHANNELS = ["telegram", "discord", "slack", "whatsapp", "signal"];

const SECTIONS: Partial<Record<OptionId, Section>> = {
  "messaging-settings": {
    of: (config) => {
      const workspace = recordOf(recordOf(config.agents)?.defaults)?.workspace;
      return parts({ workspace, telegram: recordOf(config.channels)?.telegram });
    },
    file: "messaging-settings.json",
  },
  "discord-settings": channel("discord", "discord-settings.json"),
  "slack-settings": channel("slack", "slack-settings.json"),
  "whatsapp-settings": channel("whatsapp", "whatsapp-settings.json"),
  "signal-settings": channel("signal", "signal-settings.json"),
  "tts-config": { of: ({ messages }) => recordOf(messages)?.tts, file: "tts-config.json" },
  "mcp-servers": { of: ({ mcp }) => recordOf(mcp)?.servers, file: "mcp-servers.json" },
  "plugins-config": { ...part("plugins", "plugins-config.json"), store: ["extensions", "extensions"] },
  "cron-jobs": { ...part("cron", "cron-config.json"), store: ["cron", "cron-store"] },
  "hooks-config": { ...part("hooks", "hooks-config.json"), workspaceStore: ["hooks", "workspace-hooks"] },
  "gateway-config": part("gateway", "gateway-config.json"),
  "deep-channels": {
    of: ({ channels }) => {
      const others = Object.entries(recordOf(channels) ?? {}).filter(
        ([name]) => !OWN_CHANNELS.includes(name),
      );
      return parts(Object.fromEntries(others));
    },
    file: "channels-deep-config.json",
  },
  "browser-config": part("browser", "browser-config.json"),
  "tools-config": part("tools", "tools-config.json"),
  "approvals-config": part("approvals", "approvals-config.json"),
  "memory-backend": part("memory", "memory-backend-config.json"),
  "skills-config": part("skills", "skills-registry-config.json"),
  "ui-identity": { of: ({ ui, identity }) => parts({ ui, identity }), file: "ui-identity-config.json" },
  "logging-config": {
    of: ({ logging, diagnostics }) => parts({ logging, diagnostics }),
    file: "logging-diagnostics-config.json",
  },
};

function parts(fields: Json): Json | undefined {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** Undefined for an option that is not a section of the config. */
export function planSection(context: PlanContext, option: OptionId): PlannedItem[] | undefined {
  const section = SECTIONS[option];
  if (section === undefined) return undefined;
  const { source } = context;
  const value = section.of(source.config);
  const isGiven =
    value !== undefined && value !== null && !(isRecord(value) && Object.keys(value).length === 0);
  const [folder, name] = section.store ?? [];
  const [inWorkspace, archivedAs] = section.workspaceStore ?? [];
  const found = inWorkspace === undefined ? undefined : findFolder(context, inWorkspace);
  const planned = [
    ...(isGiven ? [planJson(context, option, archivedJson(context, section.file, value))] : []),
    ...(folder === undefined || name === undefined
      ? []
      : planTree(context, option, join(source.root, folder), source.root, name)),
    ...(found === undefined || archivedAs === undefined
      ? []
      : planTree(context, option, found.path, found.workspace.path, archivedAs)),
  ];
  return planned.length > 0
    ? planned
    : [{ item: itemOf(option, "skipped", "OpenClaw has no such settings") }];
}

/** `exec-approvals.json`, without credentials. */
export function planCommandAllowlist(context: PlanContext): PlannedItem[] {
  const { source } = context;
  const path = join(source.root, "exec-approvals.json");
  const text = source.files.readText(path, source.root);
  if (text.ok && text.value === undefined)
    return [{ item: itemOf("command-allowlist", "skipped", "No exec-approvals.json found") }];
  const value = jsonOf(text.ok ? text.value : undefined);
  if (value === undefined)
    return [
      {
        item: itemOf("command-allowlist", "error", text.ok ? "It is not JSON" : text.error, { source: path }),
      },
    ];
  return [planJson(context, "command-allowlist", archivedJson(context, "exec-approvals.json", value), path)];
}

export function planJson(
  context: PlanContext,
  kind: string,
  file: NewArchiveFile,
  source = context.source.configPath ?? context.source.root,
): PlannedItem {
  return archiveItem(context, kind, { source, name: file.name, files: [file] });
}
