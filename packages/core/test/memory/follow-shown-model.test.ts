// Any sequence of what clients do with a chat, compared with a simple model: the list as the client has it. Through the door, with the
// real store; once from an empty chat, once from one that is long enough to be kept in memory between calls.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openMemory, type UserMemory } from "../../src/memory/index.ts";
import { textOf, toolCallsOf } from "../../src/message/index.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

type Row = Readonly<Record<string, unknown>> & { readonly role: string };
/** A message that the client shows, and the hidden rows that are stored before it. */
type Item = { readonly shown: Row; readonly hidden: readonly Row[] };

type Step =
  | { readonly kind: "ask" | "retry" | "own tool" }
  | { readonly kind: "answer"; readonly rounds: number }
  | { readonly kind: "edit" | "regenerate"; readonly at: number }
  | { readonly kind: "window" | "summary"; readonly size: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.constantFrom<Step>({ kind: "ask" }, { kind: "retry" }, { kind: "own tool" }), weight: 5 },
  { arbitrary: fc.record({ kind: fc.constant("answer" as const), rounds: fc.nat(2) }), weight: 5 },
  {
    arbitrary: fc.record({ kind: fc.constantFrom("edit" as const, "regenerate" as const), at: fc.nat() }),
    weight: 3,
  },
  {
    arbitrary: fc.record({ kind: fc.constantFrom("window" as const, "summary" as const), size: fc.nat(6) }),
    weight: 3,
  },
);

const SUMMARY = {
  role: "user",
  content: "This session is being continued from a previous conversation that ran out of context.",
};
const HIDDEN = "memory";

class Client {
  readonly #me: UserMemory;
  items: Item[] = [];
  readonly said = new Set<string>();
  #count = 0;
  #last: readonly Row[] = [];

  constructor(me: UserMemory) {
    this.#me = me;
  }

  async send(list: readonly Row[]): Promise<void> {
    this.#last = list;
    await this.#me.remember("c", list, { follow: "shown", hiddenTools: [HIDDEN] });
  }

  /** What the client shows, which is what it sends. */
  get list(): readonly Row[] {
    return this.items.map(({ shown }) => shown);
  }

  text(what: string): string {
    this.#count += 1;
    const text = `${what} ${this.#count}`;
    this.said.add(text);
    return text;
  }

  #round(name: string): readonly [Row, Row] {
    this.#count += 1;
    const id = `call-${this.#count}`;
    const content = this.text("result");
    const call = { id, type: "function", function: { name, arguments: "{}" } };
    return [
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: id, content },
    ];
  }

  async say(list: readonly Row[]): Promise<void> {
    const shown = { role: "user", content: this.text("question") };
    await this.send([...list, shown]);
    this.items.push({ shown, hidden: [] });
  }

  async take(next: Step): Promise<void> {
    const last = this.items.at(-1)?.shown.role;
    const isAnswerable = last === "user" || last === "tool";
    switch (next.kind) {
      case "ask":
        return this.say(this.list);
      case "retry":
        if (isAnswerable) await this.send(this.#last);
        return;
      case "answer": {
        if (!isAnswerable) return;
        const hidden = Array.from({ length: next.rounds }, () => this.#round(HIDDEN)).flat();
        const shown = { role: "assistant", content: this.text("answer") };
        await this.send([...this.#last, ...hidden, shown]);
        this.items.push({ shown, hidden });
        return;
      }
      case "own tool": {
        if (!isAnswerable) return;
        const [call, result] = this.#round("read_file");
        await this.send([...this.#last, call]);
        await this.send([...this.#last, result]);
        this.items.push({ shown: call, hidden: [] }, { shown: result, hidden: [] });
        return;
      }
      case "edit":
      case "regenerate": {
        const users = this.items.flatMap(({ shown }, at) => (shown.role === "user" ? [at] : []));
        const at = users[next.at % Math.max(1, users.length)];
        if (at === undefined) return;
        this.items = this.items.slice(0, next.kind === "edit" ? at : at + 1);
        return next.kind === "edit" ? this.say(this.list) : this.send(this.list);
      }
      case "window":
        // Without a common message the list cannot be told from an edit of the first one.
        return this.say(this.list.slice(-1 - next.size));
      case "summary":
        return this.items.length === 0
          ? undefined
          : this.say([SUMMARY, ...(next.size === 0 ? [] : this.list.slice(-next.size))]);
      default:
        return next satisfies never;
    }
  }

  get expected(): readonly string[] {
    return this.items.flatMap(({ shown, hidden }) => [...hidden, shown].map(textOfRow));
  }
}

function textOfRow({ content, tool_calls }: Row): string {
  const calls = (tool_calls ?? []) as readonly { readonly id: string }[];
  return `${typeof content === "string" ? content : ""}${calls.map(({ id }) => id).join()}`;
}

async function stored(me: UserMemory): Promise<readonly string[]> {
  const page = await me.transcript("c", { format: "hermes", limit: Number.POSITIVE_INFINITY });
  return (page?.messages ?? []).map(
    (message) =>
      textOf(message.content) +
      toolCallsOf(message)
        .map(({ id }) => id)
        .join(),
  );
}

const request = async (me: UserMemory) =>
  (await me.context("c", { query: "and now?", maxTokens: 900, format: "openai" })).request;

/** By a program that has kept nothing. */
async function requestOfAnother(home: string) {
  await using memory = await openMemory({ home });
  return request(memory.owner);
}

async function follows(steps: readonly Step[], begin: number): Promise<void> {
  const home = tempDirectory();
  await using memory = await openMemory({ home });
  const me = memory.owner;
  const client = new Client(me);
  for (let turn = 0; turn < begin; turn += 1)
    for (const role of ["user", "assistant"])
      client.items.push({ shown: { role, content: client.text(role) }, hidden: [] });
  if (begin > 0) await client.send(client.list);
  for (const next of steps) {
    await client.take(next);
    expect(await stored(me), next.kind).toEqual(client.expected);
    if (begin > 0) expect(await request(me)).toEqual(await requestOfAnother(home));
  }
  const store = await me.layers.sessions({ mode: "read" });
  const rows = (await store?.getMessages("chat.c", { includeInactive: true })) ?? [];
  const all = new Set(rows.map(({ content }) => String(content)));
  expect([...client.said].filter((text) => !all.has(text))).toEqual([]);
}

describe("a chat that follows its client", () => {
  it("has what the client shows, and the hidden rounds, after every step", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), (steps) => follows(steps, 0)),
      { numRuns: 60 },
    );
  });

  it("does so when it is kept in memory between the calls", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 10 }), (steps) => follows(steps, 110)),
      { numRuns: 12 },
    );
  });
});

describe("a long chat that another program changes between two calls", () => {
  const list = Array.from({ length: 300 }, (_, at) => ({
    role: at % 2 === 0 ? "user" : "assistant",
    content: `message ${at}`,
  }));
  const more = (text: string) => [...list, { role: "user", content: text }];

  async function changed(sql: string, given: readonly Row[], follow: true | "shown" | undefined) {
    const home = tempDirectory();
    await using memory = await openMemory({ home });
    const me = memory.owner;
    await me.remember("c", list);
    expect(await me.remember("c", list, { follow })).toMatchObject({ stored: 0 });
    using db = new DatabaseSync(join(home, "state.db"));
    db.exec(sql);
    if (!sql.startsWith("UPDATE messages SET content"))
      expect(await request(me)).toEqual(await requestOfAnother(home));
    const outcome = await me.remember("c", given, { follow });
    expect(await request(me)).toEqual(await requestOfAnother(home));
    return { outcome, texts: await stored(me) };
  }

  it.each([true, "shown", undefined] as const)(
    "is read again when a row was edited in place (follow: %s)",
    async (follow) => {
      const given = more("new").with(100, { role: "user", content: "completed" });
      const { outcome, texts } = await changed(
        "UPDATE messages SET content = 'completed' WHERE content = 'message 100'",
        given,
        follow,
      );
      expect(outcome).toMatchObject({ stored: 1, known: 300, takenBack: 0 });
      expect(texts).toEqual(given.map(({ content }) => content));
      expect(outcome.messages).toHaveLength(301);
    },
  );

  it.each([
    ["deleted", "DELETE FROM messages WHERE content IN ('message 298', 'message 299')", 3],
    ["taken back", "UPDATE messages SET active = 0 WHERE content IN ('message 298', 'message 299')", 3],
  ])("stores again what was %s", async (_what, sql, count) => {
    const { outcome, texts } = await changed(sql, more("new"), "shown");
    expect(outcome).toMatchObject({ stored: count, takenBack: 0 });
    expect(texts).toEqual(more("new").map(({ content }) => content));
  });

  it("sees what was added", async () => {
    const { outcome, texts } = await changed(
      "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('chat.c', 'user', 'new', 4e9)",
      more("new"),
      "shown",
    );
    expect(outcome).toMatchObject({ stored: 0, known: 301, takenBack: 0 });
    expect(texts).toHaveLength(301);
  });
});
