// Cache markers where the original puts them, except that no marker is spent on a message that cannot carry one.
import { describe, expect, it } from "vitest";
import { applyPromptCaching } from "../../src/context/caching.ts";
import type { OpenAiMessage } from "../../src/message/index.ts";
import { readVectors } from "./vectors.ts";

type Case = {
  id: string;
  title: string;
  messages: OpenAiMessage[];
  cache_ttl: "5m" | "1h" | null;
  native_anthropic: boolean | null;
  output: OpenAiMessage[];
  differs?: string | null;
};

const cases = readVectors<Case>("prompt-caching.jsonl");

describe.skipIf(!cases)("prompt caching follows the original", () => {
  const named = (cases ?? []).map((each) => [`${each.id} ${each.title}`, each] as const);

  it.each(named.filter(([, each]) => !each.differs))("%s", (_name, each) => {
    const before = structuredClone(each.messages);
    expect(run(each)).toEqual(each.output);
    expect(each.messages).toEqual(before);
  });

  it.each(named.filter(([, each]) => each.differs === "markable_slots"))(
    "%s: the slots go to messages that can carry a marker",
    (_name, each) => {
      const output = run(each);
      const expected = each.messages
        .map((message, index) => ({ message, index }))
        .filter(({ message }) => message.role !== "system" && message.role !== "tool")
        .map(({ index }) => index)
        .slice(each.messages[0]?.role === "system" ? -3 : -4);
      const marked = output.flatMap((message, index) =>
        JSON.stringify(message).includes("cache_control") && message.role !== "system" ? [index] : [],
      );
      expect(marked).toEqual(expected);
    },
  );
});

function run({ messages, cache_ttl, native_anthropic }: Case): OpenAiMessage[] {
  return applyPromptCaching(messages, {
    ...(cache_ttl === null ? {} : { ttl: cache_ttl }),
    ...(native_anthropic === null ? {} : { native: native_anthropic }),
  });
}
