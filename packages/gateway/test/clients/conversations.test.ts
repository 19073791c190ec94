// Which conversation a request belongs to, and how the stored one follows what the client does with it.
import { generateText, type ModelMessage } from "ai";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { RecordedRequest, Step } from "../../../agent/test/fakes/wires/script.ts";
import { type ClientHome, type ClientOptions, clientHome, MODEL, MODES, turns } from "./client-home.ts";

type Row = OpenAI.ChatCompletionMessageParam;

const user = (content: string): Row => ({ role: "user", content });
const assistant = (content: string): Row => ({ role: "assistant", content });
/** A list in which both take turns. */
const talk = (...texts: readonly string[]): Row[] =>
  texts.map((text, at) => (at % 2 === 0 ? user(text) : assistant(text)));

/** Answers with the number of the request, so that replies differ. */
const numbered = ({ index }: RecordedRequest): Step => ({ text: `Reply ${index + 1}` });

async function chat(
  home: ClientHome,
  options: ClientOptions,
  messages: Row[],
): Promise<{ readonly text: string; readonly session: string }> {
  const { data, response } = await home
    .openai(options)
    .chat.completions.create({ model: MODEL, messages })
    .withResponse();
  return {
    text: data.choices[0]?.message.content ?? "",
    session: response.headers.get("x-hermes-session-id") ?? "",
  };
}

/** What the model was told, roles and texts. */
function told({ messages }: RecordedRequest): readonly string[] {
  return messages.map(({ role, content }) => `${String(role)}: ${String(content)}`);
}

describe.each(MODES)("in %s mode", (mode) => {
  const webui = { mode, headers: { "x-openwebui-chat-id": "c1" } };
  const CHAT = "open-webui-c1";

  it("a reply that is made anew replaces the old one in the transcript", async () => {
    const home = await clientHome("chat", numbered);
    await chat(home, webui, talk("One", "Reply 0", "Two"));
    const { session } = await chat(home, webui, talk("One", "Reply 0", "Two"));
    expect(await home.lines(CHAT)).toEqual(turns("One", "Reply 0", "Two", "Reply 2"));
    expect(await home.inactive(session)).toContain("assistant: Reply 1");
    expect(told(home.asked[1] as RecordedRequest)).toEqual(["user: One", "assistant: Reply 0", "user: Two"]);
    expect(await home.sessions()).toHaveLength(1);
  });

  it("a branch that the client goes back to is followed again", async () => {
    const home = await clientHome("chat", numbered);
    await chat(home, webui, [user("One")]);
    await chat(home, webui, talk("One", "Reply 1", "Two"));
    await chat(home, webui, talk("One", "Reply 1", "Other"));
    await chat(home, webui, talk("One", "Reply 1", "Two", "Reply 2", "Three"));
    expect(await home.lines(CHAT)).toEqual(turns("One", "Reply 1", "Two", "Reply 2", "Three", "Reply 4"));
  });

  it("X-Hermes-Session-Id comes back and names the conversation, which then needs only what is new", async () => {
    const home = await clientHome("chat", numbered);
    const named = { mode, headers: { "x-hermes-session-id": "pottery" } };
    const { session } = await chat(home, named, [user("One")]);
    expect(session).not.toBe("");
    await chat(home, { mode, headers: { "x-hermes-session-id": session } }, [user("Two")]);
    const third = await chat(home, named, [user("Three")]);
    expect(third.session).toBe(session);
    expect(await home.lines("pottery")).toEqual(
      turns("One", "Reply 1", "Two", "Reply 2", "Three", "Reply 3"),
    );
    if (mode === "agent")
      expect(told(home.asked[2] as RecordedRequest)).toEqual(
        turns("One", "Reply 1", "Two", "Reply 2", "Three"),
      );
    expect(await home.sessions()).toHaveLength(1);
  });

  it("a session id of another person is a conversation that this person does not have", async () => {
    const home = await clientHome("chat", numbered);
    const of = (id: string, session: string): ClientOptions => ({
      mode,
      headers: { "x-hermes-user-id": id, "x-hermes-session-id": session },
    });
    const { session } = await chat(home, of("ada", "secret"), [user("The code is 7.")]);
    const other = await chat(home, of("ben", session), [user("What is the code?")]);
    expect(other.session).not.toBe(session);
    expect(home.asked[1]?.raw).not.toContain("The code is 7.");
    expect(await home.lines(session, { platform: "api", id: "ada" })).toHaveLength(2);
  });

  it("a conversation without any id is found by what was said in it", async () => {
    const home = await clientHome("chat", numbered);
    const first = await chat(home, { mode }, [user("One")]);
    const other = await chat(home, { mode }, [user("One")]);
    expect(other.session).not.toBe(first.session);
    const list = [user("One"), assistant(first.text), user("Two")];
    const second = await chat(home, { mode }, list);
    expect(second.session).toBe(first.session);
    // A client may send a text as a part, and add cache markers.
    const third = await chat(home, { mode }, [
      { role: "user", content: [{ type: "text", text: "One" }] },
      assistant(first.text),
      user("Two"),
      assistant(second.text),
      user("Three"),
    ]);
    expect(third.session).toBe(first.session);
    expect(await home.lines(first.session)).toHaveLength(6);
    // The last reply is made anew.
    const anew = await chat(home, { mode }, [...list, assistant(second.text), user("Three")]);
    expect(anew.session).toBe(first.session);
    expect((await home.lines(first.session)).slice(-2)).toEqual(["user: Three", `assistant: ${anew.text}`]);
    expect(await home.lines(first.session)).toHaveLength(6);
    expect(await home.lines(other.session)).toEqual(["user: One", "assistant: Reply 2"]);
  });

  it.each([true, false])("previous_response_id goes on from a response (stream: %s)", async (isStream) => {
    const home = await clientHome("responses", numbered);
    const client = home.openai({ mode });
    const ask = async (input: string, previous?: string) => {
      const body = { model: MODEL, input, previous_response_id: previous };
      return isStream ? client.responses.stream(body).finalResponse() : client.responses.create(body);
    };
    const first = await ask("One");
    const second = await ask("Two", first.id);
    const third = await ask("Three", second.id);
    expect(third.output_text).toBe("Reply 3");
    const sessions = await home.sessions();
    expect(sessions).toHaveLength(1);
    expect(await home.lines(sessions[0] ?? "")).toEqual(
      turns("One", "Reply 1", "Two", "Reply 2", "Three", "Reply 3"),
    );
    if (mode === "agent") expect(told(home.asked[2] as RecordedRequest)).toHaveLength(5);
    else expect(home.asked[2]?.body).toMatchObject({ previous_response_id: second.id });
  });

  it.each(["responses", "chat", "compatible", "anthropic"] as const)(
    "the AI SDK's conversation without any id is one session (%s)",
    async (provider) => {
      const home = await clientHome(provider === "compatible" ? "chat" : provider, numbered);
      const model = home.ai({ mode })[provider];
      const messages: ModelMessage[] = [];
      for (const text of ["One", "Two", "Three"]) {
        messages.push({ role: "user", content: text });
        const done = await generateText({ model, messages, maxRetries: 0, maxOutputTokens: 100 });
        messages.push(...done.response.messages);
      }
      const sessions = await home.sessions();
      expect(sessions).toHaveLength(1);
      expect(await home.lines(sessions[0] ?? "")).toEqual(
        ["One", "Two", "Three"].flatMap((text, at) => [`user: ${text}`, `assistant: Reply ${at + 1}`]),
      );
    },
  );

  it("a picture reaches the model, and the conversation goes on behind it", async () => {
    const home = await clientHome("chat", numbered);
    const picture: Row = {
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
      ],
    };
    const first = await chat(home, { mode }, [picture]);
    expect(home.asked[0]?.raw).toContain("iVBORw0KGgo=");
    const second = await chat(home, { mode }, [picture, assistant(first.text), user("Sure?")]);
    expect(second.session).toBe(first.session);
    expect(home.asked[1]?.raw).toContain("iVBORw0KGgo=");
    expect(await home.lines(first.session)).toHaveLength(4);
  });

  it("a conversation is found also with other instructions", async () => {
    const home = await clientHome("chat", numbered);
    const at = (time: string): Row => ({ role: "system", content: `It is ${time}.` });
    const first = await chat(home, { mode }, [at("9:00"), user("One")]);
    const list = [at("9:01"), user("One"), assistant(first.text), user("Two")];
    expect((await chat(home, { mode }, list)).session).toBe(first.session);
  });

  it("a request of the interface that quotes the reply of its chat is none of the chat", async () => {
    const reply = "The harbour crane is blue, and it was painted in the spring of 1987.";
    const home = await clientHome("chat", () => ({ text: reply }));
    await chat(home, webui, [user("Which colour is the crane?")]);
    const before = await home.lines(CHAT);
    await chat(home, webui, [user(`Bitte einen kurzen Titel hierfür.\nASSISTANT: ${reply}`)]);
    expect(await home.lines(CHAT)).toEqual(before);
    expect(home.asked.at(-1)?.raw).not.toContain("memory-context");
  });

  it("a request that the client makes for itself leaves nothing behind", async () => {
    const home = await clientHome("chat", () => ({ text: '{"title": "Pots"}' }));
    await home.owner.add("The studio is in Delft.");
    const title =
      '### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:\n- The title should clearly represent the main theme or subject of the conversation.\n### Output:\nJSON format: { "title": "your concise title here" }\n### Chat History:\n<chat_history>\nUSER: I made a pot.\nASSISTANT: Nice.\n</chat_history>';
    const { session } = await chat(home, webui, [user(title)]);
    expect(session).toBe("");
    const { data } = await home
      .openai({ mode, headers: { "x-openwebui-chat-id": "c2", "x-openwebui-task": "tags_generation" } })
      .chat.completions.create({ model: MODEL, messages: [user("Tags, please.")], metadata: {} })
      .withResponse();
    expect(data.choices[0]?.message.content).toBe('{"title": "Pots"}');
    // Open WebUI before 0.10 says it in the body.
    await home.openai(webui).chat.completions.create({
      model: MODEL,
      messages: [user("A title, please.")],
      metadata: { task: "title_generation" },
    });
    expect(await home.sessions()).toEqual([]);
    expect(home.server.requests).toHaveLength(3);
    for (const { raw, tools } of home.server.requests) {
      expect(raw).not.toContain("Delft");
      expect(tools).toEqual([]);
    }
  });
});
