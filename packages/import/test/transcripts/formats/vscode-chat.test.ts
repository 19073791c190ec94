// Chat sessions of VS Code: the log of changes gives what the state it describes gives as a whole.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { vscodeChat } from "../../../src/transcripts/formats/vscode-chat.ts";
import { readHome } from "../read-fixture.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-vscode-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

type Request = { requestId: string; message: { text: string }; response: unknown[]; [key: string]: unknown };
type State = { sessionId: string; requests: Request[]; [key: string]: unknown };
type Entry = { kind: number; k?: (string | number)[]; v?: unknown; i?: number };

const words = fc.string({ maxLength: 8 });
const part = fc.oneof(
  fc.record({ value: words }),
  fc.record({ kind: fc.constant("thinking"), value: words }),
  fc.record({
    kind: fc.constant("toolInvocationSerialized"),
    toolId: words,
    toolCallId: words,
    pastTenseMessage: words,
  }),
);
const request = fc.record({
  requestId: fc.uuid(),
  timestamp: fc.integer({ min: 1_700_000_000_000, max: 1_800_000_000_000 }),
  message: fc.record({ text: words }),
  response: fc.array(part, { maxLength: 4 }),
  modelState: fc.record({ value: fc.integer({ min: 0, max: 4 }) }),
  variableData: fc.constant({ variables: [{ value: "unused" }] }),
});
const state = fc.record({
  sessionId: fc.constant("s1"),
  creationDate: fc.constant(1_750_000_000_000),
  inputState: fc.constant({ inputText: "unused" }),
  requests: fc.array(request, { maxLength: 3 }),
});
/** A change in words; the model turns it into an entry that fits the state at that moment. */
const wish = fc.record({
  what: fc.constantFrom("add", "part", "cut", "title", "state", "remove", "input", "whole", "result"),
  at: fc.nat(20),
  request,
  part,
  text: words,
});

type Wish = typeof wish extends fc.Arbitrary<infer T> ? T : never;

/** Changes the state and gives the entry that a program would write for it. */
function changed(now: State, { what, at, ...values }: Wish): Entry {
  const index = now.requests.length === 0 ? -1 : at % now.requests.length;
  const found = now.requests[index];
  if (what === "title") {
    now.customTitle = values.text;
    return { kind: 1, k: ["customTitle"], v: values.text };
  }
  if (what === "input") return { kind: 1, k: ["inputState", "inputText"], v: values.text };
  if (what === "whole") return { kind: 0, v: now };
  if (what === "add" || found === undefined) {
    const from = what === "cut" ? at : undefined;
    if (from !== undefined) now.requests.length = Math.min(from, now.requests.length);
    now.requests.push(structuredClone(values.request));
    return { kind: 2, k: ["requests"], v: [values.request], ...(from === undefined ? {} : { i: from }) };
  }
  if (what === "part") {
    found.response.push(values.part);
    return { kind: 2, k: ["requests", index, "response"], v: [values.part] };
  }
  if (what === "cut") {
    const i = at % (found.response.length + 1);
    found.response.length = i;
    return { kind: 2, k: ["requests", index, "response"], i };
  }
  if (what === "remove") {
    delete found.modelState;
    return { kind: 3, k: ["requests", index, "modelState"] };
  }
  const [key, value] =
    what === "state"
      ? ["modelState", { value: at % 5 }]
      : [
          "result",
          { metadata: { outputTokens: at, toolCallRounds: [{ response: values.text }], unused: [1] } },
        ];
  found[key as string] = value;
  return { kind: 1, k: ["requests", index, key as string], v: value };
}

async function read(name: string, text: string) {
  const file = join(home, name);
  await writeFile(file, text);
  const { sessions, malformed } = await readHome(vscodeChat, home, { path: file });
  return { sessions, malformed };
}

it("a log of changes gives the messages of the state that it leads to", async () => {
  await fc.assert(
    fc.asyncProperty(state, fc.array(wish, { maxLength: 25 }), async (first, wishes) => {
      const now: State = structuredClone(first);
      const log = [JSON.stringify({ kind: 0, v: first })];
      for (const one of wishes) log.push(JSON.stringify(changed(now, one)));
      const torn = '{"kind":1,"k":["customTitle"],"v":"never fini';
      expect(await read("s1.jsonl", `${log.join("\n")}\n${torn}`)).toEqual(
        await read("s1.json", JSON.stringify(now)),
      );
    }),
    { numRuns: 60 },
  );
});

it("hostile paths change nothing and are reported", async () => {
  const { sessions, malformed } = await read(
    "s1.jsonl",
    [
      { kind: 0, v: { sessionId: "s1", requests: [] } },
      { kind: 1, k: ["__proto__", "polluted"], v: true },
      { kind: 1, k: ["requests", 4_000_000_000], v: {} },
      { kind: 2, k: ["requests"], v: [], i: -1 },
      { kind: 2, k: ["requests", "length"], v: [1] },
      { kind: 1, k: ["requests", "__proto__"], v: {} },
      { kind: 1, k: [], v: {} },
    ]
      .map((entry) => JSON.stringify(entry))
      .join("\n"),
  );
  expect(sessions).toMatchObject([{ messages: [] }]);
  expect(malformed).toHaveLength(6);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});
