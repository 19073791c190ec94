// Random conversations of every shape that may come from a store or another program: complete and broken tool groups, parallel
// calls, reused ids, results without a call, unknown roles, no content, images, huge texts, handoffs of earlier compactions.
import fc from "fast-check";
import { HANDOFF_END, handoffText } from "../../src/context/compressor/handoff.ts";
import { type Message, readRow } from "../../src/message/index.ts";

/** Every message has its own row number, and its text begins with `tagOf` that number. */
export function histories({ maxLength = 60 }: { maxLength?: number } = {}): fc.Arbitrary<readonly Message[]> {
  return fc
    .tuple(fc.array(systemBlock, { maxLength: 2 }), fc.array(block, { maxLength, size: "max" }))
    .map(([systems, blocks]) => number([...systems, ...blocks].flat()));
}

/** Occurs nowhere else in a history. */
export function tagOf(rowId: number): string {
  return `#${rowId}#`;
}

/** The text is filled in when the message gets its number. */
type Draft = {
  readonly role: string;
  readonly size?: number;
  readonly make?: (text: string) => unknown;
  readonly fields?: object;
};
type Call = {
  readonly name: string;
  readonly size: number;
  readonly isAnswered: boolean;
  readonly resultSize: number;
};

const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };

const size = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 300 }) },
  { weight: 3, arbitrary: fc.integer({ min: 300, max: 6_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(12_000, 40_000) },
);

const shape = fc.constantFrom<((text: string) => unknown)[]>(
  (text) => text,
  (text) => text,
  (text) => text,
  (text) => [{ type: "text", text }],
  (text) => [{ type: "text", text }, IMAGE],
  (text) => [text, { type: "image", source: { data: "AAAA" } }],
);

/** A result may also be an object of this process, which is converted before it is sent. */
const resultShape = fc.oneof(
  { weight: 6, arbitrary: shape },
  {
    weight: 1,
    arbitrary: fc.constant((text: string) => ({ _multimodal: true, text_summary: text, content: [IMAGE] })),
  },
);

const empty = fc.constantFrom<object[]>(
  { content: null },
  { content: "" },
  { content: [] },
  {},
  { content: 17 },
  { content: [IMAGE] },
);

const systemBlock = fc
  .record({ role: fc.constant("system"), size, make: shape })
  .map((draft): Draft[] => [draft]);

const said = (role: string): fc.Arbitrary<Draft[]> =>
  fc.record({ role: fc.constant(role), size, make: shape }).map((draft) => [draft]);

const exchange = fc.tuple(said("user"), said("assistant")).map((both): Draft[] => both.flat());

const call: fc.Arbitrary<Call> = fc.record({
  name: fc.constantFrom("terminal", "read_file", "write_file", "weird_tool", "toString"),
  size: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.constant(900)),
  isAnswered: fc.constantFrom(true, true, true, true, false),
  resultSize: size,
});

const group = fc
  .record({
    calls: fc.array(call, { minLength: 1, maxLength: 4 }),
    id: fc.oneof(fc.nat(), fc.constant(7)), // some models reuse ids
    text: fc.constantFrom<unknown[]>(null, "", "Let me look."),
    isReversed: fc.boolean(),
    make: resultShape,
  })
  .map(({ calls, id, text, isReversed, make }): Draft[] => {
    const idOf = (index: number): string => `call_${id}_${index}`;
    const made = calls.map(({ name, size: length }, index) => ({
      id: idOf(index),
      type: "function",
      function: { name, arguments: JSON.stringify({ path: `src/${name}.ts`, content: "x".repeat(length) }) },
    }));
    const results = calls.flatMap(({ isAnswered, resultSize }, index): Draft[] =>
      isAnswered ? [{ role: "tool", size: resultSize, make, fields: { tool_call_id: idOf(index) } }] : [],
    );
    return [
      { role: "assistant", fields: { content: text, tool_calls: made } },
      ...(isReversed ? results.reverse() : results),
    ];
  });

const stray = fc.oneof(
  fc.record({
    role: fc.constant("tool"),
    size,
    make: shape,
    fields: fc.constantFrom({ tool_call_id: "nobody" }, {}, { tool_call_id: null }),
  }),
  fc.record({ role: fc.constantFrom("developer", "function", "", "system", "narrator"), size, make: shape }),
  fc.record({ role: fc.constantFrom("user", "assistant", "tool", "system"), fields: empty }),
);

const handoff = fc
  .record({
    role: fc.constantFrom("user", "assistant"),
    kind: fc.constantFrom("ours", "merged", "list", "legacy", "hyphen", "flag"),
  })
  .map(({ role, kind }): Draft => {
    switch (kind) {
      case "ours":
        return { role, size: 80, make: handoffText, fields: { _compressed_summary: true } };
      case "merged":
        return { role, size: 80, make: (text) => `${handoffText("earlier work")}\n\n${text}` };
      case "list":
        return {
          role,
          size: 80,
          make: (text) => [
            { type: "text", text: `${handoffText("work")}\n\n` },
            { type: "text", text },
            IMAGE,
          ],
        };
      case "legacy":
        return { role, size: 80, make: (text) => `[CONTEXT SUMMARY]: ${text}` };
      case "hyphen":
        return {
          role,
          size: 80,
          make: (text) => `[CONTEXT COMPACTION - REFERENCE ONLY] before:\n${text}\n\n${HANDOFF_END}`,
        };
      default:
        return { role, size: 80, make: (text) => text, fields: { _compressed_summary: true } };
    }
  });

const block: fc.Arbitrary<Draft[]> = fc.oneof(
  { weight: 6, arbitrary: exchange },
  { weight: 2, arbitrary: said("user") },
  { weight: 1, arbitrary: said("assistant") },
  { weight: 8, arbitrary: group },
  { weight: 2, arbitrary: stray.map((draft): Draft[] => [draft]) },
  { weight: 1, arbitrary: handoff.map((draft): Draft[] => [draft]) },
);

function number(drafts: readonly Draft[]): readonly Message[] {
  return drafts.map(({ role, size: length, make, fields }, index) => {
    const words = `${tagOf(index + 1)} ${"ledger quay ".repeat(Math.ceil((length ?? 0) / 12)).slice(0, length)}`;
    return readRow({ role, content: make ? make(words) : undefined, ...fields }, { rowId: index + 1 });
  });
}
