import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quickReadMemoryConfig } from "../../src/config/load.ts";
import { readMemoryConfig } from "../../src/config/read.ts";
import { fullRead } from "../../src/config/yaml-file.ts";

/** The one promise: the same answer as the full loader, or none. Returns whether there was an answer. */
function agrees(text: string): boolean {
  const quick = quickReadMemoryConfig(text);
  if (quick === undefined) return false;
  expect(fullRead(text, "config.yaml", readMemoryConfig), text).toEqual({ ok: true, value: quick });
  return true;
}

const memoryKey = fc.constantFrom(
  ...`memory_enabled¦user_profile_enabled¦memory_char_limit¦user_char_limit¦write_approval`.split("¦"),
  ...`provider¦nudge_interval¦overflow¦scan_allow¦history_max_bytes¦history_keep`.split("¦"),
  ...`lock_timeout_seconds¦recall_max_chars¦prefetch_timeout_s¦prefetch_max_age_turns`.split("¦"),
  ...`mirror_remove¦refresh_on_resume¦flush_min_turns¦write_mode¦mem0¦<<¦true¦? a¦"provider"`.split("¦"),
  ...`provider `.split("¦"),
);

const oddValue = fc.constantFrom(
  ...`yes¦No¦on¦OFF¦y¦n¦True¦FALSE¦null¦~¦Null¦.inf¦.nan¦0x10¦0o17¦017¦1_000¦+5¦-1¦1e3¦1.0¦.5¦0`.split("¦"),
  ...`00¦10:30¦9007199254740993¦123456789¦1234567890¦65535¦600¦601¦&a 5¦*a¦!!str 5¦!x y¦|¦>`.split("¦"),
  ...`|\n    text¦>-\n    folded\n    text¦{a: 1}¦{}¦[]¦[ ]¦[a,¦[a, b]¦[a,b , c]¦[true]¦[1]`.split("¦"),
  ...`[yes]¦['a', "b"]¦[a b]¦[[a]]¦[a, ]¦[a]#x¦[a] # x¦[a: b]¦a: b¦a:¦a :b¦'it''s'¦'a' b¦"a\\n"`.split("¦"),
  ...`"a" # c¦"a"#c¦''¦""¦'#'¦a #c¦a#c¦# c¦#c¦a # b # c¦-¦- a¦-a¦@a¦%a¦?a¦? a¦=¦<<¦a, b¦a]b¦a}b`.split("¦"),
  ...`http://x/y¦a\tb¦\ta¦a\u00a0¦ä¦\u2028¦a\ufeff¦refuse¦archive¦'archive'¦Refuse¦mem0¦a/b.c-d`.split("¦"),
  ...`\n    - a\n    - b¦\n  - a¦\n    -a¦\n    - a: 1\n      b: 2¦\n    - 'x' # y\n    - true`.split("¦"),
  ...`\n    -\n      a¦\n    - - a¦\n    x: 1¦\n      deeper: 1\n    shallower: 2¦¦ ¦approve`.split("¦"),
  "`a",
);

const plainValue = fc.oneof(
  fc.boolean().map(String),
  fc.nat({ max: 2_000_000 }).map(String),
  fc.constantFrom(
    ...`mem0|"mem0"|''|refuse|archive|[]|[hermes_env, ssh_access]|\n    - hermes_env`.split("|"),
  ),
);

const comment = fc.constantFrom("", "", "", " # note", "  # a: b", "#x", " ");
const line = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(memoryKey, plainValue, comment).map(([k, v, c]) => `  ${k}: ${v}${c}`) },
  { weight: 3, arbitrary: fc.tuple(memoryKey, oddValue, comment).map(([k, v, c]) => `  ${k}: ${v}${c}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ..."|  # note|# note|  |   provider: x| provider: x|\tx: 1|  - a|...|---|%YAML 1.1|  text|}".split("|"),
      "  provider:x",
    ),
  },
);
const section = fc
  .tuple(
    fc.constantFrom("memory:", "memory: ", "memory: # c", "memory:   ", '"memory":', "Memory:", "memory: {}"),
    fc.array(line, { maxLength: 5 }),
  )
  .map(([head, lines]) => [head, ...lines].join("\n"));
const other = fc.constantFrom(
  ...[
    ..."model: x¦list:\n- a\n- b¦list:\n  - name: x\n    y: 1\n  - z".split("¦"),
    ..."deep:\n  a:\n    b: 1\n  c: 2¦# c¦¦a: 'b'¦a: |\n  memory:\n    provider: y".split("¦"),
  ],
  ...[
    ..."x: {a: 1}|x: &a 1|text: a\n  memory: b|list:\n  - memory:\n      provider: z|- a".split("|"),
    ...`model: x|k: [a,\n  b]|q: "a\n  b"|e:|e:\n\n\n`.split("|"),
  ],
);
const config = fc
  .tuple(
    fc.array(other, { maxLength: 3 }),
    fc.option(section),
    fc.array(other, { maxLength: 2 }),
    fc.constantFrom("\n", "\n", "\r\n", "\r"),
  )
  .map(([before, memory, after, newline]) =>
    [...before, ...(memory === null ? [] : [memory]), ...after, ""].join("\n").replaceAll("\n", newline),
  );

describe("the quick reader", () => {
  it("says what the full loader says, or nothing", () => {
    let answered = 0;
    fc.assert(
      fc.property(config, (text) => {
        if (agrees(text)) answered += 1;
      }),
      { numRuns: 4000 },
    );
    expect(answered).toBeGreaterThan(200); // the comparison must not be an empty one
  });

  it("stays right when a plain config is damaged at any place", () => {
    const plain = fc
      .array(fc.tuple(memoryKey, plainValue), { maxLength: 4 })
      .map((pairs) =>
        [
          "top: 1",
          "memory:",
          ...pairs.map(([key, value]) => `  ${key}: ${value}`),
          "end:",
          "  - a: b",
          "    c: d",
          "",
        ].join("\n"),
      );
    const damage = fc.constantFrom(
      ...` ¦\n¦\t¦#¦ #¦:¦: ¦-¦- ¦"¦'¦[¦]¦{¦}¦,¦&¦*¦!¦|¦>¦%¦@¦0¦x¦\\¦\u0000¦\ufeff¦\u0085¦---\n¦?¦~¦`.split(
        "¦",
      ),
    );
    fc.assert(
      fc.property(plain, fc.nat(), damage, fc.nat({ max: 2 }), (text, at, inserted, removed) => {
        const place = at % (text.length + 1);
        agrees(text.slice(0, place) + inserted + text.slice(place + removed));
      }),
      { numRuns: 4000 },
    );
  });

  it("stays right on arbitrary text", () => {
    const piece = fc.constantFrom(
      ...`memory¦:¦ ¦\n¦  ¦provider¦- ¦#¦a¦'¦"¦[¦]¦5¦true¦,¦{¦}¦&a¦*a`.split("¦"),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => void agrees(pieces.join(""))),
      { numRuns: 4000 },
    );
  });

  it.each([
    [
      "an ordinary file",
      "model: gpt\nmemory:\n  memory_enabled: true\n  provider: mem0\nmcp:\n  - name: a\n    url: http://x:1/y\n",
    ],
    ["Windows line ends", "memory:\r\n  provider: mem0\r\n"],
    ["comments and blank lines", "# a\n\nmemory: # b\n  # c\n\n  provider: mem0 # d\n"],
    ["flow lists and empty mappings elsewhere", "a: []\nb: {}\nc: [x, 'y']\nmemory:\n  nudge_interval: 3\n"],
    ["lists in the column of their key", "a:\n- x\n- y\nmemory:\n  scan_allow:\n  - p\n  - q\n"],
    ["no memory section", "model: x\n"],
    ["an empty file", ""],
  ])("answers for %s", (_name, text) => {
    expect(agrees(text)).toBe(true);
  });

  it.each([
    ["broken YAML in another section", "memory:\n  provider: mem0\nother: [1\n"],
    ["duplicate keys", "memory:\n  provider: a\nmemory:\n  provider: b\n"],
    ["a number out of range", "memory:\n  history_keep: 0\n"],
    ["words YAML versions disagree on", "memory:\n  memory_enabled: yes\n"],
    ["a provider called no", "memory:\n  provider: no\n"],
    ["the old gate", "memory:\n  write_mode: approve\n"],
    ["a byte order mark", "\ufeffmemory:\n  provider: a\n"],
  ])("leaves %s to the full loader", (_name, text) => {
    expect(quickReadMemoryConfig(text)).toBeUndefined();
  });
});
