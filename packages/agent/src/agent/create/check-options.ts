// Checks the options of `createAgent` before anything is opened: unknown names, values of a wrong type, options that exclude each other.
// An ignored option would be a mistake that nobody sees, and some of them decide whose memory is used.
import { nearest } from "@hermes-memory/core/internal/config";
import { checkEngine } from "@hermes-memory/core/internal/context";
import { HermesError, isRecord } from "@hermes-memory/core/internal/lib";
import { checkProvider } from "@hermes-memory/core/internal/providers";
import { isPlausibleWindow } from "../../models/index.ts";
import type { AgentHooks, AgentOptions, ChatIdentity } from "../agent-options.ts";

type Kind = "text" | "flag" | "number" | "object" | "list" | "function" | "any";

const KINDS: Readonly<Record<keyof AgentOptions, Kind>> = {
  memory: "object",
  home: "text",
  user: "any", // `home.user` checks it
  administrator: "flag",
  chatId: "text",
  config: "object",
  model: "any", // an AI SDK model may be a text; `fromSdkModel` checks it
  contextLength: "number",
  selection: "object",
  identity: "text",
  instructions: "text",
  tools: "object",
  readOnlyTools: "list",
  toolsets: "any",
  provider: "any",
  contextEngine: "any",
  store: "any",
  resume: "text",
  continueLast: "flag",
  sessionId: "text",
  platform: "text",
  platformHint: "text",
  chat: "object",
  contextFiles: "flag",
  cwd: "text",
  ephemeralSystemPrompt: "text",
  prefillMessages: "any", // `givenMessages` checks both lists
  skipMemory: "flag",
  passSessionId: "flag",
  maxTurns: "number",
  history: "any",
  hooks: "object",
  onEvent: "function",
  approve: "function",
  log: "object",
  clock: "object",
  env: "object",
  waitForRetry: "function",
  delegatedBy: "object",
  review: "flag",
  titles: "flag",
};

const IN_WORDS: Readonly<Record<Kind, string>> = {
  text: "a text",
  flag: "true or false",
  number: "a number",
  object: "an object",
  list: "a list",
  function: "a function",
  any: "",
};

/** Names of earlier versions, and names that other libraries use. */
const RENAMED: Readonly<Record<string, string>> = {
  userId: "Pass user: { platform, id }, or the memory of that user as 'memory'.",
  userName: "Pass chat: { userName }.",
  skipContextFiles: "Context files are read only with contextFiles: true.",
  systemMessage: "It is called 'instructions' now; 'identity' says who the agent is.",
  system: "Pass 'instructions', or 'identity' for who the agent is.",
  systemPrompt: "Pass 'instructions', or 'identity' for who the agent is.",
  memoryProvider: "It is called 'provider'.",
  engine: "It is called 'contextEngine'.",
  messages: "It is called 'history'.",
  maxSteps: "It is called 'maxTurns'.",
  threadId: "Pass 'chatId' for the conversation, or chat: { threadId } for the memory provider.",
};

const CHAT_FIELDS: Readonly<Record<keyof ChatIdentity, true>> = {
  id: true,
  name: true,
  type: true,
  threadId: true,
  gatewaySessionKey: true,
  userName: true,
  userIdAlt: true,
};

const HOOKS: Readonly<Record<keyof AgentHooks, true>> = {
  preModelCall: true,
  preToolCall: true,
  transformOutput: true,
  turnEnd: true,
  sessionStart: true,
  reviewDue: true,
};

/** Throws `bad-option`. */
export function checkOptions(options: AgentOptions): void {
  if (!isRecord(options)) throw badOption("createAgent needs an object of options.", WHOSE);
  for (const [name, value] of Object.entries(options)) {
    refuseUnknown(name);
    if (value !== undefined) checkKind(name, KINDS[name as keyof AgentOptions], value);
  }
  checkWhose(options);
  checkConfig(options.config);
  checkWindow(options.contextLength);
  checkFields("chat", options.chat ?? {}, CHAT_FIELDS, "text");
  // A gate with a misspelt name would let every tool run.
  checkFields("hooks", options.hooks ?? {}, HOOKS, "function");
  checkTurns(options.maxTurns);
  checkPlugins(options);
  if (options.identity?.trim() === "")
    throw badOption("The option identity is empty.", "Say who the agent is, or leave the option out.");
  const named = (["chatId", "sessionId", "resume"] as const).filter((name) => options[name] !== undefined);
  if (options.continueLast && options.chatId !== undefined) named.push("resume");
  if (options.chatId !== undefined && named.length > 1)
    throw badOption(
      "The option chatId names the conversation, and so does another one.",
      "Pass chatId without sessionId, resume and continueLast.",
    );
}

function refuseUnknown(name: string): void {
  if (Object.hasOwn(KINDS, name)) return;
  const advice = Object.hasOwn(RENAMED, name) ? RENAMED[name] : undefined;
  const close = nearest(name, Object.keys(KINDS));
  const meant = close === undefined ? "" : `Did you mean '${close}'? `;
  throw badOption(
    `createAgent has no option '${name}'.`,
    advice ?? `${meant}The type AgentOptions and docs/agent.md list the options.`,
  );
}

function checkKind(name: string, kind: Kind, value: unknown): void {
  if (isOfKind(kind, value)) return;
  const given = value === null ? "null" : Array.isArray(value) ? "a list" : typeof value;
  throw badOption(`The option ${name} is ${given}.`, `It takes ${IN_WORDS[kind]}.`);
}

function isOfKind(kind: Kind, value: unknown): boolean {
  switch (kind) {
    case "text":
      return typeof value === "string";
    case "flag":
      return typeof value === "boolean";
    case "number":
      return typeof value === "number" && !Number.isNaN(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "list":
      return Array.isArray(value);
    case "function":
      return typeof value === "function";
    case "any":
      return true;
    default:
      return kind satisfies never;
  }
}

const WHOSE =
  "Pass the memory of a person (memory: openMemory(...).user(...)), or home: the path of the directory.";

/** `memory: undefined` is refused like `user: undefined`: the caller has lost the person, and must not get another one's memory. */
function checkWhose(options: AgentOptions): void {
  const { memory, home, administrator } = options;
  if ("memory" in options && !isUserMemory(memory)) {
    const isWhole = isRecord(memory) && "owner" in memory && "user" in memory;
    throw badOption(
      isWhole
        ? "The option memory is the memory of a whole home, and not of one person."
        : "The option memory is not the memory of a person.",
      "Pass memory.owner or memory.user({ platform, id }) of what openMemory returned.",
    );
  }
  if (memory === undefined && home === undefined)
    throw badOption("createAgent does not know whose agent it makes.", WHOSE);
  if (administrator && (memory !== undefined || "user" in options))
    throw badOption(
      "An administrator's agent works over the sessions of all users, and not for the one that is named as well.",
      "Pass either administrator: true with home, or the person.",
    );
}

function isUserMemory(value: unknown): boolean {
  return isRecord(value) && isRecord(value.layers) && isRecord(value.layers.memory);
}

/** The keys of a file have other names than those of a loaded config, which has a value for each. */
function checkConfig(config: unknown): void {
  if (config === undefined || (isRecord(config) && isRecord(config.raw) && isRecord(config.auxiliary)))
    return;
  throw badOption(
    "The option config is not a loaded config.",
    "Pass the 'value' of what loadConfig(home) of @hermes-memory/core/config returned, or leave it out for config.yaml. The window of a model is the option contextLength.",
  );
}

function checkWindow(tokens: number | undefined): void {
  if (tokens === undefined || isPlausibleWindow(tokens)) return;
  throw badOption(
    `The option contextLength is ${tokens}.`,
    "It is the number of tokens that the model takes, such as 128000.",
  );
}

function checkTurns(calls: number | undefined): void {
  if (calls === undefined || (Number.isInteger(calls) && calls > 0)) return;
  throw badOption(
    `The option maxTurns is ${calls}.`,
    "It is the most model calls of one turn: a whole number from 1 on.",
  );
}

function checkFields(
  option: string,
  value: object,
  fields: Readonly<Record<string, true>>,
  kind: Kind,
): void {
  for (const [name, field] of Object.entries(value)) {
    const close = nearest(name, Object.keys(fields));
    if (!Object.hasOwn(fields, name))
      throw badOption(
        `The option ${option} has no field '${name}'.`,
        close === undefined
          ? `Its fields are ${Object.keys(fields).join(", ")}.`
          : `Did you mean '${close}'?`,
      );
    if (field !== undefined) checkKind(`${option}.${name}`, kind, field);
  }
}

function checkPlugins({ provider, contextEngine, skipMemory }: AgentOptions): void {
  if (provider !== undefined && provider !== false) {
    if (skipMemory)
      throw badOption("With skipMemory the provider would not be used.", "Leave one of the two options out.");
    const checked = checkProvider(provider);
    if (!checked.ok)
      throw badOption(
        `The option provider ${checked.error.message}.`,
        "Pass an object that fulfils MemoryProvider, or false for none.",
      );
  }
  if (contextEngine === undefined) return;
  const checked = checkEngine(contextEngine);
  if (!checked.ok)
    throw badOption(
      `The option contextEngine ${checked.error}.`,
      "Pass an object that fulfils ContextEngine, or leave the option out for the one that config selects.",
    );
}

export function badOption(message: string, hint: string): HermesError {
  return new HermesError("bad-option", message, { hint });
}
