// Reads the bytes of a vendor's answer while a proxy relays them: as a stream of events, or as one JSON body.
import { normalizeUsage } from "@hermes-memory/agent/internal/models";
import { isRecord, pyStrip } from "@hermes-memory/core/internal/lib";
import { type AssistantMessage, newMessage } from "@hermes-memory/core/internal/message";
import type { JsonObject } from "../problem.ts";
import { textOr, vendorField } from "./fields.ts";
import type { Finish, ReadReply } from "./wire.ts";

/** What the replies of all vendors have. */
export abstract class CollectedReply {
  id: string | undefined;
  usage: JsonObject | undefined;
  isFailed = false;
  protected finish: Finish | undefined;
  #model: string | undefined;

  protected envelope({ id, model, usage }: JsonObject): void {
    this.id ??= textOr(id, undefined);
    this.#model ??= textOr(model, undefined);
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
    return { message, finish, usage, responseId: this.id, model: this.#model, ...more };
  }
}
