// Settings of Supermemory: `<home>/supermemory.json`, three environment variables, and the names of the containers that follow from them.
import { pyStrip, sha256, takeCodePoints } from "@hermes-memory/core/internal/lib";
import type { ConfigField } from "@hermes-memory/core/internal/providers";
import { readBoolean, readNumber, readText } from "@hermes-memory/core/internal/providers";
import { safeId } from "../kit/networked/identity.ts";
import type { CommonSettings, Place } from "../kit/networked/service.ts";
import { COMMON_FIELDS, fileValues, MODE_FIELD, readCommon, saveValues } from "../kit/networked/settings.ts";

export const SETTINGS_FILE = "supermemory.json";
const CLOUD_URL = "https://api.supermemory.ai";
const DEFAULT_TAG = "hermes";
const MAX_TAG_CHARS = 100;
const MAX_CONTEXT_CHARS = 1500;
const MAX_CUSTOM_CONTAINERS = 50;

const SEARCH_MODES = ["hybrid", "memories", "documents"] as const;
export type SearchMode = (typeof SEARCH_MODES)[number];

/**
 * Not `both` by default as in the Python edition: our manager takes no two tools whose names differ only in `-` and `_`, warns, and then answers to
 * neither spelling of the refused one. A name that was never offered is repaired: `supermemory-search` calls `supermemory_search`.
 */
const TOOL_NAMES = ["snake", "kebab", "both"] as const;
type ToolNames = (typeof TOOL_NAMES)[number];

/** `word`: letters, digits and `_`, as in the Python edition; `server`: also `-` and `.`. */
const TAG_CHARSETS = ["word", "server"] as const;
type TagCharset = (typeof TAG_CHARSETS)[number];

export type SupermemorySettings = CommonSettings & {
  readonly apiKey: string;
  readonly baseUrl: string;
  /** As configured, with its placeholders. */
  readonly containerTag: string;
  readonly tagCharset: TagCharset;
  readonly isRecalling: boolean;
  readonly isCapturing: boolean;
  readonly maxResults: number;
  readonly profileFrequency: number;
  readonly searchMode: SearchMode;
  readonly entityContext: string;
  /** `entity_context` is set: it replaces what the container says. */
  readonly hasOwnContext: boolean;
  readonly timeoutMs: number;
  readonly hasCustomContainers: boolean;
  readonly customContainers: readonly string[];
  readonly containerInstructions: string;
  /** A running conversation is sent whenever this many turns have come together. */
  readonly captureTurns: number;
  readonly toolNames: ToolNames;
};

/** Tells the server what to keep of a text, where `entity_context` does not. */
const ENTITY_CONTEXT = [
  "The text is a conversation between a user and an assistant; each message begins with its role.",
  "Extract only what helps in a later conversation: lasting facts about the user, preferences, routines, tools they use, projects they work on,",
  "and whatever they explicitly ask to have remembered.",
  "Leave out intents that concern this conversation alone, actions of the assistant, details of an implementation, and reports of progress.",
  "When in doubt, extract less.",
].join(" ");

export const FIELDS: readonly ConfigField[] = [
  {
    key: "api_key",
    description: "Supermemory API key",
    secret: true,
    required: true,
    env_var: "SUPERMEMORY_API_KEY",
    url: "https://supermemory.ai",
  },
  {
    key: "base_url",
    description: "Address of the server, if it is not the cloud",
    env_var: "SUPERMEMORY_BASE_URL",
    default: CLOUD_URL,
  },
  {
    key: "container_tag",
    description: "Container of the memories; {identity} is the profile, {user} a user of a gateway",
    default: DEFAULT_TAG,
  },
  MODE_FIELD,
  {
    key: "auto_capture",
    description: "Send finished turns to the server",
    type: "boolean",
    choices: ["true", "false"],
    default: "true",
  },
  ...COMMON_FIELDS,
];

export function readSupermemorySettings(place: Place): SupermemorySettings {
  const file = fileValues(place, SETTINGS_FILE);
  const { env } = place;
  const whole = (key: string, standard: number, min: number, max: number) =>
    Math.round(readNumber(file[key], standard, { min, max }));
  const oneOf = <T extends string>(value: unknown, choices: readonly [T, ...T[]]): T =>
    choices.find((choice) => choice === readText(value, "").toLowerCase()) ?? choices[0];
  const containers = Array.isArray(file.custom_containers) ? file.custom_containers : [];
  return {
    ...readCommon(file),
    apiKey: pyStrip(env.SUPERMEMORY_API_KEY ?? ""),
    baseUrl: readText(env.SUPERMEMORY_BASE_URL, readText(file.base_url, CLOUD_URL)),
    containerTag: readText(env.SUPERMEMORY_CONTAINER_TAG, readText(file.container_tag, DEFAULT_TAG)),
    tagCharset: oneOf(file.tag_charset, TAG_CHARSETS),
    isRecalling: readBoolean(file.auto_recall, true),
    isCapturing: readBoolean(file.auto_capture, true),
    maxResults: whole("max_recall_results", 10, 1, 20),
    profileFrequency: whole("profile_frequency", 50, 1, 500),
    searchMode: oneOf(file.search_mode, SEARCH_MODES),
    entityContext: takeCodePoints(readText(file.entity_context, ENTITY_CONTEXT), MAX_CONTEXT_CHARS),
    hasOwnContext: readText(file.entity_context, "") !== "",
    timeoutMs: readNumber(file.api_timeout, 5, { min: 0.5, max: 15 }) * 1000,
    hasCustomContainers: readBoolean(file.enable_custom_container_tags, false),
    customContainers: containers
      .filter((each) => typeof each === "string" && pyStrip(each) !== "")
      .slice(0, MAX_CUSTOM_CONTAINERS),
    containerInstructions: readText(file.custom_container_instructions, ""),
    captureTurns: whole("capture_turns", 10, 1, 50),
    toolNames: oneOf(file.tool_names, TOOL_NAMES),
  };
}

/** As they were typed: container names are made legal when they are read, so that placeholders survive. */
export function saveSupermemorySettings(values: Readonly<Record<string, string>>, home: string): void {
  saveValues(values, FIELDS, { home, fileName: SETTINGS_FILE });
}

// ---- Containers ----

/** A container as the model and the user know it, and what it is called at the server. */
export type Container = { readonly name: string; readonly tag: string };

export type Containers = { readonly primary: Container; readonly custom: readonly Container[] };

/**
 * The containers of one user. The owner's are called as configured. A gateway user's have the user's id in `{user}`, or else at the end, and
 * a hash where that gives a container of the owner: two users never share one.
 */
export function containersOf(
  settings: SupermemorySettings,
  { identity, user }: { readonly identity: string; readonly user: string | undefined },
): Containers {
  const owners = namedContainers(settings, { identity, user: undefined });
  if (user === undefined) return owners;
  const taken = new Set([owners.primary, ...owners.custom].map(({ tag }) => tag));
  const apart = ({ name, tag }: Container): Container => ({
    name,
    tag: taken.has(tag) ? shortened(`${tag}_${sha256(user).slice(0, 12)}`) : tag,
  });
  const { primary, custom } = namedContainers(settings, { identity, user });
  return { primary: apart(primary), custom: custom.map(apart) };
}

function namedContainers(
  settings: SupermemorySettings,
  { identity, user }: { readonly identity: string; readonly user: string | undefined },
): Containers {
  const { containerTag, customContainers, tagCharset } = settings;
  const make = (template: string): Container => {
    const parts = template
      .replaceAll("{identity}", identity)
      .split("{user}")
      .map((part) => legalTag(part, tagCharset));
    const named = parts.filter((part) => part !== "");
    const name = named.join("_") || DEFAULT_TAG;
    if (user === undefined) return { name, tag: shortened(name) };
    const id = safeId(user, { foreign: /[^A-Za-z0-9]/, replacement: "_", maxChars: 40 });
    const [head = "", ...rest] = parts;
    const withUser =
      rest.length === 0 ? [head || DEFAULT_TAG, id] : [head, ...rest.flatMap((part) => [id, part])];
    return { name, tag: shortened(withUser.filter((part) => part !== "").join("_")) };
  };
  const primary = make(containerTag);
  const custom = settings.hasCustomContainers ? customContainers.map(make) : [];
  const isFirst = ({ name }: Container, index: number) =>
    name !== primary.name && custom.findIndex((other) => other.name === name) === index;
  return { primary, custom: custom.filter(isFirst) };
}

/** "" when nothing is left. */
export function legalTag(text: string, charset: TagCharset): string {
  const replaced = text.replace(charset === "word" ? /[^A-Za-z0-9_]/gu : /[^A-Za-z0-9_.-]/gu, "_");
  return replaced.replace(/_+/g, "_").replace(/^_|_$/g, "");
}

function shortened(tag: string): string {
  if (tag.length <= MAX_TAG_CHARS) return tag;
  return `${tag.slice(0, MAX_TAG_CHARS - 13)}_${sha256(tag).slice(0, 12)}`;
}
