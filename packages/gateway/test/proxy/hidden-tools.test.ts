// Streams of servers that do it differently: late names, words in the last chunk, numbering with gaps.
import { expect, it } from "vitest";
import { mergedReply } from "../../src/proxy/hidden-tools.ts";
import { SseEvents, sseEvent } from "../../src/wires/sse.ts";
import type { WireName } from "../../src/wires/wire.ts";
import { eventsIn } from "./proxy-home.ts";

const isOurs = (name: string) => name === "memory";

function run(wire: WireName, rounds: readonly (readonly object[])[]) {
  const merged = mergedReply(wire, isOurs, false);
  const pieces: Uint8Array[] = [];
  const said = rounds.map((events, index) => {
    if (index > 0) merged.next();
    for (const event of new SseEvents().push(Buffer.from(events.map((data) => sseEvent(data)).join(""))))
      pieces.push(...merged.push(event));
    return merged.round();
  });
  pieces.push(...merged.ending());
  return { text: Buffer.concat(pieces).toString("utf8"), said };
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "c1",
  choices: [{ index: 0, delta, finish_reason }],
});

it("a stream without calls of ours passes as it is", () => {
  const events = [chunk({ role: "assistant", content: "" }), chunk({ content: "Hi" }), chunk({}, "stop")];
  expect(run("chat", [events]).text).toBe(events.map((event) => sseEvent(event)).join(""));
});

it("a call whose name comes late is shown from its beginning, or not at all", () => {
  const piece = (index: number, about: object, id?: string) =>
    chunk({ tool_calls: [{ index, id, function: about }] });
  const { text, said } = run("chat", [
    [
      piece(0, { arguments: '{"a"' }, "c-ours"),
      piece(1, { arguments: '{"b"' }, "c-theirs"),
      piece(1, { name: "look", arguments: ":1" }),
      piece(0, { name: "memory", arguments: ":1}" }),
      piece(1, { arguments: "}" }),
      chunk({}, "tool_calls"),
    ],
  ]);
  expect(said[0]?.hidden).toMatchObject([{ id: "c-ours", name: "memory", arguments: '{"a":1}' }]);
  expect(said[0]?.handedBack).toEqual(["c-theirs"]);
  const calls = eventsIn(text).flatMap(
    (event) => JSON.stringify(event).match(/"index":0,"?[^}]*?arguments":"((?:[^"\\]|\\.)*)"/) ?? [],
  );
  expect(calls.length).toBeGreaterThan(0);
  expect(text).not.toContain("c-ours");
  expect(text).toContain("c-theirs");
  expect(text.match(/"index":1,/)).toBeNull();
});

it("whole calls that all have index 0 are calls of their own, and a custom tool keeps its name", () => {
  const calls = (call: object) => chunk({ tool_calls: [{ index: 0, ...call }] });
  const ours = { id: "c-ours", type: "function", function: { name: "memory", arguments: '{"a":1}' } };
  const theirs = { id: "c-theirs", type: "custom", custom: { name: "look", input: "sea" } };
  const { text, said } = run("chat", [[calls(ours), calls(theirs), chunk({}, "tool_calls")]]);
  expect(said[0]?.hidden).toMatchObject([{ id: "c-ours", name: "memory", arguments: '{"a":1}' }]);
  expect(said[0]?.handedBack).toEqual(["c-theirs"]);
  expect(JSON.parse(said[0]?.items[0] ?? "")).toMatchObject({ tool_calls: [ours, theirs] });
  expect(eventsIn(text)[0]).toMatchObject(calls(theirs));
});

it("words in the chunk that ends a round are shown, and the round goes on", () => {
  const first = [
    chunk({ content: "Let me look." }),
    chunk({ tool_calls: [{ index: 0, id: "c", function: { name: "memory", arguments: "{}" } }] }),
    chunk({ content: " Now." }, "tool_calls"),
  ];
  const second = [chunk({ role: "assistant", content: "Blue." }), chunk({}, "stop")];
  const { text } = run("chat", [first, second]);
  const words = eventsIn(text).map(
    (event) => (event as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content ?? "",
  );
  expect(words.join("")).toBe("Let me look. Now.\n\nBlue.");
  expect(text.match(/"finish_reason":"(\w+)"/g)).toEqual(['"finish_reason":"stop"']);
});

it("blocks of Anthropic are numbered without gaps over all rounds", () => {
  const start = (index: number, content_block: object) => ({
    type: "content_block_start",
    index,
    content_block,
  });
  const text = (index: number, words: string) => [
    start(index, { type: "text", text: "" }),
    { type: "content_block_delta", index, delta: { type: "text_delta", text: words } },
    { type: "content_block_stop", index },
  ];
  const call = (index: number, name: string) => [
    start(index, { type: "tool_use", id: `t-${name}`, name, input: {} }),
    { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: '{"a":1}' } },
    { type: "content_block_stop", index },
  ];
  const message = (usage: object) => ({ type: "message_start", message: { id: "m", usage } });
  const end = (output_tokens: number) => [
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens } },
    { type: "message_stop" },
  ];
  const { text: out, said } = run("messages", [
    [message({ input_tokens: 10, output_tokens: 1 }), ...text(0, "A"), ...call(1, "memory"), ...end(5)],
    [
      message({ input_tokens: 20, output_tokens: 1 }),
      ...call(0, "memory"),
      ...text(1, "B"),
      ...call(2, "look"),
      ...end(7),
    ],
  ]);
  const events = eventsIn(out) as { type: string; index?: number; usage?: object }[];
  expect(events.filter(({ type }) => type === "content_block_start").map(({ index }) => index)).toEqual([
    0, 1, 2,
  ]);
  expect(events.filter(({ type }) => type === "message_start")).toHaveLength(1);
  expect(events.at(-2)).toMatchObject({ usage: { input_tokens: 30, output_tokens: 12 } });
  expect(said[1]?.hidden).toMatchObject([{ name: "memory", arguments: '{"a":1}' }]);
  expect(said[1]?.handedBack).toEqual(["t-look"]);
});
