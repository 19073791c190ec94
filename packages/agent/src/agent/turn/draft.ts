// The reply that is being written: what the user has read of it so far, and how it gets into the list, whole, in pieces or not
// at all.
import {
  type AssistantMessage,
  type Message,
  newMessage,
  withMeta,
  withoutVendor,
} from "@hermes-memory/core/message";
import type { ModelReply } from "../../models/index.ts";
import type { AgentCore } from "../core.ts";
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

  append(...messages: readonly Message[]): void {
    const { transcript } = this.#core.parts;
    const atSeconds = this.#core.nowSeconds;
    transcript.append(...messages.map((message) => withMeta(message, { atSeconds })));
  }

  /** The model's message with the text as it was told. Items that repeat it as the model wrote it must not bring back what was taken out. */
  finished(message: AssistantMessage, { finishReason }: ModelReply): AssistantMessage {
    const kept = message.content === this.text ? message : withoutVendor(message, REPEATED_TEXT);
    return newMessage({ ...kept, content: this.text }, { finishReason }); // its meta may be of somebody else's model object
  }

  /** What has been said so far, and a request to go on: for the model only. The list gets the whole text in the end. */
  appendPiece(message?: AssistantMessage): void {
    this.#core.parts.transcript.dropEphemeral();
    const ephemeral = "continuation";
    this.append(
      newMessage({ ...message, role: "assistant", content: this.text, toolCalls: [] }, { ephemeral }),
      newMessage({ role: "user", content: GO_ON }, { ephemeral }),
    );
  }

  /** Half an answer is an answer the user has read. */
  keepText(finishReason: string): void {
    this.#core.parts.transcript.dropEphemeral();
    this.append(newMessage({ role: "assistant", content: this.text, toolCalls: [] }, { finishReason }));
  }

  #newStream(): ReplyText {
    return new ReplyText((text) => this.#core.emit({ type: "text-delta", text }), this.#turn.recall);
  }
}

const REPEATED_TEXT: ReadonlySet<string> = new Set(["codex_message_items"]);

const GO_ON =
  "[Your reply was cut off. Go on exactly where it stops, without repeating anything and without a word about the interruption.]";
