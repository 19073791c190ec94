// A model on a fake server, opened as the agent does.
import {
  type ChatModel,
  type ChosenModel,
  callModel,
  type ModelDelta,
  type ModelFailure,
  type ModelReply,
  type ModelRequest,
  type OpenModelOptions,
  openModel,
} from "../../../src/models/index.ts";
import type { Script, WireKind } from "../../fakes/wires/script.ts";
import { startWire, type Wire } from "../../fakes/wires/wire-in-test.ts";
import { messages } from "../../messages.ts";

export const KINDS: readonly WireKind[] = ["chat", "responses", "anthropic", "google"];

/** Long enough to be recognised when a server repeats it. */
export const KEY = "fake-key-0123456789abcdef";

const SERVED: Readonly<Record<WireKind, Pick<ChosenModel, "provider" | "apiMode" | "model">>> = {
  chat: { provider: "custom", apiMode: "chat_completions", model: "qwen3" },
  responses: { provider: "openai", apiMode: "responses", model: "gpt-5.4" },
  anthropic: { provider: "anthropic", apiMode: "anthropic_messages", model: "claude-sonnet-4-5" },
  google: { provider: "google", apiMode: "google", model: "gemini-3.1-pro-preview" },
};

export type Opened = { readonly wire: Wire; readonly model: ChatModel };

export type WireModelOptions = OpenModelOptions & {
  readonly chosen?: Partial<ChosenModel>;
  readonly mayRunOut?: boolean;
};

export async function wireModel(
  kind: WireKind,
  script: Script,
  options: WireModelOptions = {},
): Promise<Opened> {
  const { chosen = {}, mayRunOut = false, ...rest } = options;
  const wire = await startWire(kind, script, { mayRunOut });
  return { wire, model: await openModel(chosenFor(kind, wire.url, chosen), rest) };
}

export function chosenFor(kind: WireKind, baseUrl: string, changes: Partial<ChosenModel> = {}): ChosenModel {
  return { ...SERVED[kind], baseUrl, apiKey: KEY, keySource: "TEST_API_KEY", ...changes };
}

export const ASKED: ModelRequest = {
  messages: messages(
    { role: "system", content: "Be brief." },
    { role: "user", content: "How high is the crane?" },
  ),
};

export async function replyOf(model: ChatModel, request: ModelRequest = ASKED): Promise<ModelReply> {
  const outcome = await callModel(model, request, { attempts: 1 });
  if (!outcome.ok) throw new Error(`${outcome.error.kind}: ${outcome.error.message}`);
  return outcome.value;
}

export async function failureOf(model: ChatModel, request: ModelRequest = ASKED): Promise<ModelFailure> {
  const outcome = await callModel(model, request, { attempts: 1 });
  return outcome.ok ? Promise.reject(new Error("It did not fail.")) : outcome.error;
}

/** Collects the deltas, by kind. */
export function ear(): {
  readonly deltas: ModelDelta[];
  text(): string;
  reasoning(): string;
  onDelta(delta: ModelDelta): void;
} {
  const deltas: ModelDelta[] = [];
  const said = (kind: ModelDelta["kind"]): string =>
    deltas
      .filter((delta) => delta.kind === kind)
      .map(({ text }) => text)
      .join("");
  return {
    deltas,
    text: () => said("text"),
    reasoning: () => said("reasoning"),
    onDelta: (delta) => deltas.push(delta),
  };
}
