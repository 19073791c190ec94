// Properties of a session store that need fast-check, in addition to the contract: any query text, any sequence of calls. Their
// names continue the groups of the contract.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionStore } from "../../src/sessions/store.ts";
import { CORPUS } from "../../testing/session-store/search.ts";
import { exportAll, type Harness, library, row } from "../../testing/session-store/support.ts";

export function searchProperties(backend: string, harness: Harness): void {
  describe(`session store on ${backend}`, () => {
    describe("search", () => {
      describe("whatever is typed", () => anyQuery(harness));
    });
  });
}

export function callProperties(backend: string, harness: Harness): void {
  describe(`session store on ${backend}`, () => {
    describe("any sequence of calls", () => anySequence(harness));
  });
}

/** Parts with a meaning in some grammar, and malformed parts. */
const PIECE = fc.oneof(
  fc.constantFrom(
    ...[
      '"',
      "*",
      "AND",
      "OR",
      "NOT",
      "NEAR",
      "(",
      ")",
      "{",
      "}",
      ":",
      "^",
      "+",
      "-",
      "'",
      "\\",
      "%",
      "_",
      " ",
    ],
    ...[
      "\0",
      "\ud800",
      "\udc00",
      "\uffff",
      "\u{10ffff}",
      "\u0301",
      "content",
      "lantern",
      "灯",
      "灯塔",
      "琥珀灯塔",
    ],
    ...["ภาษา", "안녕", "🏺", "\n", "\t", "\u3000", "''", '""', "--", "/*", ";"],
  ),
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.string({ unit: "grapheme", maxLength: 6 }),
);
const QUERY = fc.array(PIECE, { maxLength: 30 }).map((pieces) => pieces.join(""));

function anyQuery({ open }: Harness): void {
  it("any text is answered", async () => {
    await using store = await open();
    await library(store, CORPUS);
    await fc.assert(
      fc.asyncProperty(QUERY, async (query) => {
        const { hits, stage, empty } = await store.search(query, { limit: 50 });
        expect(hits.length === 0).toBe(empty !== undefined);
        expect(stage === "none").toBe(hits.length === 0);
        expect(new Set(hits.map(({ id }) => id)).size).toBe(hits.length);
        expect((await store.searchMessages(query, { limit: 50 })).map(({ id }) => id)).toEqual(
          hits.map(({ id }) => id),
        );
      }),
      { numRuns: 300 },
    );
  });

  it("a text that was stored is found by itself, whatever it is", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
    const word = fc.stringMatching(/^[a-z0-9]{3,9}$/).filter((text) => !/^(and|or|not)$/.test(text));
    const text = fc.array(fc.tuple(word, fc.constantFrom(" ", "-", ".", "/", ", ", "_", "@", " 灯塔 ")), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(text, async (pieces) => {
        const content = pieces.flat().join("");
        const id = await store.appendMessage("a", { role: "user", content });
        const { hits } = await store.search(content, { limit: -1 });
        expect(hits.map((hit) => hit.id)).toContain(id);
      }),
      { numRuns: 60 },
    );
  });

  it("limits, times and lists that make no sense are answered", async () => {
    await using store = await open();
    await library(store, CORPUS);
    const number = fc.oneof(
      fc.double(),
      fc.integer(),
      fc.constantFrom(-0, Number.NaN, Number.MAX_SAFE_INTEGER),
    );
    const list = fc.array(fc.string({ unit: "binary", maxLength: 4 }), { maxLength: 3 });
    const options = fc.record(
      {
        limit: number,
        offset: number,
        after: number,
        before: number,
        sourceFilter: list,
        excludeSources: list,
        roleFilter: list,
        sessionIds: list,
        excludeSessionIds: list,
        excludeMessageIds: fc.array(number, { maxLength: 3 }),
        // With U+0000 it is refused (`bad-user-id`): such a user could not be distinguished from others.
        userId: fc.string({ unit: "binary", maxLength: 4 }).filter((text) => !text.includes("\0")),
        sort: fc.string(),
        perLineage: fc.boolean(),
        includeInactive: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom("lantern", "灯", "a*", "琥珀灯塔"), options, async (query, each) => {
        const { hits } = await store.search(query, each);
        expect(hits.length).toBeLessThanOrEqual(CORPUS.length);
      }),
      { numRuns: 300 },
    );
  });
}

/** A message in the model. `at` counts appends, so that targets can be named before ids are known. */
type Kept = {
  readonly text: string;
  readonly user: boolean;
  readonly calls: number;
  active: boolean;
  id: number;
};

type Step =
  | { readonly kind: "append"; readonly messages: readonly Omit<Kept, "active" | "id">[] }
  | { readonly kind: "replace"; readonly messages: readonly Omit<Kept, "active" | "id">[] }
  | { readonly kind: "rewind" | "restore"; readonly pick: number }
  | { readonly kind: "undo"; readonly turns: number }
  | { readonly kind: "clear" };

const message = fc.record({
  text: fc.oneof(fc.constantFrom("", "\u0000", "字"), fc.string({ unit: "binary", maxLength: 12 })),
  user: fc.boolean(),
  calls: fc.nat({ max: 3 }),
});
const messages = fc.array(message, { maxLength: 5 });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: messages.map((list): Step => ({ kind: "append", messages: list })) },
  { weight: 1, arbitrary: messages.map((list): Step => ({ kind: "replace", messages: list })) },
  { weight: 3, arbitrary: fc.nat().map((pick): Step => ({ kind: "rewind", pick })) },
  { weight: 2, arbitrary: fc.nat().map((pick): Step => ({ kind: "restore", pick })) },
  { weight: 2, arbitrary: fc.integer({ min: -1, max: 4 }).map((turns): Step => ({ kind: "undo", turns })) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: "clear" }) },
);

function anySequence({ open }: Harness): void {
  it("appending, rewinding, restoring, undoing, replacing and clearing keep order, flags and counters", async () => {
    await using store = await open();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        run += 1;
        const id = `run ${run}`;
        await store.createSession(id, { source: "cli" });
        let model: Kept[] = [];
        let rewinds = 0;
        for (const each of steps) {
          const outcome = await play(store, id, model, each);
          model = outcome.model;
          rewinds += outcome.rewinds;
          await compare(store, id, model, rewinds);
        }
      }),
      { numRuns: 40 },
    );
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
  });

  it("any content round trips: text, lists and objects as they are", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    const value = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constant(null),
      fc.array(fc.jsonValue({ stringUnit: "binary" })),
      fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ stringUnit: "binary" })),
    );
    await fc.assert(
      fc.asyncProperty(value, value, async (content, calls) => {
        const toolCalls = [calls];
        const details = { calls };
        await store.replaceMessages("s1", [
          { role: "assistant", content, toolCalls, reasoningDetails: details },
        ]);
        const [stored] = await store.getMessages("s1");
        const [said] = await store.getMessagesAsConversation("s1");
        // As JSON text, because a key named __proto__ makes objects hard to compare.
        expect(JSON.stringify(stored?.content)).toBe(JSON.stringify(content));
        expect(JSON.stringify(stored?.tool_calls)).toBe(JSON.stringify(toolCalls));
        expect(JSON.stringify(said?.reasoning_details)).toBe(JSON.stringify(details));
      }),
      { numRuns: 150 },
    );
  });

  it("an import of any export gives an equal export", async () => {
    const session = fc.record({
      title: fc.option(fc.string({ unit: "grapheme", maxLength: 20 }), { nil: null }),
      parent: fc.option(fc.nat(), { nil: null }),
      ended: fc.boolean(),
      archived: fc.boolean(),
      messages,
      rewound: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(session, { maxLength: 6 }), async (sessions) => {
        await using store = await open();
        for (const [index, each] of sessions.entries()) {
          const parentSessionId = each.parent === null || index === 0 ? null : `s${each.parent % index}`;
          await store.createSession(`s${index}`, { source: "cli", parentSessionId });
          await store.setSessionTitle(`s${index}`, each.title).catch(expectTaken);
          await store.appendMany(`s${index}`, each.messages.map(toMessage));
          if (each.rewound) await store.undoTurns(`s${index}`);
          if (each.ended) await store.endSession(`s${index}`, "cli_close");
          if (each.archived) await store.setSessionArchived(`s${index}`, true);
        }
        const all = await exportAll(store, { includeInactive: true });
        await using other = await open();
        const outcome = await other.importSessions(all);
        expect(outcome).toMatchObject({ imported: sessions.length, skipped: [], renamed: [] });
        expect(await exportAll(other, { includeInactive: true })).toEqual(all);
      }),
      { numRuns: 15 },
    );
  });
}

async function play(
  store: SessionStore,
  id: string,
  model: readonly Kept[],
  step: Step,
): Promise<{ model: Kept[]; rewinds: number }> {
  switch (step.kind) {
    case "append": {
      const ids = await store.appendMany(id, step.messages.map(toMessage));
      expect(ids).toHaveLength(step.messages.length);
      return { model: [...model, ...keep(step.messages, ids)], rewinds: 0 };
    }
    case "replace": {
      await store.replaceMessages(id, step.messages.map(toMessage));
      const ids = (await store.getMessages(id)).map((each) => each.id);
      return { model: keep(step.messages, ids), rewinds: 0 };
    }
    case "clear":
      await store.clearMessages(id);
      return { model: [], rewinds: 0 };
    case "rewind": {
      const users = model.filter(({ user }) => user);
      const target = users[step.pick % Math.max(1, users.length)];
      if (target === undefined) return { model: [...model], rewinds: 0 };
      const { rewound_count } = await store.rewindToMessage(id, target.id);
      expect(rewound_count).toBe(model.filter((each) => each.active && each.id >= target.id).length);
      return { model: flagFrom(model, target.id, false), rewinds: 1 };
    }
    case "restore": {
      const target = model[step.pick % Math.max(1, model.length)];
      if (target === undefined) return { model: [...model], rewinds: 0 };
      expect(await store.restoreRewound(id, target.id)).toBe(
        model.filter((each) => !each.active && each.id >= target.id).length,
      );
      return { model: flagFrom(model, target.id, true), rewinds: 0 };
    }
    case "undo": {
      const users = model.filter(({ user, active }) => user && active);
      const turns = Math.min(Math.max(1, step.turns), users.length);
      const target = users.at(-turns);
      const outcome = await store.undoTurns(id, step.turns);
      if (users.length === 0 || target === undefined) {
        expect(outcome).toBeNull();
        return { model: [...model], rewinds: 0 };
      }
      expect(outcome).toMatchObject({ turns_undone: turns });
      return { model: flagFrom(model, target.id, false), rewinds: 1 };
    }
    default:
      return step satisfies never;
  }
}

async function compare(
  store: SessionStore,
  id: string,
  model: readonly Kept[],
  rewinds: number,
): Promise<void> {
  const all = await store.getMessages(id, { includeInactive: true });
  expect(all.map((each) => [each.id, each.content, each.active])).toEqual(
    model.map((each) => [each.id, each.text, each.active ? 1 : 0]),
  );
  const active = model.filter((each) => each.active);
  expect((await store.getMessages(id)).map((each) => each.id)).toEqual(active.map((each) => each.id));
  expect(await store.getMessagesAsConversation(id)).toHaveLength(active.length);
  expect(await row(store, id)).toMatchObject({
    message_count: model.length,
    tool_call_count: model.reduce((sum, { calls }) => sum + calls, 0),
    rewind_count: rewinds,
  });
  expect(await store.messageCount(id)).toBe(model.length);
}

function toMessage({ text, user, calls }: Omit<Kept, "active" | "id">): object {
  const toolCalls = Array.from({ length: calls }, (_, index) => ({ id: `c${index}` }));
  return { role: user ? "user" : "assistant", content: text, toolCalls };
}

function keep(list: readonly Omit<Kept, "active" | "id">[], ids: readonly number[]): Kept[] {
  return list.map((each, index) => ({ ...each, active: true, id: ids[index] ?? -1 }));
}

function flagFrom(model: readonly Kept[], id: number, active: boolean): Kept[] {
  return model.map((each) => (each.id >= id ? { ...each, active } : each));
}

function expectTaken(cause: unknown): void {
  expect(cause).toMatchObject({ code: "title-taken" });
}
