// Requests of a client and their replies, through the door, with the real store: what each may change.
import { describe, expect, it } from "vitest";
import { type AskOptions, openMemory } from "../../src/memory/index.ts";
import { textOf } from "../../src/message/index.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

type Kind = AskOptions["list"];

/** "Q1 A1 Q2": messages of the user begin with Q, replies with A. */
function list(texts: string) {
  const role = (text: string) => (text.startsWith("Q") ? "user" : "assistant");
  return texts.split(" ").map((content) => ({ role: role(content), content }));
}

async function withChat(kind: Kind, use: (chat: ReturnType<typeof chatOf>) => Promise<void>): Promise<void> {
  await using memory = await openMemory({ home: tempDirectory() });
  await use(chatOf(memory.owner, kind));
}

function chatOf(me: Awaited<ReturnType<typeof openMemory>>["owner"], kind: Kind) {
  const store = () => me.layers.sessions({ mode: "write", create: true });
  const ask = (texts: string, more: Partial<AskOptions> = {}) =>
    me.ask("c", list(texts), { list: kind, request: texts, ...more });
  const answer = async (asked: Awaited<ReturnType<typeof ask>>, text: string, finishReason?: string) =>
    (await me.answer(asked, [{ role: "assistant", content: text, finish_reason: finishReason }])).isShown;
  return {
    ask,
    answer,
    /** A request whose reply arrives. */
    turn: async (texts: string, reply: string, more: Partial<AskOptions> = {}) => {
      const asked = await ask(texts, more);
      await answer(asked, reply);
      await (await store()).gateway.saveDelivered(asked.sessionId, asked.token);
    },
    shown: async () => {
      const page = await me.transcript("c", { format: "hermes" });
      return (page?.messages ?? []).map(({ content }) => textOf(content)).join(" ");
    },
    /** Everything that is stored, in the order of the rows. */
    rows: async () => {
      const rows = await (await store()).getMessages("chat.c", { includeInactive: true });
      return rows.map(({ content }) => content).join(" ");
    },
    remember: (texts: string) => me.remember("c", list(texts)),
  };
}

describe.each(["whole", "either"] as const)("a client that shows its %s list", (kind) => {
  it("sends a request again: nothing is stored twice, and the newest reply stays", () =>
    withChat(kind, async ({ ask, answer, turn, shown, rows }) => {
      for (const [at, texts] of ["Q1", "Q1 A1 Q2", "Q1 A1 Q2 A2 Q3"].entries()) {
        await answer(await ask(texts), "A~", "interrupted");
        await turn(texts, `A${at + 1}`);
      }
      expect(await shown()).toBe("Q1 A1 Q2 A2 Q3 A3");
      expect(await rows()).toBe("Q1 A~ A1 Q2 A~ A2 Q3 A~ A3");
    }));

  it("goes on while a reply is slow: the reply is kept, and takes nothing back", () =>
    withChat(kind, async ({ ask, answer, turn, shown, rows }) => {
      await turn("Q1", "A1");
      const slow = await ask("Q1 A1 Q2");
      await turn("Q1 A1 Q2 A2~ Q3", "A3");
      await turn("Q1 A1 Q2 A2~ Q3 A3 Q4", "A4");
      expect(await answer(slow, "A2")).toBe(false);
      expect(await shown()).toBe("Q1 A1 Q2 A2~ Q3 A3 Q4 A4");
      expect(await rows()).toContain("A4 A2");
    }));

  it("asks again while a reply is slow: the reply to the newer request stays", () =>
    withChat(kind, async ({ ask, answer, turn, shown }) => {
      await turn("Q1", "A1");
      const slow = await ask("Q1 A1 Q2");
      const newer = await ask("Q1 A1 Q2");
      expect(await answer(slow, "A2-old")).toBe(true); // there is no other yet
      expect(await answer(newer, "A2-new")).toBe(true);
      expect(await answer(slow, "A2-older")).toBe(false);
      expect(await shown()).toBe("Q1 A1 Q2 A2-new");
    }));

  it("lets a reply be made anew, edits and deletes", () =>
    withChat(kind, async ({ ask, answer, turn, shown }) => {
      await turn("Q1", "A1b");
      await turn("Q1 A1b Q2", "A2");
      await turn("Q1 A1b Q2 A2 Q3", "A3");
      const again = await ask("Q1 A1b Q2");
      expect(await shown()).toBe("Q1 A1b Q2 A2"); // until there is another reply
      await answer(again, "A2~", "interrupted");
      expect(await shown()).toBe("Q1 A1b Q2 A2");
      await answer(again, "A2b");
      expect(await shown()).toBe("Q1 A1b Q2 A2b");
      const edited = await ask("Q1 A1b Q2b");
      expect(await answer(again, "A2c")).toBe(false);
      await answer(edited, "A2d");
      expect(await shown()).toBe("Q1 A1b Q2b A2d");
    }));

  it("changes nothing if its client hung up while it waited", () =>
    withChat(kind, async ({ ask, turn, shown }) => {
      await turn("Q1", "A1");
      await turn("Q1 A1 Q2", "A2");
      await expect(ask("Q1 Q3", { signal: AbortSignal.abort() })).rejects.toThrow();
      expect(await shown()).toBe("Q1 A1 Q2 A2");
    }));

  it("with a key is the same request for good", () =>
    withChat(kind, async ({ ask, answer, turn, shown }) => {
      await turn("Q1", "A1", { key: "k1" });
      await turn("Q1 A1 Q2", "A2", { key: "k2" });
      await turn("Q1 A1 Q2 A2 Q3", "A3", { key: "k3" });
      expect(await answer(await ask("Q1 A1 Q2", { key: "k2" }), "A2b")).toBe(false);
      expect(await shown()).toBe("Q1 A1 Q2 A2 Q3 A3");
      await turn("Q1 A1 Q2 A2 Q3", "A3b", { key: "k3" });
      expect(await shown()).toBe("Q1 A1 Q2 A2 Q3 A3b");
    }));

  it("sees what others said meanwhile: a reply is not put before it", () =>
    withChat(kind, async ({ ask, answer, turn, remember, shown }) => {
      await turn("Q1", "A1");
      const slow = await ask("Q1 A1 Q2");
      await remember("Q3 A3");
      expect(await answer(slow, "A2")).toBe(false);
      expect(await shown()).toBe("Q1 A1 Q2 Q3 A3");
    }));
});

describe("a client that sends only what is new", () => {
  it("may say the same again once it has the reply, and repeats it before", () =>
    withChat("either", async ({ ask, answer, turn, shown }) => {
      await turn("Q1", "A1");
      await turn("Q+", "A2");
      await turn("Q+", "A3");
      await answer(await ask("Q+"), "A4~", "interrupted");
      await answer(await ask("Q+"), "A4"); // stored, and its last bytes did not arrive
      await turn("Q+", "A4b");
      expect(await shown()).toBe("Q1 A1 Q+ A2 Q+ A3 Q+ A4b");
    }));

  it("may begin with the same words again; a list tells that it was the reply made anew", () =>
    withChat("either", async ({ turn, shown }) => {
      await turn("Q1", "A1");
      await turn("Q1", "A2");
      expect(await shown()).toBe("Q1 A1 Q1 A2");
      await turn("Q1 A2 Q3", "A3");
      expect(await shown()).toBe("Q1 A2 Q3 A3");
    }));

  it("asks two things at once: each reply is kept, and the one to the last question is shown", () =>
    withChat("newest", async ({ ask, answer, shown, rows }) => {
      const [one, two] = [await ask("Q1"), await ask("Q2")];
      expect(await answer(two, "A2")).toBe(true);
      expect(await answer(one, "A1")).toBe(false);
      expect(await shown()).toBe("Q1 Q2 A2");
      expect(await rows()).toBe("Q1 Q2 A2 A1");
    }));

  it("adds a list that has nothing in common with the chat", () =>
    withChat("either", async ({ turn, shown }) => {
      await turn("Q1", "A1");
      await turn("Q7 A7 Q8", "A8");
      expect(await shown()).toBe("Q1 A1 Q7 A7 Q8 A8");
    }));
});
