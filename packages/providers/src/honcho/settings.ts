// Honcho's settings: the block of this profile in the file, then the root of the file, then the environment; and the questions of setup.
import { outsideJsonOr, pyStrip } from "@hermes-memory/core/internal/lib";
import type { ConfigField } from "@hermes-memory/core/internal/providers";
import { readBoolean } from "@hermes-memory/core/internal/providers";
import type { CommonSettings } from "../kit/networked/service.ts";
import { COMMON_FIELDS, MODE_FIELD, readCommon } from "../kit/networked/settings.ts";
import {
  editHonchoFile,
  type HonchoFile,
  type HonchoPlace,
  readHonchoFile,
  recordOf,
  type Values,
  withHostValues,
} from "./config-file.ts";

export const LEVELS = ["minimal", "low", "medium", "high", "max"] as const;
export type Level = (typeof LEVELS)[number];

export const STRATEGIES = ["per-directory", "per-session", "per-repo", "global"] as const;
export type SessionStrategy = (typeof STRATEGIES)[number];

/** Who observes whom in a session: `observeMe` lets Honcho learn about the peer, `observeOthers` lets the peer learn about the others. */
export type PeerFlags = { readonly observeMe: boolean; readonly observeOthers: boolean };
export type Observation = { readonly user: PeerFlags; readonly ai: PeerFlags };

type WriteFrequency =
  | { readonly kind: "async" | "turn" | "session" }
  | { readonly kind: "every"; readonly turns: number };

export type HonchoSettings = CommonSettings & {
  readonly file: HonchoFile;
  readonly isEnabled: boolean;
  /** "" for none. */
  readonly apiKey: string;
  /** What is sent as the bearer token: the key, or `local` for a server on this machine. "" for no header, or for user and password. */
  readonly bearer: string;
  /** Whether a URL was configured. */
  readonly hasBaseUrl: boolean;
  readonly baseUrl: string;
  /** To show: without a user and password. */
  readonly publicUrl: string;
  readonly timeoutMs: number;
  readonly workspace: string;
  readonly peerName: string;
  readonly aiPeer: string;
  readonly isPinned: boolean;
  readonly aliases: Readonly<Record<string, string>>;
  readonly peerPrefix: string;
  readonly startsEagerly: boolean;
  readonly observation: Observation;
  readonly savesMessages: boolean;
  readonly writeFrequency: WriteFrequency;
  readonly sessionStrategy: SessionStrategy;
  readonly hasSessionPrefix: boolean;
  readonly sessions: Readonly<Record<string, string>>;
  /** Undefined: recall is not cut by tokens. */
  readonly contextTokens: number | undefined;
  readonly contextCadence: number;
  readonly dialecticCadence: number;
  readonly injectsFirstTurnOnly: boolean;
  readonly level: Level;
  /** Whether depth, message length and the tool's argument may change the level. */
  readonly hasDynamicLevel: boolean;
  readonly maxAnswerChars: number;
  readonly maxInputChars: number;
  readonly depth: number;
  readonly depthLevels: readonly Level[] | undefined;
  readonly hasHeuristic: boolean;
  readonly levelCap: Level;
  readonly messageMaxChars: number;
  readonly includesQuery: boolean;
};

const CLOUD_URL = "https://api.honcho.dev";
const LOCAL_URL = "http://localhost:8000";
const DEFAULT_TIMEOUT_S = 30;
/** Limits of the server. */
const MESSAGE_CHARS = 25_000;
const QUESTION_CHARS = 10_000;

export function readHonchoSettings(place: HonchoPlace): HonchoSettings {
  const { env } = place;
  const file = readHonchoFile(place);
  const { host, root, hostKey } = file;
  const at = (key: string): unknown => present(host[key]) ?? present(root[key]);
  const text = (key: string, standard = ""): string => textOf(at(key)) || standard;
  const yes = (key: string, standard: boolean): boolean => readBoolean(at(key), standard);
  const count = (key: string, standard: number, max = Number.MAX_SAFE_INTEGER): number =>
    wholeNumber(at(key), max) ?? standard;

  const apiKey = text("apiKey") || pyStrip(env.HONCHO_API_KEY ?? "");
  const givenUrl =
    [textOf(root.baseUrl), textOf(root.base_url), env.HONCHO_BASE_URL ?? ""]
      .map(serverAddress)
      .find((url) => url !== undefined) ?? "";
  const environment = text("environment") || pyStrip(env.HONCHO_ENVIRONMENT ?? "");
  const baseUrl = givenUrl || (environment === "local" ? LOCAL_URL : CLOUD_URL);
  const isLocal = /localhost|127\.0\.0\.1|::1/.test(baseUrl);
  const publicUrl = withoutCredentials(baseUrl);
  // A key for the cloud is not sent to a server on this machine; one that was given for that server is.
  const bearer =
    isLocal && file.isUsed && textOf(host.apiKey) === "" ? "local" : apiKey || (isLocal ? "local" : "");
  const depth = Math.min(3, Math.max(1, count("dialecticDepth", 1)));
  const levels = at("dialecticDepthLevels");
  return {
    ...readCommon({
      mode: at("recallMode"),
      user_scope: at("user_scope"),
      mirror_memory: at("mirror_memory"),
      max_chars: at("max_chars"),
    }),
    file,
    isEnabled: yes("enabled", apiKey !== "" || givenUrl !== ""),
    apiKey,
    bearer: bearer === "local" && publicUrl !== baseUrl ? "" : bearer,
    hasBaseUrl: givenUrl !== "",
    baseUrl,
    publicUrl,
    timeoutMs: 1000 * (seconds(root.timeout, root.requestTimeout, env.HONCHO_TIMEOUT) ?? DEFAULT_TIMEOUT_S),
    workspace: serverId(text("workspace", file.isUsed ? hostKey : "hermes")) || "hermes",
    peerName: text("peerName"),
    aiPeer: text("aiPeer", hostKey),
    isPinned: readBoolean(
      present(host.pinUserPeer) ??
        present(host.pinPeerName) ??
        present(root.pinUserPeer) ??
        present(root.pinPeerName),
      false,
    ),
    aliases: textMap(host.userPeerAliases ?? root.userPeerAliases),
    peerPrefix: textOf(host.runtimePeerPrefix ?? root.runtimePeerPrefix),
    startsEagerly: yes("initOnSessionStart", false),
    observation: observationOf(at("observationMode"), at("observation"), {
      isConfigured: Object.keys(host).length > 0 || root.enabled === true,
    }),
    savesMessages: yes("saveMessages", true),
    writeFrequency: frequencyOf(at("writeFrequency")),
    sessionStrategy: oneOf(STRATEGIES, at("sessionStrategy"), "per-directory"),
    hasSessionPrefix: yes("sessionPeerPrefix", false),
    sessions: textMap(root.sessions),
    contextTokens: wholeNumber(at("contextTokens"), 100_000),
    contextCadence: count("contextCadence", 1),
    dialecticCadence: count("dialecticCadence", 1),
    injectsFirstTurnOnly: text("injectionFrequency") === "first-turn",
    level: oneOf(LEVELS, at("dialecticReasoningLevel"), "low"),
    hasDynamicLevel: yes("dialecticDynamic", true),
    maxAnswerChars: count("dialecticMaxChars", 600),
    maxInputChars: count("dialecticMaxInputChars", QUESTION_CHARS, QUESTION_CHARS),
    depth,
    depthLevels: Array.isArray(levels)
      ? Array.from({ length: depth }, (_, pass) => oneOf(LEVELS, levels[pass], "low"))
      : undefined,
    hasHeuristic: yes("reasoningHeuristic", true),
    levelCap: oneOf(LEVELS, at("reasoningLevelCap"), "high"),
    messageMaxChars: Math.max(50, count("messageMaxChars", MESSAGE_CHARS, MESSAGE_CHARS)),
    includesQuery: yes("dialecticIncludeQuery", true),
  };
}

/** Why Honcho cannot be used and what to do; undefined: it can. */
export function missingIn({ apiKey, hasBaseUrl, isEnabled, file }: HonchoSettings): string | undefined {
  if (apiKey === "" && !hasBaseUrl)
    return "Honcho has neither an API key nor a server address. Run 'hermes memory setup honcho', or set HONCHO_API_KEY or HONCHO_BASE_URL.";
  if (!isEnabled)
    return `Honcho is switched off: 'enabled' is false in ${file.path}. 'hermes honcho enable' switches it on.`;
  return undefined;
}

// ---- Reading values ----

function present(value: unknown): unknown {
  return value === null || value === "" ? undefined : value;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? pyStrip(value) : "";
}

function oneOf<T extends string>(choices: readonly T[], value: unknown, standard: T): T {
  const word = textOf(value).toLowerCase();
  return choices.find((choice) => choice === word) ?? standard;
}

/** A whole number of at least 1, also as text. */
function wholeNumber(value: unknown, max: number): number | undefined {
  const number = typeof value === "string" && pyStrip(value) !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isInteger(number) || number < 1) return undefined;
  return Math.min(number, max);
}

/** The first positive number. */
function seconds(...values: readonly unknown[]): number | undefined {
  return values
    .map((value) => (typeof value === "string" && pyStrip(value) !== "" ? Number(value) : value))
    .find((value): value is number => typeof value === "number" && Number.isFinite(value) && value > 0);
}

function textMap(value: unknown): Readonly<Record<string, string>> {
  const pairs = Object.entries(recordOf(value)).map(([key, each]) => [pyStrip(key), textOf(each)] as const);
  return Object.fromEntries(pairs.filter(([key, each]) => key !== "" && each !== ""));
}

function frequencyOf(value: unknown): WriteFrequency {
  const turns = wholeNumber(value, 1_000);
  if (turns !== undefined) return { kind: "every", turns };
  return { kind: oneOf(["async", "turn", "session"] as const, value, "async") };
}

const DIRECTIONAL: Observation = {
  user: { observeMe: true, observeOthers: true },
  ai: { observeMe: true, observeOthers: true },
};
const UNIFIED: Observation = {
  user: { observeMe: true, observeOthers: false },
  ai: { observeMe: false, observeOthers: true },
};

function observationOf(
  mode: unknown,
  single: unknown,
  { isConfigured }: { readonly isConfigured: boolean },
): Observation {
  const word = textOf(mode).toLowerCase();
  const isUnified = word === "" ? isConfigured : word === "unified" || word === "shared";
  const preset = isUnified ? UNIFIED : DIRECTIONAL;
  const flags = (of: "user" | "ai"): PeerFlags => {
    const own = recordOf(recordOf(single)[of]);
    return {
      observeMe: readBoolean(own.observeMe, preset[of].observeMe),
      observeOthers: readBoolean(own.observeOthers, preset[of].observeOthers),
    };
  };
  return { user: flags("user"), ai: flags("ai") };
}

/** Without a version at its end and without trailing slashes. Undefined for a text that is no address: `true`, digits, other schemes. */
export function serverAddress(text: string): string | undefined {
  const given = pyStrip(text);
  const url = /^[A-Za-z0-9.-]+:\d+(\/|$)/.test(given) ? `http://${given}` : given;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return undefined;
  return url.replace(/\/+v\d+\/*$/, "").replace(/\/+$/, "");
}

function withoutCredentials(address: string): string {
  return address.replace(/^(https?:\/\/)[^/?#]*@/i, "$1");
}

/** Workspaces, peers and sessions have ids of ASCII letters, digits, `_` and `-`. */
export function serverId(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/gu, "-").slice(0, 512);
}

// ---- Setup ----

export const HONCHO_FIELDS: readonly ConfigField[] = [
  {
    key: "baseUrl",
    description: "Address of your own Honcho server; empty for the cloud",
  },
  {
    key: "apiKey",
    description: "Honcho API key (cloud), or the token of your own server",
    secret: true,
    env_var: "HONCHO_API_KEY",
    url: "https://app.honcho.dev",
  },
  { key: "peerName", description: "Your name in Honcho" },
  { key: "aiPeer", description: "The agent's name in Honcho" },
  { key: "workspace", description: "Workspace" },
  {
    key: "observationMode",
    description: "unified: the agent learns about you; directional: both learn about each other",
    choices: ["unified", "directional"],
    default: "unified",
  },
  {
    key: "writeFrequency",
    description: "When messages are sent: async, turn, session, or every N turns",
    default: "async",
  },
  MODE_FIELD,
  {
    key: "contextTokens",
    description: "Longest recall in tokens; empty for no limit",
    type: "integer",
    minimum: 1,
    maximum: 100_000,
  },
  {
    key: "dialecticCadence",
    description: "Turns between two questions to Honcho's model",
    type: "integer",
    minimum: 1,
    default: "2",
  },
  {
    key: "dialecticReasoningLevel",
    description: "How hard Honcho's model thinks",
    choices: LEVELS,
    default: "low",
  },
  {
    key: "sessionStrategy",
    description: "What one Honcho session is",
    choices: STRATEGIES,
    default: "per-directory",
  },
  ...COMMON_FIELDS,
];

/** Settings that setup takes with `--set` and does not ask for. */
const MORE_FIELDS: readonly ConfigField[] = [
  { key: "enabled", type: "boolean" },
  { key: "environment", choices: ["production", "local"] },
  { key: "timeout", type: "number", minimum: 1 },
  { key: "pinUserPeer", type: "boolean" },
  { key: "userPeerAliases", description: "userPeerAliases as JSON, {} for none" },
  { key: "runtimePeerPrefix" },
  { key: "initOnSessionStart", type: "boolean" },
  { key: "saveMessages", type: "boolean" },
  { key: "sessionPeerPrefix", type: "boolean" },
  { key: "contextCadence", type: "integer", minimum: 1 },
  { key: "injectionFrequency", choices: ["every-turn", "first-turn"] },
  { key: "dialecticDynamic", type: "boolean" },
  { key: "dialecticMaxChars", type: "integer", minimum: 1 },
  { key: "dialecticMaxInputChars", type: "integer", minimum: 1, maximum: QUESTION_CHARS },
  { key: "dialecticDepth", type: "integer", minimum: 1, maximum: 3 },
  { key: "dialecticDepthLevels" },
  { key: "dialecticIncludeQuery", type: "boolean" },
  { key: "reasoningHeuristic", type: "boolean" },
  { key: "reasoningLevelCap", choices: LEVELS },
  { key: "messageMaxChars", type: "integer", minimum: 50, maximum: MESSAGE_CHARS },
];

export const SETTABLE_FIELDS: readonly ConfigField[] = [...HONCHO_FIELDS, ...MORE_FIELDS];

/** Values that are objects or lists in the file. */
const JSON_KEYS = ["userPeerAliases", "dialecticDepthLevels"];
/** Settings with another name in the file. */
const FILE_KEYS: Readonly<Record<string, string>> = { mode: "recallMode" };
/** Settings that belong to all profiles, at the root of the file. */
const ROOT_KEYS = ["baseUrl", "timeout"];

/** Why the value is refused, as the continuation of a sentence after the key; undefined: it is fine. "" removes a setting. */
export function checkSetting(key: string, answer: string): string | undefined {
  const field = SETTABLE_FIELDS.find((each) => each.key === key);
  const text = pyStrip(answer);
  if (field === undefined) return "is no setting of Honcho";
  if (text === "") return undefined;
  if (field.choices !== undefined)
    return field.choices.includes(text) ? undefined : `must be one of ${field.choices.join(", ")}`;
  if (field.type === "boolean")
    return readBoolean(text, true) === readBoolean(text, false) ? undefined : "must be true or false";
  if (field.type === "integer" || field.type === "number") return numberProblem(field, Number(text));
  if (key === "baseUrl" && serverAddress(text) === undefined)
    return "must begin with http:// or https://, or be host:port";
  if (key === "writeFrequency" && !/^(async|turn|session|[1-9]\d*)$/.test(text))
    return "must be async, turn, session or a number of turns";
  if (JSON_KEYS.includes(key) && typeof outsideJsonOr(text, undefined) !== "object") return "must be JSON";
  return undefined;
}

function numberProblem({ type, minimum = 0, maximum = 1_000_000 }: ConfigField, number: number) {
  const fits = Number.isFinite(number) && number >= minimum && number <= maximum;
  if (fits && (type !== "integer" || Number.isInteger(number))) return undefined;
  return `must be a${type === "integer" ? " whole" : ""} number from ${minimum} to ${maximum}`;
}

/** Saves answers in the block of this profile; the server's address belongs to all of them. An empty answer removes the key. */
export function saveHonchoSettings(place: HonchoPlace, answers: Readonly<Record<string, string>>): string {
  const changes = Object.entries(answers).map(
    ([key, answer]) => [FILE_KEYS[key] ?? key, savedValue(key, answer)] as const,
  );
  const ofRoot = changes.filter(([key]) => ROOT_KEYS.includes(key));
  const ofHost = changes.filter(([key]) => !ROOT_KEYS.includes(key));
  return editHonchoFile(place, ({ root, hostKey }) => ({
    ...withHostValues(root, hostKey, Object.fromEntries(ofHost)),
    ...("baseUrl" in answers ? { base_url: undefined } : {}),
    ...Object.fromEntries(ofRoot),
  }));
}

function savedValue(key: string, answer: string): unknown {
  const text = pyStrip(answer);
  if (text === "") return undefined;
  if (key === "baseUrl") return serverAddress(text);
  if (JSON_KEYS.includes(key)) return outsideJsonOr(text, undefined);
  if (key === "writeFrequency" && /^\d+$/.test(text)) return Number(text);
  switch (SETTABLE_FIELDS.find((field) => field.key === key)?.type) {
    case "boolean":
      return readBoolean(text, false);
    case "integer":
    case "number":
      return Number(text);
    default:
      return text;
  }
}

/** The saved answers by their keys, without the API key and the password of an address: they are shown. */
export function savedHonchoSettings(place: HonchoPlace): Values {
  const { host, root } = readHonchoFile(place);
  const values = HONCHO_FIELDS.filter(({ secret }) => secret !== true).map(({ key }) => {
    const inFile = FILE_KEYS[key] ?? key;
    if (key === "baseUrl") return [key, withoutCredentials(textOf(root.baseUrl)) || undefined] as const;
    return [key, present(host[inFile]) ?? present(root[inFile])] as const;
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}
