// Models for small tasks besides the conversation, such as summaries and titles: text in, text out.
import type { AuxiliaryModel, HermesConfig } from "@hermes-memory/core/internal/config";
import { HermesError, ok, type Result, type TextModel } from "@hermes-memory/core/internal/lib";
import { type Message, newMessage, textOf } from "@hermes-memory/core/internal/message";
import { scrubAnswer } from "@hermes-memory/core/internal/providers";
import { type OpenModelOptions, openModel } from "./access/open-model.ts";
import type { ChatModel, ModelFailure, ModelReply, ModelRequest } from "./chat.ts";
import { type ChosenModel, chooseModel, type ModelChoiceError } from "./choice/choose-model.ts";
import { vendorOf, withProviderInFront } from "./choice/providers.ts";
import { callModel } from "./retry.ts";

export type TextModelOptions = {
  /** For one call with all its attempts. */
  readonly timeoutMs?: number;
  /** Not sent to a model that rejects it. */
  readonly temperature?: number;
  /** Default 1. */
  readonly attempts?: number;
  /** Called with the outcome of a request before the caller gets it. */
  readonly onOutcome?: (messages: readonly Message[], outcome: Result<ModelReply, ModelFailure>) => void;
};

/** About 100,000 tokens: many times the longest summary, reasoning included. */
const REPLY_CHARS = 400_000;

/**
 * A `ChatModel` as a model that answers one prompt with text. The `ChatModel` comes from `openModel`, or from an AI SDK model with
 * `fromSdkModel`: `toTextModel(await fromSdkModel(openai("gpt-5")))`.
 *
 * `complete` resolves with the text of the reply, without reasoning. It rejects with the signal's reason when that is aborted, and
 * otherwise with a `HermesError` of code `model-failed` whose `cause` is the `ModelFailure`.
 */
export function toTextModel(model: ChatModel, options: TextModelOptions = {}): TextModel {
  const { timeoutMs, temperature, attempts = 1 } = options;
  return {
    async complete({ system, prompt, maxOutputTokens, signal }) {
      const messages = [
        ...(system === undefined || system === "" ? [] : [newMessage({ role: "system", content: system })]),
        newMessage({ role: "user", content: prompt }),
      ];
      const deadline = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
      const signals = [...(signal ? [signal] : []), ...deadline];
      const request = {
        messages,
        maxOutputTokens,
        maxReplyChars: REPLY_CHARS,
        signal: AbortSignal.any(signals),
      };
      const outcome = await callWithTemperature(model, request, { temperature, attempts }).catch(
        (cause: unknown) => {
          signal?.throwIfAborted();
          if (!deadline.some(({ aborted }) => aborted)) throw cause;
          throw failed(tooLate(model, timeoutMs ?? 0));
        },
      );
      options.onOutcome?.(messages, outcome);
      if (!outcome.ok) throw failed(outcome.error);
      return scrubAnswer(textOf(outcome.value.message.content));
    },
  };
}

/** Models that answered a temperature with HTTP 400. No temperature is sent to them for the rest of the process. */
const rejectsTemperature = new WeakSet<ChatModel>();

async function callWithTemperature(
  model: ChatModel,
  request: ModelRequest,
  { temperature, attempts }: { readonly temperature: number | undefined; readonly attempts: number },
): Promise<Result<ModelReply, ModelFailure>> {
  if (temperature === undefined || rejectsTemperature.has(model))
    return callModel(model, request, { attempts });
  const outcome = await callModel(model, { ...request, temperature }, { attempts });
  if (outcome.ok || outcome.error.kind !== "bad_request" || !/temperature/i.test(outcome.error.message))
    return outcome;
  rejectsTemperature.add(model);
  return callModel(model, request, { attempts });
}

/** The model that the conversation uses. */
export type MainModel = {
  readonly model: ChatModel;
  /** Absent for a model object that a program passed in. */
  readonly chosen?: ChosenModel | undefined;
};

export type AuxiliarySources = OpenModelOptions & {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly config: Pick<HermesConfig, "model" | "models">;
};

/** A section of config `auxiliary`. */
export type AuxiliaryTask = Pick<AuxiliaryModel, "provider" | "model" | "baseUrl" | "apiKey"> & {
  readonly apiMode?: string;
  readonly extraBody?: AuxiliaryModel["extraBody"];
};

/** The main model, unless config names another one for the task. Never a model that neither the user nor config named. */
export async function auxiliaryModel(
  task: AuxiliaryTask,
  main: MainModel,
  sources: AuxiliarySources,
): Promise<Result<MainModel, ModelChoiceError>> {
  const { env, config, log, fetch } = sources;
  const { chosen } = main;
  const wanted = wantedModel(task, main);
  const extraBody = { ...sources.extraBody, ...task.extraBody };
  // Extra keys cannot be added to a model object that a program passed in.
  if (wanted === "main" && (chosen === undefined || Object.keys(extraBody).length === 0)) return ok(main);
  const found =
    wanted === "other" || chosen === undefined
      ? chooseModel({ flags: task, env, config })
      : ok(wanted === "main" ? chosen : { ...chosen, model: withoutFront(task.model.trim(), chosen) });
  return openChosen(found, { extraBody, log, fetch });
}

/** A model's name alone means the main model's server, unless it is clearly another vendor's. Provider `main` always means that server. */
function wantedModel(task: AuxiliaryTask, { chosen }: MainModel): "main" | "same server" | "other" {
  const provider = task.provider.trim().toLowerCase();
  const model = task.model.trim();
  if (provider === "main") return model === "" || chosen === undefined ? "main" : "same server";
  const isOpen = (provider === "" || provider === "auto") && task.baseUrl.trim() === "";
  if (isOpen && model === "") return "main";
  if (!isOpen || chosen === undefined) return "other";
  const front = withProviderInFront(model);
  const isGateway = chosen.provider === "openrouter" && front?.separator !== ":";
  const vendor = isGateway ? undefined : (front?.provider ?? vendorOf(model));
  return vendor === undefined || vendor.name === chosen.provider ? "same server" : "other";
}

function withoutFront(model: string, { provider }: ChosenModel): string {
  const front = withProviderInFront(model);
  return front?.provider.name === provider && provider !== "openrouter" ? front.model : model;
}

/** The model config names for the curator, or else the one of conversations. Without one the curator works by fixed rules. */
export async function curatorModel(
  config: HermesConfig,
  env: AuxiliarySources["env"],
): Promise<Result<TextModel, ModelChoiceError>> {
  const task = curatorTask(config);
  const isNamed =
    task.model !== "" || task.baseUrl !== "" || !["", "auto"].includes(task.provider.toLowerCase());
  const main = chooseModel({ env, config });
  if (!main.ok && !isNamed) return main;
  const found = main.ok
    ? await auxiliaryModel(task, { model: await openModel(main.value), chosen: main.value }, { env, config })
    : await openChosen(chooseModel({ flags: task, env, config }), { extraBody: task.extraBody });
  const timeoutMs = config.auxiliary.curator.timeout * 1000;
  return found.ok ? ok(toTextModel(found.value.model, { timeoutMs })) : found;
}

async function openChosen(
  chosen: Result<ChosenModel, ModelChoiceError>,
  options: OpenModelOptions,
): Promise<Result<MainModel, ModelChoiceError>> {
  return chosen.ok ? ok({ model: await openModel(chosen.value, options), chosen: chosen.value }) : chosen;
}

/** Older config files name the model in `curator.auxiliary`. */
function curatorTask({ auxiliary, raw }: HermesConfig): AuxiliaryTask {
  const { curator } = auxiliary;
  const isSet = curator.model !== "" || !["", "auto"].includes(curator.provider.toLowerCase());
  const section = raw.curator as { readonly auxiliary?: unknown } | null | undefined;
  const old = section?.auxiliary as Readonly<Record<string, unknown>> | null | undefined;
  if (isSet || typeof old !== "object" || old === null) return curator;
  const { provider, model } = old;
  if (typeof provider !== "string" || typeof model !== "string" || provider === "auto") return curator;
  return { ...curator, provider, model };
}

function failed(failure: ModelFailure): HermesError {
  // Callers look for socket error codes, as other `TextModel`s have them.
  const code = { connection: "ECONNRESET", stalled: "ETIMEDOUT" }[String(failure.kind)];
  return new HermesError("model-failed", failure.message, {
    cause: code === undefined ? failure : { ...failure, code },
  });
}

function tooLate({ identity }: ChatModel, timeoutMs: number): ModelFailure {
  const message = `The model '${identity.model}' timed out: no answer within ${timeoutMs / 1000} s.`;
  return { kind: "stalled", message, isRetryable: true, partialText: "" };
}
