// A stored chat that follows the list of a client, through the door, with the real store.
import { describe, expect, it } from "vitest";
import type { RememberOptions, UserMemory } from "../../src/memory/index.ts";
import { textOf, toolCallsOf } from "../../src/message/index.ts";
import { owner } from "../fakes/opened-memory.ts";

type Row = Readonly<Record<string, unknown>> & { readonly role: string; readonly content: unknown };

const user = (content: unknown): Row => ({ role: "user", content });
const reply = (content: unknown): Row => ({ role: "assistant", content });
const call = (id: string, names: readonly string[], content: string | null = null): Row => ({
  role: "assistant",
  content,
  tool_calls: names.map((name, at) => ({
    id: `${id}-${at}`,
    type: "function",
    function: { name, arguments: "{}" },
  })),
});
const result = (id: string, content: string): Row => ({ role: "tool", tool_call_id: id, content });

const HIDDEN = ["memory"];

async function withChat(
  use: (given: {
    readonly me: UserMemory;
    readonly send: (
      list: readonly Row[],
      more?: RememberOptions,
    ) => Promise<{ stored: number; known: number; takenBack: number }>;
    /** Texts of the active rows; a call is `name()`. */
    readonly texts: () => Promise<string[]>;
    readonly everything: () => Promise<number>;
  }) => Promise<void>,
): Promise<void> {
  const me = await owner();
  const rows = async (includeInactive: boolean) => {
    const store = await me.layers.sessions({ mode: "write", create: true });
    return store.getMessages("chat.c", { includeInactive });
  };
  await use({
    me,
    send: async (list, more = {}) => {
      const options: RememberOptions = { follow: "shown", hiddenTools: HIDDEN, ...more };
      const { stored, known, takenBack } = await me.remember("c", list, options);
      return { stored, known, takenBack };
    },
    texts: async () => {
      const { messages } = (await me.transcript("c", { format: "hermes" })) ?? { messages: [] };
      return messages.map((message) =>
        [textOf(message.content), ...toolCallsOf(message).map(({ name }) => `${name}()`)].join(""),
      );
    },
    everything: async () => (await rows(true)).length,
  });
}

describe("a list of the whole chat", () => {
  it("may have text that programs put into it: it is neither compared nor stored", () =>
    withChat(async ({ send, texts }) => {
      const recalled = "one\n\n<memory-context>\n[x]\nquoted\n</memory-context>";
      await send([user(recalled)]);
      const reminded = [
        { type: "text", text: "<system-reminder>CLAUDE.md says ...</system-reminder>" },
        { type: "text", text: "one" },
      ];
      expect(
        await send([user(reminded), reply("1"), user("<system-reminder>todo</system-reminder>two")]),
      ).toEqual({
        stored: 2,
        known: 1,
        takenBack: 0,
      });
      expect(
        await send([user("one"), reply("1"), user("<system-reminder>other</system-reminder>"), user("two")]),
      ).toEqual({ stored: 0, known: 4, takenBack: 0 });
      expect(await texts()).toEqual(["one", "1", "two"]);
    }));

  it("may join messages of the user that follow each other", () =>
    withChat(async ({ send, texts }) => {
      await send([user("one"), user("and two")]);
      const joined = user([
        { type: "text", text: "one" },
        { type: "text", text: "and two" },
      ]);
      expect(await send([joined, reply("1")])).toMatchObject({ stored: 1, takenBack: 0 });
      expect(await texts()).toEqual(["one", "and two", "1"]);
    }));
});

describe("calls that the client does not see", () => {
  const hidden = [call("h", ["memory"]), result("h-0", "saved")];

  it("stay stored, and do not count as differences", () =>
    withChat(async ({ send, texts }) => {
      const first = user("remember it");
      await send([first]);
      await send([first, ...hidden, reply("done")]);
      expect(await texts()).toEqual(["remember it", "memory()", "saved", "done"]);
      expect(await send([first, reply("done"), user("thanks")])).toEqual({
        stored: 1,
        known: 2,
        takenBack: 0,
      });
      expect(await send([first, ...hidden, reply("done"), user("thanks")])).toMatchObject({
        stored: 0,
        takenBack: 0,
      });
      expect(await texts()).toEqual(["remember it", "memory()", "saved", "done", "thanks"]);
    }));

  it("beside calls of the client's own tools are rejoined with their results", () =>
    withChat(async ({ send, texts }) => {
      const first = user("look and remember");
      const both = call("b", ["memory", "read_file"], "looking");
      await send([first, both, result("b-0", "saved")]);
      const own = { ...call("b", ["memory", "read_file"], "looking") };
      const seen = { ...own, tool_calls: (own.tool_calls as unknown[]).slice(1) };
      expect(await send([first, seen, result("b-1", "text of the file")])).toEqual({
        stored: 1,
        known: 2,
        takenBack: 0,
      });
      expect(await texts()).toEqual([
        "look and remember",
        "lookingmemory()read_file()",
        "saved",
        "text of the file",
      ]);
    }));

  it("may have text before them, which a stream shows as one reply", () =>
    withChat(async ({ send, texts }) => {
      const first = user("remember it");
      await send([
        first,
        call("h", ["memory"], "Let me note that. "),
        result("h-0", "saved"),
        reply("Done."),
      ]);
      for (const shown of [
        "Done.",
        "Let me note that. Done.",
        "Let me note that.\n\nDone.",
        "Let me note that.Done.",
      ])
        expect(await send([first, reply(shown)])).toMatchObject({ stored: 0, takenBack: 0 });
      expect(await texts()).toEqual(["remember it", "Let me note that. memory()", "saved", "Done."]);
    }));

  it("with the id of a later call of the client's do not hide its result", () =>
    withChat(async ({ send, texts }) => {
      const list = [
        user("a"),
        call("x", ["memory"]),
        result("x-0", "saved"),
        reply("1"),
        user("b"),
        call("x", ["read_file"]),
        result("x-0", "file"),
        reply("2"),
      ];
      await send(list);
      const shown = list.filter((_, at) => at !== 1 && at !== 2);
      expect(await send([...shown, user("c")])).toMatchObject({ stored: 1, takenBack: 0 });
      expect((await texts()).at(-1)).toBe("c");
    }));
});

describe("a list that is not the whole chat", () => {
  const LONG = Array.from({ length: 8 }, (_, at) => [user(`question ${at}`), reply(`answer ${at}`)]).flat();

  const SUMMARIES: Readonly<Record<string, readonly Row[]>> = {
    "Claude Code": [
      user("This session is being continued from a previous conversation that ran out of context. ..."),
    ],
    "Claude Code with reminders": [
      user(
        "<system-reminder>x</system-reminder>This session is being continued from a previous conversation that ran out of context. ...",
      ),
    ],
    Codex: [
      user("question 0"),
      user("question 1"),
      user(
        "Another language model started to solve this problem and produced a summary of its thinking process.",
      ),
    ],
    opencode: [user("What did we do so far?"), reply("We asked and answered.")],
    "Gemini CLI": [
      user("<state_snapshot>...</state_snapshot>"),
      reply("Got it. Thanks for the additional context!"),
    ],
  };

  it.each(Object.entries(SUMMARIES))(
    "and begins with the summary of %s keeps what is stored",
    (_name, summary) =>
      withChat(async ({ send, texts }) => {
        const before = LONG.slice(0, 6);
        await send(before);
        expect(await send([...summary, user("next")])).toMatchObject({ stored: 1, takenBack: 0 });
        expect(await send([...summary, user("next")])).toMatchObject({ stored: 0, takenBack: 0 });
        expect(await send([...summary, user("next"), reply("answer")])).toMatchObject({
          stored: 1,
          takenBack: 0,
        });
        const kept = [...summary, ...before.slice(-2), user("next"), reply("answer"), user("last")];
        expect(await send(kept)).toMatchObject({ stored: 1, takenBack: 0 });
        const all = [...before.map(({ content }) => content), "next", "answer", "last"];
        expect(await texts()).toEqual(all);
        // An older state of the same list, and a regenerated reply.
        await send([...kept, reply("to the last")]);
        expect(await send([...summary, user("next"), reply("answer")])).toMatchObject({
          stored: 0,
          takenBack: 0,
        });
        expect(await send(kept)).toMatchObject({ stored: 0, takenBack: 1 });
        expect(await texts()).toEqual(all);
      }),
  );

  it("may have the summary and the next prompt in one message", () =>
    withChat(async ({ send, texts }) => {
      await send(LONG.slice(0, 4));
      const text = "This session is being continued from a previous conversation that ran out of context.";
      const joined = user([
        { type: "text", text },
        { type: "text", text: "go on" },
      ]);
      expect(await send([joined])).toMatchObject({ stored: 1, takenBack: 0 });
      expect((await texts()).at(-1)).toBe("go on");
    }));

  it("keeps the summary if nothing else is stored", () =>
    withChat(async ({ send, texts }) => {
      const text = "This session is being continued from a previous conversation that ran out of context.";
      await send([user(text), user("go on")]);
      expect(await texts()).toEqual([text, "go on"]);
      expect(await send([user(text), user("go on"), reply("ok")])).toMatchObject({ stored: 1, takenBack: 0 });
    }));
});

it("names the source and the session of a new chat", () =>
  withChat(async ({ me }) => {
    const { sessionId } = await me.remember("claude-code-1", [user("hi")], {
      follow: "shown",
      source: "claude-code",
      sessionId: "claude-code-1",
    });
    expect(sessionId).toBe("claude-code-1");
    const store = await me.layers.sessions({ mode: "read" });
    expect(await store?.getSession(sessionId)).toMatchObject({ source: "claude-code" });
    expect(await me.chat("claude-code-1")).toMatchObject({ sessionId, messages: 1 });
  }));

it("refuses options that make no sense", () =>
  withChat(async ({ me }) => {
    for (const options of [{ follow: "seen" }, { follow: "shown", hiddenTools: "memory" }])
      await expect(me.remember("c", [user("x")], options as never)).rejects.toMatchObject({
        code: "bad-option",
      });
  }));
