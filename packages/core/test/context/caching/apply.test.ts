import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyPromptCaching } from "../../../src/context/caching/apply.ts";
import type { ContextMessage } from "../../../src/context/message.ts";

const content = fc.oneof(
  fc.constantFrom(null, "", "a text", "  spaced  "),
  fc.array(
    fc.oneof(
      fc.constant("bare text"),
      fc.record({ type: fc.constant("text"), text: fc.string() }),
      fc.constant({ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }),
    ),
    { maxLength: 3 },
  ),
);
const message = fc.record(
  { role: fc.constantFrom("system", "user", "assistant", "tool"), content, tool_call_id: fc.constant("c1") },
  { requiredKeys: ["role"] },
);
const options = fc.record({ ttl: fc.constantFrom("5m", "1h"), native: fc.boolean() } as const);

describe("cache markers", () => {
  it("are at most four, and taking them away gives back the messages", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), options, (messages, given) => {
        const marked = applyPromptCaching(deepFreeze(messages as ContextMessage[]), given);
        expect(marked).toHaveLength(messages.length);
        expect(JSON.stringify(marked).split('"cache_control"').length - 1).toBeLessThanOrEqual(4);
        expect(marked.map(unmarked)).toEqual((messages as ContextMessage[]).map(asParts));
      }),
    );
  });

  it("never stand on a second system message or, outside Anthropic's wire, on a tool result", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        const marked = applyPromptCaching(messages as ContextMessage[]);
        for (const [index, each] of marked.entries())
          if (each.role === "tool" || (each.role === "system" && index > 0))
            expect(each).toBe(messages[index]);
      }),
    );
  });

  it("leave everything before the last few messages as the same objects", () => {
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(1000)}` } };
    const messages: ContextMessage[] = [
      { role: "user", content: [{ type: "text", text: "look" }, image] },
      ...Array.from({ length: 10 }, (_, at) => ({
        role: at % 2 ? "user" : "assistant",
        content: `turn ${at}`,
      })),
    ];
    const marked = applyPromptCaching(messages);
    expect(marked[0]).toBe(messages[0]);
    const onlyImage: ContextMessage[] = [{ role: "user", content: [{ type: "text", text: "look" }, image] }];
    const parts = applyPromptCaching(onlyImage)[0]?.content as { image_url: unknown }[];
    expect(parts[1]?.image_url).toBe(image.image_url);
  });

  it("pass over a message that ends with a thought, which has to go back untouched", () => {
    const thought = { role: "assistant", content: [{ type: "thinking", thinking: "hm", signature: "s" }] };
    const marked = applyPromptCaching([{ role: "user", content: "a" }, thought], { native: true });
    expect(marked[1]).toBe(thought);
    expect(JSON.stringify(marked[0])).toContain("cache_control");
  });

  it("carry the long time to live when it is asked for", () => {
    const [marked] = applyPromptCaching([{ role: "system", content: "s" }], { ttl: "1h" });
    expect(marked?.content).toEqual([
      { type: "text", text: "s", cache_control: { type: "ephemeral", ttl: "1h" } },
    ]);
  });
});

/** Without markers, strings as the one part a marker makes of them. */
function unmarked(each: ContextMessage): unknown {
  return JSON.parse(
    JSON.stringify(asParts(each), (key, value) => (key === "cache_control" ? undefined : value)),
  );
}

function asParts(each: ContextMessage): ContextMessage {
  const isText = typeof each.content === "string" && each.content !== "";
  return JSON.parse(
    JSON.stringify(isText ? { ...each, content: [{ type: "text", text: each.content }] } : each),
  ) as ContextMessage;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    for (const each of Object.values(value)) deepFreeze(each);
  }
  return value;
}
