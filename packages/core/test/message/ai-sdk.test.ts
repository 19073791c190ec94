// Messages of the AI SDK, versions 5, 6 and 7, become ours and go back; each version's own schema says whether they are valid.
import { join } from "node:path";
import { type ModelMessage as ModelMessage7, modelMessageSchema as schema7 } from "ai";
import { type ModelMessage as ModelMessage5, modelMessageSchema as schema5 } from "ai5";
import { type ModelMessage as ModelMessage6, modelMessageSchema as schema6 } from "ai6";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateMessages } from "../../src/context/index.ts";
import {
  type AiSdkVersion,
  type AnyAiSdkMessage,
  fromAiSdk,
  fromRow,
  type Message,
  type MessageInput,
  newMessage,
  type OpenAiMessage,
  parseMessages,
  toAiSdk,
  toMessageColumns,
  toMessageRow,
  toOpenAi,
} from "../../src/message/index.ts";
import { openSessionStore } from "../../src/sessions/index.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const VERSIONS = [5, 6, 7] as const;
const SCHEMAS = { 5: schema5, 6: schema6, 7: schema7 };

describe("types", () => {
  it("keep messages of the SDK out of places that take ours, and the converters take and give each version", () => {
    const five: ModelMessage5[] = [{ role: "user", content: "hi" }];
    const six: ModelMessage6[] = [{ role: "user", content: "hi" }];
    const seven: ModelMessage7[] = [{ role: "user", content: "hi" }];
    const [own = newMessage({ role: "user", content: "" })] = [
      ...fromAiSdk(five),
      ...fromAiSdk(six),
      ...fromAiSdk(seven),
    ];
    const back5: ModelMessage5[] = toAiSdk([own], { version: 5 });
    const back6: ModelMessage6[] = toAiSdk([own], { version: 6 });
    const back7: ModelMessage7[] = toAiSdk([own], { version: 7 });
    expect([back5, back6, back7]).toEqual([five, six, seven]);
    const takes = (_messages: readonly Message[], _rows: readonly OpenAiMessage[], _in: MessageInput[]) => 0;
    // @ts-expect-error: not a Message
    takes(seven, [], []);
    // @ts-expect-error: not a chat row
    takes([], seven, []);
    // @ts-expect-error: nothing to store
    takes([], [], seven);
    // @ts-expect-error: of version 5
    takes(five, [], []);
    // @ts-expect-error: of version 6
    takes([], [], six);
    // @ts-expect-error: a list of the SDK is neither messages nor rows
    estimateMessages(seven);
    // @ts-expect-error: a Message is no ModelMessage either
    const wrong: ModelMessage7 = own;
    expect(wrong).toBe(own);
  });
});

describe("the session store", () => {
  const call = { type: "tool-call", toolCallId: "c1", toolName: "f", input: {} };
  const result = {
    type: "tool-result",
    toolCallId: "c1",
    toolName: "f",
    output: { type: "text", value: "done" },
  };
  it.each([
    { role: "assistant", content: [{ type: "text", text: "on it" }, call] },
    { role: "tool", content: [result] },
  ])("refuses a message of role $role whose calls would be lost in it", (message) => {
    for (const mode of ["append", "replace"] as const)
      expect(() => toMessageColumns(message, { now: 0, mode })).toThrow(
        expect.objectContaining({ code: "bad-message", hint: expect.stringContaining("fromAiSdk") }),
      );
    expect(toMessageColumns(message, { now: 0, mode: "import" }).content).toContain("toolCallId");
    for (const own of fromAiSdk([message as ModelMessage7]))
      expect(toMessageColumns(own, { now: 0, mode: "append" }).role).toBe(message.role);
  });
});

describe("a message that was stored", () => {
  const options = { providerOptions: { openai: { itemId: "i1" } } };
  const readAgain = (given: readonly object[]) =>
    toAiSdk(
      fromAiSdk(given as AnyAiSdkMessage[]).flatMap((own) => {
        const columns = toMessageColumns(own, { now: 1, mode: "append" });
        const stored = { ...columns, id: 1, session_id: "s", active: 1, origin_id: null };
        return fromRow(toMessageRow(stored)) ?? [];
      }),
      { version: 6 },
    );

  it("has its parts, calls and reasoning with their options", () => {
    const list = [
      {
        role: "user",
        content: [
          { type: "text", text: "look", ...options },
          { type: "image", image: new URL("https://example.org/a.png"), ...options },
          { type: "file", data: "AAAA", mediaType: "application/pdf", filename: "f", ...options },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm", ...options },
          { type: "text", text: "on it", ...options },
          { type: "tool-call", toolCallId: "1", toolName: "f", input: { a: 1 }, ...options },
          { type: "tool-call", toolCallId: "2", toolName: "g", input: {}, providerExecuted: true },
          { type: "tool-result", toolCallId: "2", toolName: "g", output: { type: "json", value: [1] } },
        ],
      },
    ];
    expect(readAgain(list)).toEqual(list);
  });

  it("has lost its own options and those of a result, and has the kind of each output", () => {
    const result = (output: object) => ({ type: "tool-result", toolCallId: "c", toolName: "f", output });
    const parts = { type: "content", value: [{ type: "text", text: "x" }] };
    const outputs = [
      { type: "error-text", value: "no" },
      { type: "json", value: { a: 1 } },
      { type: "error-json", value: { a: 1 } },
      { type: "execution-denied", reason: "no" },
      parts,
    ];
    const list = [
      { role: "user", content: "hi", ...options },
      { role: "tool", content: outputs.map((output) => ({ ...result(output), ...options })) },
    ];
    expect(readAgain(list)).toEqual([
      { role: "user", content: "hi" },
      { role: "tool", content: outputs.map(result) },
    ]);
  });

  const columnsOf = (message: object) =>
    fromAiSdk([message as AnyAiSdkMessage]).map((own) => toMessageColumns(own, { now: 1, mode: "append" }));

  it("has what JSON makes of values that are no JSON", () => {
    const value = { at: new Date(0), gone: undefined, none: [undefined, Number.NaN], run: () => 1 };
    const output = { type: "json", value };
    const result = { type: "tool-result", toolCallId: "c", toolName: "f", output };
    const [columns] = columnsOf({ role: "tool", content: [result] });
    expect(columns).toMatchObject({ content: JSON.stringify(value), finish_reason: "json" });
    expect(columns?.content).toBe('{"at":"1970-01-01T00:00:00.000Z","none":[null,null]}');
  });

  it("that was pruned since keeps the kind that its text still has", () => {
    const result = (output: object) => ({ type: "tool-result", toolCallId: "c", toolName: "f", output });
    const outputs = ["json", "error-json", "error-text"].map((type) => result({ type, value: "x" }));
    const [list] = [{ role: "tool", content: outputs }];
    const pruned = fromAiSdk([list as AnyAiSdkMessage]).flatMap((own) => {
      const columns = { ...toMessageColumns(own, { now: 1, mode: "append" }), content: "[pruned" };
      return fromRow(toMessageRow({ ...columns, id: 1, session_id: "s", active: 1, origin_id: null })) ?? [];
    });
    const [made] = toAiSdk(pruned, { version: 7 });
    const parts = made?.content as { output: unknown }[] | undefined;
    expect(parts?.map(({ output }) => output)).toEqual(
      ["text", "error-text", "error-text"].map((type) => ({ type, value: "[pruned" })),
    );
  });
});

describe("entries that are no messages of the SDK", () => {
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  let deep: unknown = "x";
  for (let level = 0; level < 50_000; level += 1) deep = [deep];
  const calling = (input: unknown) => ({
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "c", toolName: "f", input }],
  });
  const answering = (value: unknown) => ({
    role: "tool",
    content: [{ type: "tool-result", toolCallId: "c", toolName: "f", output: { type: "json", value } }],
  });
  const nameless = { role: "assistant", content: [{ type: "tool-call", input: {} }] };
  const nested = "is nested deeper than 100 levels, or holds itself";
  const noParts = "has a content that is neither text nor a list of parts";
  it.each([
    ["null", null, "is not an object"],
    [
      "another role",
      { role: "data", content: "x" },
      "has none of the roles system, user, assistant and tool",
    ],
    ["no content", { role: "user" }, noParts],
    ["a part that is none", { role: "user", content: [null] }, noParts],
    ["a tool message of text", { role: "tool", content: "x" }, "is of role tool and has no list of results"],
    ["a call without id", nameless, "has a tool call without an id or a name"],
    ["a cycle in a part", { role: "user", content: [{ type: "file", data: cyclic }] }, nested],
    ["a cycle in a call", calling(cyclic), nested],
    ["a deep call", calling(deep), nested],
    ["a deep result", answering(deep), nested],
    ["deep options", { role: "user", content: "x", providerOptions: { a: { deep } } }, nested],
    ["a bigint", calling({ n: 5n }), "holds a bigint, which JSON has no form for"],
    ["a bigint in a result", answering(5n), "holds a bigint, which JSON has no form for"],
  ])("are refused with their index: %s", (_name, entry, why) => {
    const list = [{ role: "user", content: "fine" }, entry] as unknown as AnyAiSdkMessage[];
    expect(() => fromAiSdk(list)).toThrow(
      expect.objectContaining({ code: "bad-message", message: `Entry 1 of the AI SDK's messages ${why}.` }),
    );
  });

  it("and no list at all", () => {
    expect(() => fromAiSdk("abc" as never)).toThrow(expect.objectContaining({ code: "bad-message" }));
  });
});

// ---- what may be written in each version

const word = fc.string({ minLength: 1, maxLength: 12 });
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const options = fc.constantFrom(
  {},
  { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } },
  { providerOptions: { openai: { itemId: "i1" }, google: { thoughtSignature: "c2ln" } } },
);
const bytes = fc.uint8Array({ minLength: 1, maxLength: 20 });
const PNG = Buffer.from("89504e470d0a1a0a00", "hex");
const base64 = bytes.map((data) => Buffer.from(data).toString("base64"));
const web = fc.webUrl().map((url) => new URL(url));

const text = fc.tuple(fc.record({ type: fc.constant("text"), text: fc.string() }), options);
const image = fc.tuple(
  fc.oneof(
    fc.record({
      type: fc.constant("image"),
      image: fc.oneof(base64, bytes),
      mediaType: fc.constant("image/webp"),
    }),
    fc.record({ type: fc.constant("image"), image: web }),
    fc.constant({ type: "image", image: PNG, mediaType: "image/png" }),
  ),
  options,
);
const file = (version: AiSdkVersion) =>
  fc.tuple(
    fc.record(
      {
        type: fc.constant("file"),
        data: fc.oneof(
          base64,
          bytes,
          web,
          ...(version === 7
            ? [
                fc.record({ type: fc.constant("data"), data: fc.oneof(base64, bytes) }),
                fc.record({ type: fc.constant("url"), url: web }),
                fc.record({ type: fc.constant("text"), text: fc.string() }),
                fc.record({ type: fc.constant("reference"), reference: fc.constant({ openai: "file-1" }) }),
              ]
            : []),
        ),
        mediaType: fc.constantFrom("application/pdf", "audio/wav"),
        filename: word,
      },
      { requiredKeys: ["type", "data", "mediaType"] },
    ),
    options,
  );
const pictureFile = fc.tuple(
  fc.record({ type: fc.constant("file"), data: fc.oneof(base64, web), mediaType: fc.constant("image/jpeg") }),
  options,
);
const reasoning = fc.tuple(fc.record({ type: fc.constant("reasoning"), text: fc.string() }), options);
const call = fc.tuple(
  fc.record(
    {
      type: fc.constant("tool-call"),
      toolCallId: word,
      toolName: word,
      input: fc.oneof(fc.dictionary(word, json), json),
      providerExecuted: fc.boolean(),
    },
    { requiredKeys: ["type", "toolCallId", "toolName", "input"] },
  ),
  options,
);
const outputPart = (version: AiSdkVersion) =>
  fc.oneof(
    fc.record({ type: fc.constant("text"), text: fc.string() }),
    ...(version === 7
      ? [
          fc.record({
            type: fc.constant("file"),
            data: fc.oneof(
              fc.record({ type: fc.constant("data"), data: base64 }),
              fc.record({ type: fc.constant("url"), url: web }),
            ),
            mediaType: fc.constantFrom("image/png", "application/pdf"),
          }),
        ]
      : [
          fc.record({
            type: fc.constant("media"),
            data: base64,
            mediaType: fc.constantFrom("image/png", "audio/wav"),
          }),
        ]),
    ...(version === 5
      ? []
      : [
          fc.record({ type: fc.constant("image-data"), data: base64, mediaType: fc.constant("image/png") }),
          fc.record({ type: fc.constant("image-url"), url: fc.webUrl() }),
          fc.record({
            type: fc.constant("file-data"),
            data: base64,
            mediaType: fc.constant("application/pdf"),
          }),
          fc.record({ type: fc.constant("file-id"), fileId: word }),
        ]),
  );
const output = (version: AiSdkVersion) =>
  fc.oneof(
    fc.record({ type: fc.constantFrom("text", "error-text"), value: fc.string() }),
    fc.record({ type: fc.constantFrom("json", "error-json"), value: json }),
    fc.record({ type: fc.constant("content"), value: fc.array(outputPart(version), { maxLength: 3 }) }),
    ...(version === 5
      ? []
      : [
          fc.record({ type: fc.constant("execution-denied"), reason: word }, { requiredKeys: ["type"] }),
          fc.record({
            type: fc.constant("text"),
            value: fc.string(),
            providerOptions: fc.constant({ x: { y: 1 } }),
          }),
        ]),
  );
const result = (version: AiSdkVersion) =>
  fc.tuple(
    fc.record({
      type: fc.constant("tool-result"),
      toolCallId: word,
      toolName: word,
      output: output(version),
    }),
    options,
  );
const approval = fc.record({
  type: fc.constant("tool-approval-request"),
  approvalId: word,
  toolCallId: word,
});
const answer = fc.record(
  { type: fc.constant("tool-approval-response"), approvalId: word, approved: fc.boolean(), reason: word },
  { requiredKeys: ["type", "approvalId", "approved"] },
);

const joined = (part: fc.Arbitrary<readonly [object, object]>) =>
  part.map(([own, more]) => ({ ...own, ...more }));
const list = (...parts: readonly fc.Arbitrary<object>[]) => fc.array(fc.oneof(...parts), { maxLength: 5 });

function messagesOf(version: AiSdkVersion): fc.Arbitrary<AnyAiSdkMessage[]> {
  const said = fc.oneof(
    fc.record({ role: fc.constant("system"), content: fc.string() }),
    fc.record({
      role: fc.constant("user"),
      content: fc.oneof(
        fc.string(),
        list(joined(text), joined(image), joined(file(version)), joined(pictureFile)),
      ),
    }),
    fc.record({
      role: fc.constant("assistant"),
      content: fc.oneof(
        fc.string(),
        list(
          joined(text),
          joined(reasoning),
          joined(call),
          joined(file(version)),
          joined(result(version)),
          ...(version === 5 ? [] : [approval]),
          ...(version === 7 ? [fc.constant({ type: "custom", kind: "openai.compaction" })] : []),
        ),
      ),
    }),
    fc.record({
      role: fc.constant("tool"),
      content: fc.array(fc.oneof(joined(result(version)), ...(version === 5 ? [] : [answer])), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
  );
  return fc.array(
    fc.tuple(said, options).map(([own, more]) => ({ ...own, ...more })),
    {
      maxLength: 6,
    },
  ) as unknown as fc.Arbitrary<AnyAiSdkMessage[]>;
}

/** Bytes as base64, addresses as text, and results that follow each other in one message: what both sides agree on. */
function canonical(messages: readonly AnyAiSdkMessage[]): unknown {
  const merged: AnyAiSdkMessage[] = [];
  for (const message of messages.map(withPlainText)) {
    const last = merged.at(-1);
    const isMore =
      message.role === "tool" &&
      last?.role === "tool" &&
      JSON.stringify(last.providerOptions) === JSON.stringify(message.providerOptions);
    if (isMore)
      merged[merged.length - 1] = { ...last, content: [...last.content, ...message.content] as object[] };
    else merged.push(message);
  }
  return plain(merged);
}

/** Text alone as one text, and no empty text in a reply. */
function withPlainText(message: AnyAiSdkMessage): AnyAiSdkMessage {
  const { role, content } = message;
  if (typeof content === "string" || (role !== "user" && role !== "assistant")) return message;
  const isText = (part: object) => "text" in part && !isThought(part) && !("providerOptions" in part);
  const parts = content.filter(
    (part) => role === "user" || !isText(part) || !("text" in part && part.text === ""),
  );
  const texts = parts.filter(isText).map((part) => ("text" in part ? String(part.text) : ""));
  const joined = texts.join("");
  if (texts.length === parts.length && texts.length > 0 && (role === "assistant" || texts.length === 1))
    return { ...message, content: joined };
  const kinds = parts.map((part) =>
    isThought(part) ? "1" : isText(part) ? "2" : isCall(part) ? "3" : "other",
  );
  const isJoined =
    !kinds.includes("other") && kinds.join("") === kinds.toSorted().join("") && texts.length > 1;
  if (!isJoined || role === "user") return { ...message, content: parts };
  const before = parts.slice(0, kinds.indexOf("2"));
  return { ...message, content: [...before, { type: "text", text: joined }, ...parts.filter(isCall)] };
}

function isThought(part: object): boolean {
  return "type" in part && part.type === "reasoning";
}

function isCall(part: object): boolean {
  return "type" in part && part.type === "tool-call";
}

/** Without the options that have no column. */
function withoutOptions(messages: readonly AnyAiSdkMessage[]): AnyAiSdkMessage[] {
  const bare = <T extends object>({ providerOptions: _, ...rest }: T & { providerOptions?: unknown }) => rest;
  return messages.map((message) => {
    const { role, content } = bare(message) as AnyAiSdkMessage;
    if (role !== "tool" || typeof content === "string") return { role, content };
    const results = content.map((part) => {
      const own = bare(part) as { output?: object };
      return own.output === undefined ? own : { ...own, output: bare(own.output) };
    });
    return { role, content: results };
  });
}

function plain(value: unknown): unknown {
  if (value instanceof URL) return value.href;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, plain(item)] as const);
  const fields = Object.fromEntries(entries) as Record<string, unknown>;
  // Two spellings of the same file.
  const { type, data, url } = (fields.data ?? {}) as Record<string, unknown>;
  if (fields.type === "file" && (type === "data" || type === "url")) fields.data = data ?? url;
  return fields;
}

describe.each(VERSIONS)("messages of version %i", (version) => {
  it("come back as they were, are JSON, make valid rows and are valid in the other versions", () => {
    fc.assert(
      fc.property(messagesOf(version), fc.constantFrom(...VERSIONS), (messages, other) => {
        for (const message of messages) SCHEMAS[version].parse(message);
        const own = fromAiSdk(messages);
        expect(JSON.parse(JSON.stringify(own))).toEqual(own);
        expect(parseMessages(own.map((message) => toOpenAi(message))).refused).toEqual([]);
        for (const message of toAiSdk(own, { version: other })) SCHEMAS[other].parse(message);
        const back = toAiSdk(own, { version }) as AnyAiSdkMessage[];
        for (const message of back) SCHEMAS[version].parse(message);
        expect(canonical(back)).toEqual(canonical(messages));
      }),
      { numRuns: 400 },
    );
  });

  it("come back from the database as they were, but for options without a column", {
    timeout: 60_000,
  }, async () => {
    await using store = await openSessionStore({ path: join(tempDirectory(), "state.db") });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(messagesOf(version), async (messages) => {
        runs += 1;
        let own = fromAiSdk(messages);
        // The second time as copies of stored rows.
        for (const id of [`a${runs}`, `b${runs}`]) {
          await store.createSession(id, { source: "test" });
          await store.appendMany(id, own);
          own = (await store.getMessages(id)).flatMap((row) => fromRow(row) ?? []);
          const back = toAiSdk(own, { version }) as AnyAiSdkMessage[];
          for (const message of back) SCHEMAS[version].parse(message);
          expect(canonical(back)).toEqual(canonical(withoutOptions(messages)));
          const shown = await store.getMessagesAsConversation(id);
          const sent = own.map((message) => toOpenAi(message, { forOthers: true }));
          const all = JSON.stringify([own.map(({ meta: _, ...rest }) => rest), back, sent, shown]);
          expect(all).not.toContain('"hermes"');
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe("a reply with reasoning", () => {
  const thought = (text: string, signature: string) => ({
    type: "reasoning" as const,
    text,
    providerOptions: { anthropic: { signature } },
  });

  it("that another program stored in Anthropic's shape goes out as reasoning", () => {
    const details = [
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "redacted_thinking", data: "d" },
      { type: "reasoning.text", text: "a router's own" },
    ];
    const own = newMessage({
      role: "assistant",
      content: "Yes.",
      toolCalls: [],
      vendor: { reasoning_details: details },
    });
    expect(toAiSdk([own], { version: 6 })).toEqual([
      {
        role: "assistant",
        content: [
          thought("hm", "s"),
          { type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: "d" } } },
          { type: "text", text: "Yes." },
        ],
      },
    ]);
  });
});

describe("messages of chat rows", () => {
  const [user, reply, result] = parseMessages([
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
        { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERg==" } },
        { type: "input_audio", input_audio: { data: "UklGRg==", format: "mp3" } },
        { type: "video_url", video_url: { url: "https://example.org/a.mp4" } },
        17,
      ],
    },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c", type: "function", function: { name: "read", arguments: "{broken" } }],
    },
    { role: "tool", tool_call_id: "c", content: "done" },
  ]).messages as [Message, Message, Message];

  it.each(VERSIONS)("are valid in version %i, and nothing they say is left out", (version) => {
    const made = toAiSdk([user, reply, result], { version });
    for (const message of made) SCHEMAS[version].parse(message);
    expect(made).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image", image: "iVBORw0KGgo=", mediaType: "image/png" },
          { type: "file", data: "JVBERg==", mediaType: "application/pdf", filename: "a.pdf" },
          { type: "file", data: "UklGRg==", mediaType: "audio/mpeg" },
          { type: "text", text: '{"type":"video_url","video_url":{"url":"https://example.org/a.mp4"}}' },
          { type: "text", text: "17" },
        ],
      },
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "c", toolName: "read", input: "{broken" }],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "c", toolName: "read", output: { type: "text", value: "done" } },
        ],
      },
    ]);
  });

  it("of roles no model knows, and results that name no call, are left out", () => {
    const odd = parseMessages([
      { role: "narrator", content: "x" },
      { role: "tool", content: "nobody's" },
      { role: "developer", content: "rules" },
    ]).messages;
    expect(toAiSdk(odd, { version: 7 })).toEqual([{ role: "system", content: "rules" }]);
  });
});
