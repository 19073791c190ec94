// Failures of the model as the official clients see them: the class of the exception, whether they try again, and what is stored then.
import Anthropic from "@anthropic-ai/sdk";
import { APICallError, generateText } from "ai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import {
  badKey,
  type Failure,
  modelNotFound,
  outOfCredit,
  overflow,
  rateLimited,
  type Step,
  serverError,
} from "../../../agent/test/fakes/wires/script.ts";
import { ask, clientHome, KINDS, MODEL, MODES, type Mode, NAMED, QUESTION } from "./client-home.ts";

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => "no failure",
    (cause: unknown) => cause,
  );
}

type Class =
  | "AuthenticationError"
  | "BadRequestError"
  | "InternalServerError"
  | "NotFoundError"
  | "RateLimitError";

const FAILURES: readonly {
  readonly name: string;
  readonly step: Failure;
  readonly classes: Readonly<Record<Mode, Class>>;
  /** How often a client that may try once again asks. */
  readonly asks: number;
}[] = [
  // In agent mode the key is the server's, not the client's: it is not the client that has to authenticate.
  {
    name: "a wrong key",
    step: badKey(),
    classes: { agent: "InternalServerError", proxy: "AuthenticationError" },
    asks: 1,
  },
  {
    name: "a rate limit",
    step: rateLimited(0),
    classes: { agent: "RateLimitError", proxy: "RateLimitError" },
    asks: 2,
  },
  {
    name: "a broken server",
    step: serverError(),
    classes: { agent: "InternalServerError", proxy: "InternalServerError" },
    asks: 2,
  },
  {
    name: "a conversation that is too long",
    step: overflow(1000),
    classes: { agent: "BadRequestError", proxy: "BadRequestError" },
    asks: 1,
  },
  {
    name: "an unknown model",
    step: modelNotFound(),
    classes: { agent: "InternalServerError", proxy: "NotFoundError" },
    asks: 1,
  },
];

describe.each(MODES)("in %s mode", (mode) => {
  it.each(KINDS)("failures of the model are exceptions of the client's vendor (%s)", async (kind) => {
    let step: Step = serverError();
    const home = await clientHome(kind, () => step);
    const vendor = kind === "anthropic" ? Anthropic : OpenAI;
    for (const failing of FAILURES) {
      const { name, classes, asks } = failing;
      step = failing.step;
      const before = home.asked.length;
      const maxRetries = kind === "responses" ? 0 : 1; // the same client as for chat
      const options = { mode, maxRetries, headers: { "x-openwebui-chat-id": name } };
      const cause = await failure(ask(home, kind, options, asks === 1));
      expect(cause, name).toBeInstanceOf(vendor[classes[mode]]);
      expect(home.asked.length - before, name).toBe(Math.min(asks, maxRetries + 1));
      expect(await home.lines(`open-webui-${name}`)).toEqual([`user: ${QUESTION}`]);
    }
  });

  it.each(KINDS)("a conversation that is too long is told as the vendor does (%s)", async (kind) => {
    const home = await clientHome(kind, () => overflow(1000));
    const cause = (await failure(ask(home, kind, { mode }))) as InstanceType<typeof OpenAI.APIError>;
    if (kind === "anthropic") expect(cause.message).toContain("prompt is too long");
    else expect(cause.code).toBe("context_length_exceeded");
  });

  it("an account without credit is not asked again by clients that would wait for it", async () => {
    const home = await clientHome("chat", () => outOfCredit());
    const cause = await failure(ask(home, "chat", { mode, maxRetries: 1 }));
    expect(cause).toBeInstanceOf(mode === "agent" ? OpenAI.InternalServerError : OpenAI.RateLimitError);
    expect(home.asked).toHaveLength(mode === "agent" ? 1 : 2); // the vendor's own answer is relayed as it is
  });

  it("an answer that is no answer is an error, and nothing but the question is stored", async () => {
    const home = await clientHome("responses", () => ({ status: 200, body: "<html>Welcome</html>" }));
    const headers = { "x-openwebui-chat-id": "chat" };
    for (const isStream of [false, true])
      expect(await failure(ask(home, "responses", { mode, headers }, isStream))).toBeInstanceOf(Error);
    expect(await home.lines("open-webui-chat")).toEqual([`user: ${QUESTION}`]);
  });

  it("a request that is tried again is stored once, in one session", async () => {
    const checked = KINDS.map(async (kind) => {
      const home = await clientHome(kind, [rateLimited(0), { text: "kiln123" }]);
      expect(await ask(home, kind, { mode, maxRetries: 1 }, kind === "chat")).toBe("kiln123");
      const sessions = await home.sessions();
      expect(sessions).toHaveLength(1);
      expect(await home.lines(sessions[0] ?? "")).toEqual([`user: ${QUESTION}`, "assistant: kiln123"]);
    });
    await Promise.all(checked);
  });

  it.each([["compatible", "chat"]] as const)(
    "the AI SDK, which does not say that it tries again, stores once too (%s)",
    async (provider, kind) => {
      for (const headers of NAMED.slice(0, 2)) {
        const home = await clientHome(kind, [rateLimited(0), { text: "kiln123" }, { text: "kiln456" }]);
        const model = home.ai({ mode, headers })[provider];
        const options = { model, prompt: QUESTION, maxRetries: 1, maxOutputTokens: 100 };
        expect((await generateText(options)).text).toBe("kiln123");
        const sessions = await home.sessions();
        expect(sessions).toHaveLength(1);
        expect(await home.lines(sessions[0] ?? "")).toEqual([`user: ${QUESTION}`, "assistant: kiln123"]);
        // The same words again are a question, because the first one was answered.
        expect((await generateText(options)).text).toBe("kiln456");
        const later = await home.sessions();
        expect(later).toHaveLength("x-hermes-session-id" in headers ? 1 : 2);
        if (later.length === 1) expect(await home.lines(later[0] ?? "")).toHaveLength(4);
      }
    },
  );

  it("an Idempotency-Key is answered once", async () => {
    for (const kind of ["chat"] as const) {
      const home = await clientHome(kind, ({ index }) => ({ text: `Answer ${index}` }));
      for (const headers of NAMED) {
        const before = await home.sessions();
        const keyed = { mode, headers: { ...headers, "idempotency-key": JSON.stringify(headers) } };
        const first = await ask(home, kind, keyed);
        const again = await ask(home, kind, keyed, true);
        if (mode === "agent") expect(again).toBe(first);
        const made = (await home.sessions()).filter((id) => !before.includes(id));
        expect(made).toHaveLength(1);
        expect(await home.lines(made[0] ?? "")).toEqual([`user: ${QUESTION}`, `assistant: ${again}`]);
      }
    }
  });

  it("a stream that breaks off is stored as far as the client got it", async () => {
    // The agent goes on where the model broke off; the proxy has nothing but the model's bytes.
    const cut: Step = { text: "The password is long", cutAfterChars: 16 };
    for (const kind of KINDS) {
      const home = await clientHome(kind, [cut, { text: "the kiln's name." }], { mayRunOut: true });
      const headers = { "x-openwebui-chat-id": "chat" };
      const outcome = await ask(home, kind, { mode, headers }, true).catch((cause: unknown) => cause);
      if (mode === "proxy") expect(outcome, kind).toBeInstanceOf(Error);
      else expect(outcome, kind).toBe("The password is the kiln's name.");
      const said = mode === "proxy" ? "The password is " : "The password is the kiln's name.";
      expect(await home.lines("open-webui-chat")).toEqual([`user: ${QUESTION}`, `assistant: ${said}`]);
    }
  });

  it("a stream that the user stops is stored as far as it came, and the conversation goes on", async () => {
    const stopped: Step = { text: "One, two, three, four", pauseAt: { chars: 12, until: "forever" } };
    const home = await clientHome("chat", [stopped, { text: "Six." }]);
    const client = home.openai({ mode, headers: { "x-openwebui-chat-id": "c" } });
    const messages = [{ role: "user" as const, content: "Count." }];
    const stream = await client.chat.completions.create({ model: MODEL, messages, stream: true });
    let read = "";
    for await (const { choices } of stream) {
      read += choices[0]?.delta.content ?? "";
      if (read.length >= 4) break;
    }
    await home.server.waitForAbort(0);
    await expect.poll(() => home.lines("open-webui-c")).toEqual(["user: Count.", "assistant: One, two, th"]);
    const next = await client.chat.completions.create({
      model: MODEL,
      messages: [...messages, { role: "assistant", content: read }, { role: "user", content: "Go on." }],
    });
    expect(next.choices[0]?.message.content).toBe("Six.");
    // The client has not read all of it; what is stored then is what it has.
    const lines = await home.lines("open-webui-c");
    expect(["One, two, th", read]).toContain(lines[1]?.slice("assistant: ".length));
    expect(lines.toSpliced(1, 1)).toEqual(["user: Count.", "user: Go on.", "assistant: Six."]);
  });

  it("the AI SDK tells which failures it may repeat", async () => {
    const isRetryable = async (step: Failure): Promise<boolean | undefined> => {
      const home = await clientHome("chat", () => step);
      const { compatible: model } = home.ai({ mode });
      const cause = await failure(generateText({ model, prompt: QUESTION, maxRetries: 0 }));
      return APICallError.isInstance(cause) ? cause.isRetryable : undefined;
    };
    expect(await isRetryable(rateLimited(0))).toBe(true);
    expect(await isRetryable(serverError())).toBe(true);
    expect(await isRetryable(overflow(1000))).toBe(false);
  });
});

describe("a request that the gateway refuses", () => {
  it("has the vendor's exception: a body that is wrong, a path that is unknown, fields that an agent has no place for", async () => {
    const home = await clientHome("chat", []);
    const [openai, anthropic] = [home.openai(), home.anthropic()];
    const bad = { model: MODEL, messages: [{ role: "wizard", content: "hi" }] } as never;
    expect(await failure(openai.chat.completions.create(bad))).toBeInstanceOf(OpenAI.BadRequestError);
    expect(await failure(anthropic.messages.create(bad))).toBeInstanceOf(Anthropic.BadRequestError);
    expect(await failure(openai.embeddings.create({ model: "e", input: "x" }))).toBeInstanceOf(
      OpenAI.NotFoundError,
    );
    const formed = await failure(
      openai.chat.completions.create({
        model: MODEL,
        messages: [{ role: "user", content: "hi" }],
        response_format: { type: "json_object" },
      }),
    );
    expect(formed).toBeInstanceOf(OpenAI.BadRequestError);
    expect((formed as Error).message).toContain("response_format");
    expect(
      await failure(openai.responses.create({ model: MODEL, input: "x", previous_response_id: "resp_1" })),
    ).toBeInstanceOf(OpenAI.NotFoundError);
    expect(await home.sessions()).toEqual([]);
  });

  it("for want of a model is not repeated by clients, and says what to set", async () => {
    for (const mode of MODES) {
      const home = await clientHome("chat", [], { model: {} });
      const causes = [
        await failure(ask(home, "chat", { mode, maxRetries: 2 })),
        await failure(ask(home, "anthropic", { mode, maxRetries: 2 })),
      ];
      for (const cause of causes) expect((cause as Error).message).toMatch(/hermes setup|config\.yaml/);
      const { requests } = await (await home.gateway.call("/metrics")).text().then((text) => ({
        requests: text.match(/^hermes_requests_total\{[^}]*\} (\d+)/gm) ?? [],
      }));
      expect(requests.filter((line) => line.includes("/v1/")).map((line) => line.split(" ").at(-1))).toEqual([
        "1",
        "1",
      ]);
    }
  });
});
