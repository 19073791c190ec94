// Honcho's settings: the block of this profile in the file, then the root of the file, then the environment; and how setup saves them.
import { err, ok, outsideJsonOr, pyStrip, type Result } from "@hermes-memory/core/internal/lib";
import { checkAnswer, readBoolean, readText } from "@hermes-memory/core/internal/providers";
import {
  COMMON,
  choice,
  flag,
  MODE,
  type Place,
  type Setting,
  type SettingsTable,
  setting,
  settingsTable,
  text,
  typedAnswer,
  type ValuesOf,
} from "../kit/networked/settings.ts";
import {
  editHonchoFile,
  type HonchoFile,
  type HonchoPlace,
  readHonchoFile,
  recordOf,
  renamedPin,
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

const CLOUD_URL = "https://api.honcho.dev";
const LOCAL_URL = "http://localhost:8000";
const DEFAULT_TIMEOUT_S = 30;
/** Limits of the server. */
const MESSAGE_CHARS = 25_000;
const QUESTION_CHARS = 10_000;

// ---- The rows ----

const level = (key: string, standard: Level, description?: string) =>
  choice(key, LEVELS, description === undefined ? {} : { description }, standard);

type Bounds = { readonly max?: number; readonly min?: number; readonly description?: string };

/** A whole number; the standard for anything below the least. */
function count<T extends number | undefined>(
  key: string,
  standard: T,
  { max = Number.MAX_SAFE_INTEGER, min = 1, description }: Bounds = {},
): Setting<number | T> {
  const bounds = { minimum: min, ...(max === Number.MAX_SAFE_INTEGER ? {} : { maximum: max }) };
  const asked = description === undefined ? {} : { description };
  return setting(key, { ...asked, ...bounds, type: "integer" }, (value) => {
    const found = wholeNumber(value, max);
    return found === undefined ? standard : Math.max(min, found);
  });
}

const dialecticCadence = count("dialecticCadence", 1, {
  description: "Turns between two questions to Honcho's model",
});

const ROWS = {
  givenUrl: text("baseUrl", { description: "Address of your own Honcho server; empty for the cloud" }),
  apiKey: text("apiKey", {
    description: "Honcho API key (cloud), or the token of your own server",
    secret: true,
    env_var: "HONCHO_API_KEY",
    url: "https://app.honcho.dev",
  }),
  peerName: text("peerName", { description: "Your name in Honcho" }),
  aiPeer: text("aiPeer", { description: "The agent's name in Honcho" }),
  workspace: text("workspace", { description: "Workspace" }),
  /** "" when it is not set. */
  observationMode: setting(
    "observationMode",
    {
      description: "unified: the agent learns about you; directional: both learn about each other",
      choices: ["unified", "directional"],
      default: "unified",
    },
    (value) => textOf(value).toLowerCase(),
  ),
  writeFrequency: setting(
    "writeFrequency",
    { description: "When messages are sent: async, turn, session, or every N turns", default: "async" },
    (value): WriteFrequency => {
      const turns = wholeNumber(value, 1_000);
      if (turns !== undefined) return { kind: "every", turns };
      const word = textOf(value).toLowerCase();
      return { kind: (["turn", "session"] as const).find((each) => each === word) ?? "async" };
    },
  ),
  /** `recallMode` in the file. */
  mode: MODE,
  /** Undefined: recall is not cut by tokens. */
  contextTokens: count("contextTokens", undefined, {
    max: 100_000,
    description: "Longest recall in tokens; empty for no limit",
  }),
  // Setup offers a wider one than that of a file without the key.
  dialecticCadence: { ...dialecticCadence, field: { ...dialecticCadence.field, default: "2" } },
  level: level("dialecticReasoningLevel", "low", "How hard Honcho's model thinks"),
  sessionStrategy: choice("sessionStrategy", STRATEGIES, { description: "What one Honcho session is" }),
  ...COMMON,

  // Not asked for in setup.
  enabled: setting("enabled", { type: "boolean" }, (value): unknown => value),
  environment: text("environment", { env: "HONCHO_ENVIRONMENT" }),
  timeout: setting("timeout", { type: "number", minimum: 1 }, (value): unknown => value),
  isPinned: flag("pinUserPeer", false),
  aliases: setting("userPeerAliases", {}, textMap),
  peerPrefix: text("runtimePeerPrefix"),
  startsEagerly: flag("initOnSessionStart", false),
  savesMessages: flag("saveMessages", true),
  hasSessionPrefix: flag("sessionPeerPrefix", false),
  contextCadence: count("contextCadence", 1),
  injectionFrequency: choice("injectionFrequency", ["every-turn", "first-turn"]),
  /** Whether depth, message length and the tool's argument may change the level. */
  hasDynamicLevel: flag("dialecticDynamic", true),
  maxAnswerChars: count("dialecticMaxChars", 600),
  maxInputChars: count("dialecticMaxInputChars", QUESTION_CHARS, { max: QUESTION_CHARS }),
  depth: count("dialecticDepth", 1, { max: 3 }),
  depthLevels: setting("dialecticDepthLevels", {}, (value): readonly unknown[] | undefined =>
    Array.isArray(value) ? value : undefined,
  ),
  includesQuery: flag("dialecticIncludeQuery", true),
  hasHeuristic: flag("reasoningHeuristic", true),
  levelCap: level("reasoningLevelCap", "high"),
  messageMaxChars: count("messageMaxChars", MESSAGE_CHARS, { min: 50, max: MESSAGE_CHARS }),
};

/** Values that are objects or lists in the file. */
const JSON_KEYS = ["userPeerAliases", "dialecticDepthLevels"];
/** Settings that belong to all profiles, at the root of the file. */
const ROOT_KEYS = ["baseUrl", "timeout"];

type Rows = ValuesOf<typeof ROWS>;
export type HonchoSettings = Omit<
  Rows,
  "givenUrl" | "enabled" | "environment" | "timeout" | "depthLevels"
> & {
  readonly file: HonchoFile;
  readonly isEnabled: boolean;
  /** What is sent as the bearer token: the key, or `local` for a server on this machine. "" for no header, or for user and password. */
  readonly bearer: string;
  /** Whether a URL was configured. */
  readonly hasBaseUrl: boolean;
  readonly baseUrl: string;
  /** To show: without a user and password. */
  readonly publicUrl: string;
  readonly timeoutMs: number;
  readonly observation: Observation;
  readonly sessions: Readonly<Record<string, string>>;
  readonly injectsFirstTurnOnly: boolean;
  readonly depthLevels: readonly Level[] | undefined;
};

const TABLE = settingsTable("honcho.json", ROWS, {
  wins: "file",
  load: (place) => {
    const { host, root, problem } = readHonchoFile(place);
    const own = Object.entries(renamedPin(host)).filter(([, value]) => value !== null && value !== "");
    const merged: Values = { ...renamedPin(root), ...Object.fromEntries(own) };
    // These replace the root's also when they are empty.
    const whole = {
      userPeerAliases: host.userPeerAliases ?? root.userPeerAliases,
      runtimePeerPrefix: host.runtimePeerPrefix ?? root.runtimePeerPrefix,
    };
    const ofRoot = { baseUrl: withoutCredentials(textOf(root.baseUrl)), timeout: root.timeout };
    const values = { ...merged, ...whole, ...ofRoot, mode: merged.recallMode };
    return { values, ...(problem === undefined ? {} : { problem }) };
  },
});

export const SETTABLE_FIELDS = TABLE.allFields;

/** `userHome`: where other programs keep Honcho's configuration. */
export function honchoSettings(userHome: string | undefined): SettingsTable<HonchoSettings> {
  const placed = (place: Place): HonchoPlace => ({ userHome, ...place });
  return {
    ...TABLE,
    read: (place) => readHonchoSettings(placed(place)),
    remarks: (place) => TABLE.remarks(placed(place)),
    saved: (place) => TABLE.saved(placed(place)),
    save: (values, home) => void saveHonchoSettings(placed({ home, env: process.env }), values),
  };
}

export function readHonchoSettings(place: HonchoPlace): HonchoSettings {
  const { env } = place;
  const file = readHonchoFile(place);
  const { host, root, hostKey } = file;
  const { givenUrl: _, enabled, environment, timeout, depthLevels: levels, ...settings } = TABLE.read(place);
  const { apiKey, depth, observationMode } = settings;
  const givenUrl =
    [textOf(root.baseUrl), textOf(root.base_url), env.HONCHO_BASE_URL ?? ""]
      .map(serverAddress)
      .find((url) => url !== undefined) ?? "";
  const baseUrl = givenUrl || (environment === "local" ? LOCAL_URL : CLOUD_URL);
  const isLocal = /localhost|127\.0\.0\.1|::1/.test(baseUrl);
  const publicUrl = withoutCredentials(baseUrl);
  // A key for the cloud is not sent to a server on this machine; one that was given for that server is.
  const bearer =
    isLocal && file.isUsed && textOf(host.apiKey) === "" ? "local" : apiKey || (isLocal ? "local" : "");
  return {
    ...settings,
    file,
    isEnabled: readBoolean(enabled, apiKey !== "" || givenUrl !== ""),
    bearer: bearer === "local" && publicUrl !== baseUrl ? "" : bearer,
    hasBaseUrl: givenUrl !== "",
    baseUrl,
    publicUrl,
    timeoutMs: 1000 * (seconds(timeout, root.requestTimeout, env.HONCHO_TIMEOUT) ?? DEFAULT_TIMEOUT_S),
    workspace: serverId(settings.workspace || (file.isUsed ? hostKey : "hermes")) || "hermes",
    aiPeer: settings.aiPeer || hostKey,
    observation: observationOf(observationMode, host.observation ?? root.observation, {
      isConfigured: Object.keys(host).length > 0 || root.enabled === true,
    }),
    sessions: textMap(root.sessions),
    injectsFirstTurnOnly: settings.injectionFrequency === "first-turn",
    depthLevels:
      levels &&
      Array.from({ length: depth }, (_, pass) => LEVELS.find((each) => each === levels[pass]) ?? "low"),
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

function textOf(value: unknown): string {
  return typeof value === "string" ? readText(value, "") : "";
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

const DIRECTIONAL: Observation = {
  user: { observeMe: true, observeOthers: true },
  ai: { observeMe: true, observeOthers: true },
};
const UNIFIED: Observation = {
  user: { observeMe: true, observeOthers: false },
  ai: { observeMe: false, observeOthers: true },
};

function observationOf(
  mode: string,
  single: unknown,
  { isConfigured }: { readonly isConfigured: boolean },
): Observation {
  const isUnified = mode === "" ? isConfigured : mode === "unified" || mode === "shared";
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
export function serverAddress(address: string): string | undefined {
  const given = pyStrip(address);
  const url = /^[A-Za-z0-9.-]+:\d+(\/|$)/.test(given) ? `http://${given}` : given;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return undefined;
  return url.replace(/\/+v\d+\/*$/, "").replace(/\/+$/, "");
}

function withoutCredentials(address: string): string {
  return address.replace(/^(https?:\/\/)[^/?#]*@/i, "$1");
}

/** Workspaces, peers and sessions have ids of ASCII letters, digits, `_` and `-`. */
export function serverId(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/gu, "-").slice(0, 512);
}

// ---- Saving ----

/** The answer, or why it is refused, as the continuation of a sentence after the key. "" removes a setting. */
export function checkSetting(key: string, answer: string): Result<string, string> {
  const field = SETTABLE_FIELDS.find((each) => each.key === key);
  const given = pyStrip(answer);
  if (field === undefined) return err("is no setting of Honcho");
  if (given === "") return ok("");
  if (key === "baseUrl" && serverAddress(given) === undefined)
    return err("must begin with http:// or https://, or be host:port");
  if (key === "writeFrequency" && !/^(async|turn|session|[1-9]\d*)$/.test(given))
    return err("must be async, turn, session or a number of turns");
  if (JSON_KEYS.includes(key) && typeof outsideJsonOr(given, undefined) !== "object")
    return err("must be JSON");
  // Of a boolean every word is taken that a file may have.
  return checkAnswer(field.type === "boolean" ? { ...field, choices: undefined } : field, given);
}

/** Saves answers in the block of this profile; the server's address belongs to all of them. An empty answer removes the key. */
export function saveHonchoSettings(place: HonchoPlace, answers: Readonly<Record<string, string>>): string {
  const changes = Object.entries(answers).map(
    ([key, answer]) => [key === "mode" ? "recallMode" : key, savedValue(key, pyStrip(answer))] as const,
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
  if (answer === "") return undefined;
  if (key === "baseUrl") return serverAddress(answer);
  if (JSON_KEYS.includes(key)) return outsideJsonOr(answer, undefined);
  if (key === "writeFrequency" && /^\d+$/.test(answer)) return Number(answer);
  return typedAnswer(
    SETTABLE_FIELDS.find((field) => field.key === key),
    answer,
  );
}
