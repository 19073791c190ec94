// What one conversation leaves for the next: memory entries, search and recall, each person's own.
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { RecordedRequest, Step } from "../../../agent/test/fakes/wires/script.ts";
import { type ClientHome, type ClientOptions, clientHome, MODEL, MODES } from "./client-home.ts";

const KINDS = ["chat", "responses", "anthropic"] as const;
type Kind = (typeof KINDS)[number];

/** A client that keeps its own list, as the vendors' examples do. */
class Talk {
  readonly #home: ClientHome;
  readonly #kind: Kind;
  readonly #options: ClientOptions;
  // biome-ignore lint/suspicious/noExplicitAny: a list of one of three vendors
  readonly list: any[] = [];
  sessionId = "";

  constructor(home: ClientHome, kind: Kind, options: ClientOptions) {
    this.#home = home;
    this.#kind = kind;
    this.#options = options;
  }

  async say(text: string): Promise<string> {
    this.list.push({ role: "user", content: text });
    switch (this.#kind) {
      case "chat": {
        const { data, response } = await this.#home
          .openai(this.#options)
          .chat.completions.create({ model: MODEL, messages: this.list })
          .withResponse();
        const message = data.choices[0]?.message as OpenAI.ChatCompletionMessage;
        return this.#told(response, [message], message.content ?? "");
      }
      case "responses": {
        const { data, response } = await this.#home
          .openai(this.#options)
          .responses.create({ model: MODEL, input: this.list, store: false })
          .withResponse();
        return this.#told(response, data.output, data.output_text);
      }
      case "anthropic": {
        const { data, response } = await this.#home
          .anthropic(this.#options)
          .messages.create({ model: MODEL, max_tokens: 500, messages: this.list })
          .withResponse();
        const said = data.content.map((block) => (block.type === "text" ? block.text : "")).join("");
        return this.#told(response, [{ role: "assistant", content: data.content }], said);
      }
      default:
        return this.#kind satisfies never;
    }
  }

  #told(response: Response, items: readonly unknown[], text: string): string {
    this.sessionId = response.headers.get("x-hermes-session-id") ?? "";
    this.list.push(...items);
    return text;
  }
}

function lastWords({ messages }: RecordedRequest): string {
  return JSON.stringify(messages.findLast(({ role }) => role === "user") ?? "");
}

describe.each(MODES.flatMap((mode) => KINDS.map((kind) => ({ mode, kind }))))(
  "in $mode mode on $kind",
  ({ mode, kind }) => {
    it("what the model saves is in the next conversation, and the prompt of the first does not change", async () => {
      const home = await clientHome(kind, (request): Step => {
        const isSaved = request.raw.includes("saved-1");
        if (lastWords(request).includes("celadon") && !isSaved)
          return {
            toolCalls: [
              {
                id: "saved-1",
                name: "memory",
                arguments: { action: "add", target: "user", content: "Loves celadon glazes." },
              },
            ],
          };
        return { text: "Noted." };
      });
      const first = new Talk(home, kind, { mode });
      expect(await first.say("I love celadon glazes, please remember.")).toBe("Noted.");
      expect((await home.owner.list({ target: "user" })).map(({ text }) => text)).toEqual([
        "Loves celadon glazes.",
      ]);
      expect(await first.say("What else?")).toBe("Noted.");
      expect(await first.say("And then?")).toBe("Noted.");
      expect(home.asked).toHaveLength(4);
      const systems = new Set(home.asked.map(({ system }) => system));
      expect(systems.size).toBe(1);
      expect([...systems][0]).not.toContain("Loves celadon");
      // The client sent nothing that names the conversation.
      expect(await home.sessions()).toHaveLength(1);
      expect((await home.lines(first.sessionId)).filter((line) => line.startsWith("user"))).toHaveLength(3);

      const second = new Talk(home, kind, { mode });
      await second.say("Hello again, which pot shall I throw?");
      expect(home.asked.at(-1)?.system).toContain("Loves celadon glazes.");
      expect(second.sessionId).not.toBe(first.sessionId);
    });

    it("the model finds earlier conversations with session_search, and the client does not see it", async () => {
      const home = await clientHome(kind, (request): Step => {
        if (!request.raw.includes("Which glaze")) return { text: "The tenmoku came out black." };
        if (!request.raw.includes("search-1"))
          return {
            toolCalls: [{ id: "search-1", name: "session_search", arguments: { query: "tenmoku" } }],
          };
        return { text: request.raw.includes("came out black") ? "It was tenmoku." : "I do not know." };
      });
      await new Talk(home, kind, { mode }).say("I fired the big jar today.");
      const later = new Talk(home, kind, { mode });
      expect(await later.say("Which glaze was it?")).toBe("It was tenmoku.");
      expect(JSON.stringify(later.list)).not.toContain("session_search");
      expect((await home.lines(later.sessionId))[1]).toBe("assistant:  +session_search");
    });
  },
);

describe.each(KINDS)("recall in proxy mode on %s", (kind) => {
  it("puts what earlier conversations say beside the question, the same way each time", async () => {
    const home = await clientHome(kind, () => ({ text: "I see." }));
    await new Talk(home, kind, { mode: "proxy" }).say("The tenmoku jar cracked at 1280 degrees.");
    const later = new Talk(home, kind, { mode: "proxy" });
    await later.say("Remind me of the tenmoku jar.");
    await later.say("Thanks!");
    const [, first, second] = home.asked;
    expect(first?.raw).toContain("<memory-context>");
    expect(lastWords(first as RecordedRequest)).toContain("cracked at 1280 degrees");
    const upTo = first?.raw.slice(0, first.raw.lastIndexOf("]")) ?? "none";
    expect(second?.raw.startsWith(upTo)).toBe(true);
    // The client never sees it, and it is not stored as the user's words.
    expect(JSON.stringify(later.list)).not.toContain("memory-context");
    expect((await home.lines(later.sessionId))[0]).toBe("user: Remind me of the tenmoku jar.");
  });
});
