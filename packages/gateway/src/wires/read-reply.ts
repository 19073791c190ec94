// A vendor's reply, read while a proxy relays it: what it is stored as, and its parts.
import { normalizeUsage, type Usage } from "@hermes-memory/agent/internal/models";
import { isRecord, pyStrip } from "@hermes-memory/core/internal/lib";
import { type AssistantMessage, type Message, newMessage } from "@hermes-memory/core/internal/message";
import type { JsonObject } from "../problem.ts";
import { textOr, vendorField } from "./fields.ts";
import type { Finish } from "./wire.ts";

/** A reply of a server, to be stored. */
export type ReadReply = {
  readonly message: Message;
  readonly finish: Finish;
  readonly usage: Usage | undefined;
  /** Responses: the ids of its items, by which a later request may refer to it (`ids.previousResponseId`). */
  readonly itemIds?: readonly string[];
};

/** A text, a call or the like, as the server wants to see it again. */
export type ReplyPart = {
  readonly item: JsonObject;
  readonly text: string;
  /** `name` is "" for a call of a tool that is no function. */
  readonly call?: { readonly id: string; readonly name: string; readonly arguments: string };
};

/** Collects one reply of a server, from the events of a stream or from one body. */
export abstract class CollectedReply {
  id: string | undefined;
  /** As the server counts. */
  usage: JsonObject | undefined;
  /** The server reported an error: nothing follows. */
  isFailed = false;
  protected finish: Finish | undefined;

  /** The data of one event: parsed, or the text if it is no object. True when this event, or an earlier one, ends the reply. */
  abstract take(data: string | JsonObject): boolean;
  abstract whole(body: JsonObject): void;
  /** The reply so far. Undefined: nothing that a conversation would keep, or the body is an error. */
  abstract end(): ReadReply | undefined;
  abstract parts(): readonly ReplyPart[];
  /** These parts as they are sent to the server again. */
  abstract asSent(parts: readonly ReplyPart[]): readonly JsonObject[];

  protected envelope({ id, usage }: JsonObject): void {
    this.id ??= textOr(id, undefined);
    if (!isRecord(usage)) return;
    // The last event of Anthropic repeats only some of the figures of the first.
    const known = Object.entries(usage).filter(([, value]) => value !== null && value !== undefined);
    this.usage = { ...this.usage, ...Object.fromEntries(known) };
  }

  /** Undefined for a reply that says nothing and calls nothing: an error, or an empty answer. */
  protected stored(
    { content, toolCalls, vendor = {} }: Omit<AssistantMessage, "meta" | "role">,
    dialect: Parameters<typeof normalizeUsage>[1],
    more: Pick<ReadReply, "itemIds"> = {},
  ): ReadReply | undefined {
    const hasText = typeof content === "string" ? pyStrip(content) !== "" : (content ?? []).length > 0;
    if (!hasText && toolCalls.length === 0 && Object.keys(vendor).length === 0) return undefined;
    const { finish = "interrupted" } = this; // undefined: the answer broke off
    const usage = this.usage === undefined ? undefined : normalizeUsage(this.usage, dialect);
    const message = newMessage(
      { role: "assistant", content, toolCalls, ...vendorField(vendor) },
      { finishReason: finish === "interrupted" ? undefined : finish },
    );
    return { message, finish, usage, ...more };
  }
}
