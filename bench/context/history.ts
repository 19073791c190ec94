// One long conversation, made up from a seed: turns and tool rounds, results that are fetched again, now and then an image.
import { type Message, readRow } from "@hermes-memory/core/internal/message";
import { randomNumbers } from "../../packages/core/test/fakes/random.ts";
import { conversation } from "../corpus/generate.ts";
import { textWriter } from "../corpus/text.ts";

const REPEATED_SHARE = 0.1;
const IMAGE_SHARE = 0.02;
/** A repeated result is one of this many latest ones. */
const RECENT_RESULTS = 40;
const IMAGE = {
  type: "image_url",
  image_url: { url: `data:image/png;base64,${"iVBORw0KGgo".repeat(400)}` },
};

/** With the same seed, a shorter history is the beginning of a longer one. */
export function makeHistory(count: number, seed: number): readonly Message[] {
  const random = randomNumbers(seed);
  const messages: Message[] = [];
  const add = (row: object): void => {
    messages.push(readRow({ ...row }, { id: String(messages.length) }));
  };
  add({ role: "system", content: "You are a careful assistant." });
  const results: string[] = [];
  for (const { finish_reason: _, ...message } of conversation(textWriter(random), random)) {
    if (messages.length >= count) break;
    const row = { ...message, _row_id: messages.length };
    const { content } = message;
    if (message.role === "tool" && typeof content === "string") {
      const again =
        random() < REPEATED_SHARE ? results.at(-1 - Math.floor(random() * RECENT_RESULTS)) : undefined;
      results.push(content);
      add({ ...row, content: again ?? content });
    } else if (message.role === "user" && random() < IMAGE_SHARE)
      add({ ...row, content: [{ type: "text", text: content }, IMAGE] });
    else add(row);
  }
  return messages;
}
