// Checks the options of `createAgent` before anything is opened: unknown names, values of a wrong type, options that exclude each other.
// An ignored option would be a mistake that nobody sees, and some of them decide whose memory is used.
import { nearest } from "@hermes-memory/core/internal/config";
import { checkEngine } from "@hermes-memory/core/internal/context";
import { HermesError, isRecord } from "@hermes-memory/core/internal/lib";
import { checkProvider } from "@hermes-memory/core/internal/providers";
import { z } from "zod";
import { isPlausibleWindow } from "../../models/index.ts";
import type { AgentHooks, AgentOptions, ChatIdentity } from "../agent-options.ts";

// The error of each type ends the sentence "It takes ...".
const text = z.string("a text");
const flag = z.boolean("true or false");
const list = z.array(z.unknown(), "a list");
const anObject = z.custom<object>(isRecord, "an object");
const aFunction = z.custom<object>((value) => typeof value === "function", "a function");
const any = z.unknown();
const whoItIs = "a text that says who the agent is; leave it out for SOUL.md";
const turns = "a whole number from 1 on: the most model calls of one turn";

function all<Name extends string>(type: z.ZodType, ...names: readonly Name[]): Record<Name, z.ZodType> {
  return Object.fromEntries(names.map((name) => [name, type])) as Record<Name, z.ZodType>;
}

type Types<Of> = Record<keyof Of, z.ZodType>;

const CHAT_FIELDS: Types<ChatIdentity> = {
  ...all(text, "id", "name", "type", "threadId", "gatewaySessionKey", "userName", "userIdAlt"),
};
const CHAT = z.strictObject(CHAT_FIELDS, "an object").partial();

const HOOK_FIELDS: Types<AgentHooks> = {
  ...all(aFunction, "preModelCall", "preToolCall", "transformOutput", "turnEnd", "sessionStart", "reviewDue"),
};
/** A gate with a misspelt name would let every tool run. */
const HOOKS = z.strictObject(HOOK_FIELDS, "an object").partial();

const OPTIONS = z
  .strictObject({
    ...all(text, "home", "chatId", "instructions", "resume", "sessionId", "platform", "platformHint", "cwd"),
    ...all(text, "ephemeralSystemPrompt"),
    ...all(
      flag,
      "administrator",
      "continueLast",
      "contextFiles",
      "skipMemory",
      "passSessionId",
      "review",
      "titles",
    ),
    ...all(anObject, "selection", "tools", "log", "clock", "env", "delegatedBy"),
    ...all(aFunction, "onEvent", "approve", "waitForRetry"),
    // `checkWhose` checks `memory`, `home.user` the user, `fromSdkModel` the model (which may be a text), `checkPlugins` provider and
    // engine, and `givenMessages` both lists.
    ...all(
      any,
      "memory",
      "user",
      "model",
      "toolsets",
      "provider",
      "contextEngine",
      "store",
      "prefillMessages",
    ),
    ...all(any, "history"),
    config: z.custom(
      // The keys of a file have other names than those of a loaded config, which has a value for each.
      (config) => isRecord(config) && isRecord(config.raw) && isRecord(config.auxiliary),
      "a loaded config, the 'value' of what loadConfig(home) of @hermes-memory/core/config returned; leave it out for config.yaml. The window of a model is the option contextLength",
    ),
    contextLength: z
      .number("a number")
      .refine(isPlausibleWindow, "the number of tokens that the model takes, such as 128000"),
    identity: z.string(whoItIs).refine((given) => given.trim() !== "", whoItIs),
    readOnlyTools: list,
    chat: CHAT,
    maxTurns: z.int(turns).min(1, turns),
    hooks: HOOKS,
  } satisfies Types<AgentOptions>)
  .partial();

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

/** Throws `bad-option`. */
export function checkOptions(options: AgentOptions): void {
  if (!isRecord(options)) throw badOption("createAgent needs an object of options.", WHOSE);
  const [issue] = OPTIONS.safeParse(options).error?.issues ?? [];
  if (issue !== undefined) throw refusalOf(issue, options);
  checkWhose(options);
  checkPlugins(options);
  const { chatId, sessionId, resume, continueLast } = options;
  if (chatId !== undefined && (sessionId !== undefined || resume !== undefined || continueLast))
    throw badOption(
      "The option chatId names the conversation, and so does another one.",
      "Pass chatId without sessionId, resume and continueLast.",
    );
}

function refusalOf(issue: z.core.$ZodIssue, options: AgentOptions): HermesError {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") return unknownName(path, issue.keys[0] ?? "");
  const value = path.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), options);
  return badOption(`The option ${path.join(".")} is ${inWords(value)}.`, `It takes ${issue.message}.`);
}

function unknownName([option]: readonly string[], name: string): HermesError {
  const shape = option === "chat" ? CHAT.shape : option === "hooks" ? HOOKS.shape : OPTIONS.shape;
  const close = nearest(name, Object.keys(shape));
  const meant = close === undefined ? "" : `Did you mean '${close}'? `;
  if (option !== undefined)
    return badOption(
      `The option ${option} has no field '${name}'.`,
      `${meant}Its fields are ${Object.keys(shape).join(", ")}.`,
    );
  const advice = Object.hasOwn(RENAMED, name) ? RENAMED[name] : undefined;
  return badOption(
    `createAgent has no option '${name}'.`,
    advice ?? `${meant}The type AgentOptions and docs/agent.md list the options.`,
  );
}

/** Without the text of a value, which may be secret. */
function inWords(value: unknown): string {
  if (typeof value === "string") return value.trim() === "" ? "an empty text" : "a text";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "function") return "a function";
  return isRecord(value) ? "an object" : String(value);
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
