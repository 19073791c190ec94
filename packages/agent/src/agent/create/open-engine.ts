// The context engine of an agent: a built-in one, or a plugin behind a guard.
import {
  type CompressOptions,
  type CompressOutcome,
  ContextCompressor,
  type ContextEngine,
  compressorSettings,
  type EngineStatus,
  estimateMessages,
  givenEngine,
  LosslessEngine,
  losslessSettings,
  type Notice,
  type SelectedEngine,
  selectEngine,
} from "@hermes-memory/core/internal/context";
import { describeCause, HermesError, isRecord, untilAborted } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { isMessage, type Message } from "@hermes-memory/core/internal/message";
import { runForeign } from "@hermes-memory/core/internal/providers";
import { RESERVED_COMMANDS } from "../commands/slash-commands.ts";
import type { AgentParts } from "../parts.ts";
import type { SummaryModels } from "./side-models.ts";

type EngineInput = Pick<AgentParts, "home" | "config" | "model" | "store" | "user" | "log" | "warn"> & {
  readonly summaries: SummaryModels;
  readonly sessionId: string;
  /** Of the caller, checked. Undefined: config selects. */
  readonly given: ContextEngine | undefined;
};

/** `selected`: with the engine's own tools and commands. `engine`: as the agent calls it. */
export type OpenedEngine = { readonly selected: SelectedEngine; readonly engine: ContextEngine };

export async function openEngine(input: EngineInput): Promise<OpenedEngine> {
  const selected = input.given === undefined ? await fromConfig(input) : await fromCaller(input.given, input);
  const engine = selected.source === "plugin" ? guardedEngine(selected.engine, input.log) : selected.engine;
  return { selected, engine };
}

/** The caller chose it, so no other one takes its place. */
async function fromCaller(given: ContextEngine, { model }: EngineInput): Promise<SelectedEngine> {
  const selected = await givenEngine(given, model.engineWindow);
  if (selected.ok) return selected.value;
  throw new HermesError(
    "bad-option",
    `The context engine '${given.name}' cannot be used: ${selected.error}`,
    {
      hint: "Repair it, or leave the option contextEngine out for the one that config selects.",
    },
  );
}

async function fromConfig(input: EngineInput): Promise<SelectedEngine> {
  const { home, config, model, summaries, store, sessionId, log } = input;
  const tokenFactor = model.currentTokenFactor;
  const contextLength = model.window.tokens;
  const selected = await selectEngine(config, {
    home,
    window: model.engineWindow,
    builtIn: {
      compressor: () =>
        new ContextCompressor({
          ...compressorSettings(config, contextLength),
          ...summaries,
          tokenFactor,
          timeZone: config.timezone || undefined,
        }),
      lcm:
        store === undefined
          ? undefined
          : () =>
              new LosslessEngine({
                ...losslessSettings(config),
                ...summaries,
                tokenFactor,
                contextLength,
                store,
                sessionId,
              }),
    },
    summarizer: summaries.summarizer,
    reservedCommands: RESERVED_COMMANDS,
    onStray: (cause) => log.warn("The context engine left work behind that failed", { cause }),
  });
  if (selected.warning !== undefined) input.warn(selected.warning);
  for (const remark of selected.remarks) log.warn(remark);
  return selected;
}

/** A slow model takes minutes for the summary of a long conversation. */
const COMPRESS_MS = 600_000;
const HOOK_MS = 10_000;

const NUMBERS: ReadonlySet<PropertyKey> = new Set([
  ...["lastPromptTokens", "lastCompletionTokens", "lastTotalTokens"],
  ...["thresholdTokens", "contextLength", "compressionCount"],
]);
const HOOKS: ReadonlySet<PropertyKey> = new Set(["onSessionStart", "onSessionEnd"]);

/**
 * A plugin's engine that cannot break a turn: its exceptions are logged, its answers are checked, it gets copies of lists, and an
 * interrupt does not wait for it.
 */
function guardedEngine(engine: ContextEngine, log: Logger): ContextEngine {
  const told = new Set<PropertyKey>();
  // Once for each member: most are called at every step.
  const tell = (member: PropertyKey, what: string): void => {
    if (told.has(member)) return;
    told.add(member);
    log.warn(`'${String(member)}' of the context engine '${engine.name}' ${what}`);
  };
  const call = (member: PropertyKey, use: () => unknown): unknown => {
    try {
      return use();
    } catch (cause) {
      return tell(member, `failed: ${describeCause(cause)}`);
    }
  };
  const hook = async (member: PropertyKey, use: () => unknown): Promise<void> => {
    const answer = await runForeign({ timeoutMs: HOOK_MS }, use);
    if (!answer.ok) tell(member, answer.error.message);
  };
  const guard: ContextEngine = new Proxy({} as ContextEngine, {
    get(_target, member) {
      if (member === "compress") return (...args: CompressArguments) => compressGuarded(engine, ...args);
      if (member === "getStatus") return () => statusOf(guard);
      const given = call(member, () => Reflect.get(engine, member));
      if (NUMBERS.has(member)) return typeof given === "number" && Number.isFinite(given) ? given : 0;
      if (typeof given !== "function") return given;
      return (...args: readonly unknown[]) => {
        const use = (): unknown =>
          given.apply(
            engine,
            args.map((each) => (Array.isArray(each) ? [...each] : each)),
          );
        if (HOOKS.has(member)) return hook(member, use);
        return call(member, use) ?? (member === "shouldCompress" ? false : undefined);
      };
    },
  });
  return guard;
}

type CompressArguments = Parameters<ContextEngine["compress"]>;

async function compressGuarded(
  engine: ContextEngine,
  messages: readonly Message[],
  options: CompressOptions = {},
): Promise<CompressOutcome> {
  const { signal } = options;
  signal?.throwIfAborted();
  const work = runForeign<unknown>({ timeoutMs: COMPRESS_MS }, () => engine.compress([...messages], options));
  const answer = await untilAborted(signal, work);
  signal?.throwIfAborted();
  if (!answer.ok) return unable(engine, messages, answer.error.message);
  return readOutcome(answer.value) ?? unable(engine, messages, "gave back no usable list of messages");
}

function unable({ name }: ContextEngine, messages: readonly Message[], why: string): CompressOutcome {
  const text = `The conversation was not compacted, because the context engine '${name}' ${why}. Set context.engine to compressor to use the built-in one.`;
  const tokens = estimateMessages(messages);
  const notices = [{ cause: `engine-failed:${why}`, text }];
  const unchanged = { messages, leftOut: [], prunedResults: 0, tokensBefore: tokens, tokensAfter: tokens };
  return { kind: "aborted", ...unchanged, notices };
}

function statusOf({
  lastPromptTokens,
  thresholdTokens,
  contextLength,
  compressionCount,
}: ContextEngine): EngineStatus {
  const used = Math.max(0, lastPromptTokens);
  return {
    last_prompt_tokens: used,
    threshold_tokens: thresholdTokens,
    context_length: contextLength,
    usage_percent: contextLength > 0 ? Math.min(100, (used / contextLength) * 100) : 0,
    compression_count: compressionCount,
  };
}

const KINDS: readonly string[] = ["compacted", "pruned", "unchanged", "aborted"];

/** Undefined when the list cannot be used. */
function readOutcome(value: unknown): CompressOutcome | undefined {
  if (!isRecord(value) || !KINDS.includes(String(value.kind)) || !isList(value.messages)) return undefined;
  const notices: readonly unknown[] = Array.isArray(value.notices) ? value.notices : [];
  const leftOut = Array.isArray(value.leftOut) ? value.leftOut : [];
  return { ...(value as CompressOutcome), leftOut, notices: notices.filter(isNotice) };
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isMessage);
}

function isNotice(value: unknown): value is Notice {
  return isRecord(value) && typeof value.cause === "string" && typeof value.text === "string";
}
