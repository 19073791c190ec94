// The reply that is being written: what the user has read of it so far, and how it gets into the list, whole, in pieces or not
// at all.
import type { ContextMessage } from "@hermes-memory/core/context";
import type { ModelReply } from "../../models/index.ts";
import type { AgentCore } from "../core.ts";
import { newMessage } from "../message.ts";
import { ReplyText } from "./reply-text.ts";
import type { Turn } from "./turn.ts";

export class Draft {
  readonly #core: AgentCore;
  readonly #turn: Pick<Turn, "recall">;
  #stream: ReplyText;

  constructor(core: AgentCore, turn: Pick<Turn, "recall">) {
    this.#core = core;
    this.#turn = turn;
    this.#stream = this.#newStream();
  }

  /** Where the model's words go. */
  get stream(): ReplyText {
    return this.#stream;
  }

  get text(): string {
    return this.#stream.text;
  }

  /** The next reply begins. */
  begin(): void {
    this.#stream = this.#newStream();
  }

  /** What was told does not count; the model is asked again. */
  discard(): void {
    if (this.text !== "") {
      this.#core.emit({ type: "text-discard" });
      this.#core.parts.transcript.dropEphemeral(); // pieces that it was to go on from
    }
    this.begin();
  }

  append(...messages: readonly ContextMessage[]): void {
    const { transcript } = this.#core.parts;
    transcript.append(...messages.map((message) => newMessage(message, this.#core.nowSeconds)));
  }

  /** The model's message with the text as it was told. Items that repeat it as the model wrote it must not bring back what was taken out. */
  finished(message: ContextMessage, { finishReason }: ModelReply): ContextMessage {
    const { codex_message_items: items, ...rest } = message;
    const kept = items === undefined || message.content !== this.text ? {} : { codex_message_items: items };
    return { ...rest, ...kept, role: "assistant", content: this.text, finish_reason: finishReason };
  }

  /** What has been said so far, and a request to go on: for the model only. The list gets the whole text in the end. */
  appendPiece(message: ContextMessage): void {
    this.#core.parts.transcript.dropEphemeral();
    const { tool_calls: _calls, ...rest } = message;
    this.append(
      { ...rest, role: "assistant", content: this.text, _ephemeral: "continuation" },
      { role: "user", content: GO_ON, _ephemeral: "continuation" },
    );
  }

  /** Half an answer is an answer the user has read. */
  keepText(finishReason: string): void {
    this.#core.parts.transcript.dropEphemeral();
    this.append({ role: "assistant", content: this.text, finish_reason: finishReason });
  }

  #newStream(): ReplyText {
    return new ReplyText((text) => this.#core.emit({ type: "text-delta", text }), this.#turn.recall);
  }
}

const GO_ON =
  "[Your reply was cut off. Go on exactly where it stops, without repeating anything and without a word about the interruption.]";
