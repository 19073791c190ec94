// Messages from the small events that Kimi Code and Kimi CLI record: the parts and calls of one step are one message.
import type { Draft, Said } from "../declare.ts";
import { joined } from "../kit/values.ts";
import type { ToolCall, Usage } from "../reader.ts";

/** The meaning of one record, the same for both products. */
export type Signal =
  | { readonly kind: "user"; readonly text: string; readonly id?: string | undefined }
  /** The text of a prompt that a `user` signal usually repeats. `isSteer`: typed while the agent was working. */
  | { readonly kind: "prompt"; readonly text: string; readonly isSteer: boolean }
  | { readonly kind: "begin"; readonly id?: string | undefined }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thought"; readonly text: string }
  | { readonly kind: "call"; readonly call: ToolCall }
  | {
      readonly kind: "result";
      readonly callId: string;
      readonly text: string;
      readonly id?: string | undefined;
    }
  | { readonly kind: "usage"; readonly usage: Usage | undefined }
  | { readonly kind: "model"; readonly model: string }
  | { readonly kind: "finish"; readonly reason: string }
  | { readonly kind: "end" }
  | { readonly kind: "undo"; readonly turns: number };

type Where = { readonly line: number; readonly at: number | undefined };
type Step = Where & {
  readonly id: string | undefined;
  readonly texts: string[];
  readonly thoughts: string[];
  readonly calls: ToolCall[];
  readonly results: Draft[];
  usage?: Usage | undefined;
  reason?: string;
};
type Prompt = Where & { readonly text: string; readonly isSteer: boolean };

export class Turns {
  /** Ids of the messages of each turn of the user, for undo. */
  readonly #turns: string[][] = [];
  #prompts: Prompt[] = [];
  #step: Step | undefined;
  #model: string | undefined;

  *take(signal: Signal, where: Where): Generator<Said> {
    switch (signal.kind) {
      case "user": {
        yield* this.#endStep();
        const repeated = this.#prompts.findIndex(({ text }) => text === signal.text);
        this.#prompts.splice(Math.max(repeated, 0), 1);
        yield* this.#user(signal.text, where, signal.id);
        break;
      }
      case "prompt":
        if (!signal.isSteer) {
          yield* this.#endStep();
          yield* this.#unrepeated(() => true);
        }
        this.#prompts.push({ ...where, text: signal.text, isSteer: signal.isSteer });
        break;
      case "begin":
        yield* this.#endStep();
        yield* this.#unrepeated(({ isSteer }) => !isSteer);
        this.#step = newStep(where, signal.id);
        break;
      case "end":
        yield* this.#endStep();
        break;
      case "undo":
        yield* this.#endStep();
        if (signal.turns > 0) {
          const ids = this.#turns.splice(-signal.turns).flat();
          if (ids.length > 0) yield { kind: "inactive", ids };
        }
        break;
      case "model":
        this.#model = signal.model;
        break;
      case "usage":
        if (this.#step !== undefined) this.#step.usage = signal.usage;
        break;
      case "finish":
        if (this.#step !== undefined) this.#step.reason = signal.reason;
        break;
      case "result":
        yield* this.#result(signal, where);
        break;
      default:
        yield* this.#unrepeated(({ isSteer }) => !isSteer);
        this.#step ??= newStep(where, undefined);
        if (signal.kind === "text") this.#step.texts.push(signal.text);
        else if (signal.kind === "thought") this.#step.thoughts.push(signal.text);
        else this.#step.calls.push(signal.call);
    }
  }

  /** At the end of the file. */
  *end(): Generator<Said> {
    yield* this.#unrepeated(({ isSteer }) => !isSteer);
    yield* this.#endStep();
    yield* this.#unrepeated(() => true);
  }

  *#user(text: string, { line, at }: Where, id = `l${line}`): Generator<Said> {
    if (text.trim() === "") return;
    this.#turns.push([id]);
    yield { id, role: "user", text, at, line };
  }

  /** Prompts that no message repeated. */
  *#unrepeated(isMeant: (prompt: Prompt) => boolean): Generator<Said> {
    const meant = this.#prompts.filter(isMeant);
    this.#prompts = this.#prompts.filter((prompt) => !isMeant(prompt));
    for (const prompt of meant) yield* this.#user(prompt.text, prompt);
  }

  *#result({ callId, text, id }: Signal & { kind: "result" }, { line, at }: Where): Generator<Said> {
    const message: Draft = { id: id ?? `l${line}`, role: "tool", text, at, line, toolCallId: callId };
    if (this.#step !== undefined) this.#step.results.push(message);
    else yield this.#given(message);
  }

  *#endStep(): Generator<Said> {
    const step = this.#step;
    this.#step = undefined;
    if (step === undefined) return;
    const { line, at, calls } = step;
    yield this.#given({
      id: step.id ?? `l${line}`,
      role: "assistant",
      text: joined(step.texts),
      at,
      line,
      toolCalls: calls,
      reasoning: joined(step.thoughts),
      finishReason: step.reason,
      model: this.#model,
      usage: step.usage,
    });
    for (const message of step.results) yield this.#given(message);
  }

  #given(message: Draft): Draft {
    if (message.id !== undefined) this.#turns.at(-1)?.push(message.id);
    return message;
  }
}

function newStep(where: Where, id: string | undefined): Step {
  return { ...where, id, texts: [], thoughts: [], calls: [], results: [] };
}
