// Rows of the database become messages and come back; readers get them decoded, or as they go back into a context.
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Content,
  encodeContent,
  fromRow,
  type Message,
  newMessage,
  REFUSED_BY_POLICY,
  type StoredMessageRow,
  toConversationRow,
  toMessageColumns,
  toMessageRow,
  toNewMessage,
  withMeta,
} from "../../src/message/index.ts";
import { openSessionStore } from "../../src/sessions/index.ts";
import { storedRow as row } from "../fakes/stored-row.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const FENCED = "question\n\n<memory-context>\nrecalled\n</memory-context>\n ";

describe("a message row", () => {
  it("survives damaged JSON with a warning that names the message", () => {
    const warnings: string[] = [];
    const stored = row({ tool_calls: "[broken", content: "\u0000json:{" });
    const read = toMessageRow(stored, (message) => warnings.push(message));
    expect(read).toMatchObject({ tool_calls: [], content: "\u0000json:{" });
    expect(warnings).toHaveLength(2);
    for (const warning of warnings) expect(warning).toContain(`Message ${stored.id} of session s1`);
  });
});

describe("a conversation message", () => {
  const only = (columns: Partial<StoredMessageRow>) => toConversationRow(row(columns));

  it("has role, content and time, and no key without a value", () => {
    expect(only({})).toEqual({ role: "user", content: "hello", timestamp: 10 });
    expect(
      only({ content: null, timestamp: 0, tool_call_id: "", tool_name: "", platform_message_id: "" }),
    ).toEqual({
      role: "user",
      content: null,
    });
  });

  it("is cleaned of recalled memory and blanks when a person or a model wrote it", () => {
    expect(only({ role: "user", content: FENCED }).content).toBe("question");
    expect(only({ role: "assistant", content: ` \u001c${FENCED}` })?.content).toBe("question");
    expect(only({ role: "user", content: Buffer.from(FENCED) })?.content).toBe("question");
  });
});

describe("a message that was stored and read back", () => {
  // Columns that are indexed hold no U+0000 and no half characters; content holds everything.
  const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
  const anyText = fc.string({ unit: "binary", maxLength: 30 });
  const details = fc.array(fc.record({ type: fc.constant("thing"), text: word }), {
    minLength: 1,
    maxLength: 3,
  });
  const some = <T>(model: Record<string, fc.Arbitrary<T>>) => fc.record(model, { requiredKeys: [] });
  const part = fc.oneof(
    fc.record({ type: fc.constant("text" as const), text: anyText }),
    fc.record({
      type: fc.constant("text" as const),
      text: anyText,
      vendor: fc.constant({ cache_control: { type: "ephemeral" } }),
    }),
    fc.record({ type: fc.constant("image" as const), url: fc.webUrl() }),
    fc.record({
      type: fc.constant("other" as const),
      value: fc.record({ type: fc.constant("input_audio"), input_audio: word }),
    }),
  );
  const content: fc.Arbitrary<Content> = fc.oneof(
    anyText,
    fc.constant(null),
    fc.array(part, { minLength: 1, maxLength: 3 }),
  );
  const toolCalls = fc.array(
    fc.record(
      {
        id: word.filter((id) => !id.includes("|")),
        name: word,
        arguments: anyText,
        vendor: fc.record({ extra_content: details }),
      },
      { requiredKeys: ["id", "name", "arguments"] },
    ),
    { minLength: 1, maxLength: 3 },
  );
  const thoughts = some<unknown>({
    reasoning: word,
    reasoning_content: fc.oneof(word, fc.constant("")),
    reasoning_details: details,
    codex_reasoning_items: details,
    codex_message_items: details,
  });
  const atSeconds = fc.double({ min: 1, max: 4e9, noNaN: true });
  const message: fc.Arbitrary<Message> = fc.oneof(
    fc
      .tuple(
        content,
        fc.record(
          { atSeconds, platformMessageId: word, observed: fc.constant(true as const) },
          { requiredKeys: ["atSeconds"] },
        ),
      )
      .map(([said, meta]) => newMessage({ role: "user", content: said }, meta)),
    fc
      .tuple(
        content,
        fc.record({ atSeconds, writtenRole: fc.constant("developer") }, { requiredKeys: ["atSeconds"] }),
      )
      .map(([said, meta]) => newMessage({ role: "system", content: said }, meta)),
    fc
      .tuple(
        content,
        fc.oneof(toolCalls, fc.constant([])),
        thoughts,
        fc.record({ atSeconds, finishReason: word }, { requiredKeys: ["atSeconds"] }),
      )
      .map(([said, calls, vendor, meta]) =>
        newMessage(
          {
            role: "assistant",
            content: said,
            toolCalls: calls,
            ...(Object.keys(vendor).length === 0 ? {} : { vendor }),
          },
          meta,
        ),
      ),
    fc
      .tuple(content, word, word, atSeconds)
      .map(([said, toolCallId, toolName, seconds]) =>
        newMessage({ role: "tool", content: said, toolCallId, toolName }, { atSeconds: seconds }),
      ),
  );
  const withoutIds = (messages: readonly (Message | undefined)[]) =>
    messages.map((one) => one && withMeta(one, { id: "", rowId: undefined, originId: undefined }));

  it("is the message it was, handed in as it is or as a row, and a copy of it in a continuation too", async () => {
    await using store = await openSessionStore({ path: join(tempDirectory(), "state.db") });
    let n = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        async (messages, asRows) => {
          n += 1;
          const id = await store.createSession(`s${n}`, { source: "cli" });
          await store.appendMany(id, asRows ? messages.map(toNewMessage) : messages);
          const read = (await store.getMessages(id)).flatMap((stored) => fromRow(stored) ?? []);
          expect(withoutIds(read)).toEqual(withoutIds(messages));
          const next = await store.continueSession(id, { messages: read });
          const copies = await store.getMessages(next.id);
          expect(withoutIds(copies.map(fromRow))).toEqual(withoutIds(messages));
          expect(copies.map(({ origin_id }) => origin_id)).toEqual(read.map(({ meta }) => meta.rowId));
        },
      ),
      { numRuns: 60 },
    );
  });

  const ODD = {
    reasoning_details: '[ {"n": 1.0, "big": 9007199254740993,\n "n": 2} ]',
    codex_reasoning_items: "1.0",
    codex_message_items: ' {"a":1e2 } ',
    tool_calls: '[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}},17]',
  };

  it("has its JSON columns byte for byte in a copy, also with other content and other vendor fields", () => {
    const stored = toMessageRow(row({ role: "assistant", ...ODD }));
    const read = fromRow(stored);
    if (read === undefined) throw new Error("no message");
    expect(read.vendor).toEqual({
      reasoning_details: [{ n: 2, big: 2 ** 53 }],
      codex_reasoning_items: 1,
      codex_message_items: { a: 100 },
    });
    const copy = toMessageColumns({ ...read, content: "other" }, { now: 1, mode: "append" });
    expect(copy).toMatchObject({ ...ODD, content: "other", originId: stored.id, toolCallCount: 2 });
    const marked = { ...read, vendor: { ...read.vendor, cache_control: { type: "ephemeral" } } };
    const { reasoning_details, codex_message_items } = ODD;
    expect(toMessageColumns(marked, { now: 1, mode: "append" })).toMatchObject({
      reasoning_details,
      codex_message_items,
    });
  });

  it("keeps the content another program wrote without a list around it", () => {
    const envelope = { _multimodal: true, text_summary: "a page", content: [{ type: "text", text: "x" }] };
    for (const content of [envelope, ["a", { text: "b" }], { type: "text", text: "c" }]) {
      const read = fromRow(toMessageRow(row({ content: encodeContent(content) })));
      expect(read && toNewMessage(read).content).toEqual(content);
    }
  });

  it("is stored as the user typed it, where the model reads something else", () => {
    const sent = newMessage({ role: "user", content: "with recall" }, { storedContent: "typed" });
    expect(toNewMessage(sent)).toEqual({ role: "user", content: "typed" });
    expect(toNewMessage(withMeta(sent, { storedContent: null })).content).toBeNull();
  });

  it("is no message when it only describes the session, and survives broken JSON", () => {
    expect(fromRow(toMessageRow(row({ role: "session_meta" })))).toBeUndefined();
    const read = fromRow(
      toMessageRow(row({ role: "assistant", timestamp: 12.5, reasoning_details: "[not" })),
    );
    expect(read).toMatchObject({ role: "assistant", content: "hello", meta: { atSeconds: 12.5 } });
    expect(read).not.toHaveProperty("vendor");
  });

  it("keeps the mark of a refusal in every role, and other reasons in replies only", () => {
    for (const role of ["user", "tool", "assistant"]) {
      const refused = fromRow(toMessageRow(row({ role, finish_reason: REFUSED_BY_POLICY })));
      expect(refused?.meta.finishReason).toBe(REFUSED_BY_POLICY);
      expect(refused && toNewMessage(refused).finishReason).toBe(REFUSED_BY_POLICY);
      const stopped = fromRow(toMessageRow(row({ role, finish_reason: "stop" })));
      expect(stopped?.meta.finishReason).toBe(role === "assistant" ? "stop" : undefined);
    }
  });
});
