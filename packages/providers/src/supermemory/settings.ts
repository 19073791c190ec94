// Settings of Supermemory: `<home>/supermemory.json`, three environment variables, and the names of the containers that follow from them.
import { pyStrip, sha256, takeCodePoints } from "@hermes-memory/core/internal/lib";
import { readText } from "@hermes-memory/core/internal/providers";
import { safeId } from "../kit/networked/identity.ts";
import {
  COMMON,
  choice,
  flag,
  integer,
  MODE,
  number,
  setting,
  settingsTable,
  text,
  type ValuesOf,
} from "../kit/networked/settings.ts";

const DEFAULT_TAG = "hermes";
const MAX_TAG_CHARS = 100;
const MAX_CONTEXT_CHARS = 1500;
const MAX_CUSTOM_CONTAINERS = 50;

/** `word`: letters, digits and `_`, as in the Python edition; `server`: also `-` and `.`. */
type TagCharset = "word" | "server";

/** Tells the server what to keep of a text, where `entity_context` does not. */
const ENTITY_CONTEXT = [
  "The text is a conversation between a user and an assistant; each message begins with its role.",
  "Extract only what helps in a later conversation: lasting facts about the user, preferences, routines, tools they use, projects they work on,",
  "and whatever they explicitly ask to have remembered.",
  "Leave out intents that concern this conversation alone, actions of the assistant, details of an implementation, and reports of progress.",
  "When in doubt, extract less.",
].join(" ");

const ROWS = {
  apiKey: text("api_key", {
    description: "Supermemory API key",
    secret: true,
    required: true,
    env_var: "SUPERMEMORY_API_KEY",
    isEnvOnly: true,
    url: "https://supermemory.ai",
  }),
  baseUrl: text("base_url", {
    description: "Address of the server, if it is not the cloud",
    env_var: "SUPERMEMORY_BASE_URL",
    default: "https://api.supermemory.ai",
  }),
  /** As configured, with its placeholders: container names are made legal when they are used. */
  containerTag: text("container_tag", {
    description: "Container of the memories; {identity} is the profile, {user} a user of a gateway",
    env: "SUPERMEMORY_CONTAINER_TAG",
    default: DEFAULT_TAG,
  }),
  mode: MODE,
  isCapturing: flag("auto_capture", true, { description: "Send finished turns to the server" }),
  ...COMMON,
  tagCharset: choice("tag_charset", ["word", "server"]),
  isRecalling: flag("auto_recall", true),
  maxResults: integer("max_recall_results", { standard: 10, min: 1, max: 20 }),
  profileFrequency: integer("profile_frequency", { standard: 50, min: 1, max: 500 }),
  searchMode: choice("search_mode", ["hybrid", "memories", "documents"]),
  /** `isOwn`: it is set, and replaces what the container says. */
  context: setting("entity_context", {}, (value) => ({
    text: takeCodePoints(readText(value, ENTITY_CONTEXT), MAX_CONTEXT_CHARS),
    isOwn: readText(value, "") !== "",
  })),
  timeoutS: number("api_timeout", { standard: 5, min: 0.5, max: 15 }),
  hasCustomContainers: flag("enable_custom_container_tags", false),
  customContainers: setting("custom_containers", {}, (value): readonly string[] =>
    (Array.isArray(value) ? value : [])
      .filter((each) => typeof each === "string" && pyStrip(each) !== "")
      .slice(0, MAX_CUSTOM_CONTAINERS),
  ),
  containerInstructions: text("custom_container_instructions"),
  /** A running conversation is sent whenever this many turns have come together. */
  captureTurns: integer("capture_turns", { standard: 10, min: 1, max: 50 }),
  /**
   * Not `both` by default as in the Python edition: our manager takes no two tools whose names differ only in `-` and `_`, warns, and then
   * answers to neither spelling of the refused one. A name that was never offered is repaired: `supermemory-search` calls `supermemory_search`.
   */
  toolNames: choice("tool_names", ["snake", "kebab", "both"]),
};

export type SupermemorySettings = ValuesOf<typeof ROWS>;
export type SearchMode = SupermemorySettings["searchMode"];

export const SUPERMEMORY_SETTINGS = settingsTable("supermemory.json", ROWS, { wins: "env" });

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
