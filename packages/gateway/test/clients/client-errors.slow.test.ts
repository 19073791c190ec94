// Failures of the model as the official clients see them: the class of the exception, whether they try again, and what is stored then.
import Anthropic from "@anthropic-ai/sdk";
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
import { ask, clientHome, KINDS, MODEL, MODES, QUESTION } from "./client-home.ts";

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

/** With the exception in agent and in proxy mode, and how often a client that may try once again asks. */
const FAILURES: readonly (readonly [
  name: string,
  step: Failure,
  agent: Class,
  proxy: Class,
  asks: number,
])[] = [
  // In agent mode the key is the server's, not the client's: it is not the client that has to authenticate.
  ["a wrong key", badKey(), "InternalServerError", "AuthenticationError", 1],
  ["a rate limit", rateLimited(0), "RateLimitError", "RateLimitError", 2],
  ["a broken server", serverError(), "InternalServerError", "InternalServerError", 2],
  ["a conversation that is too long", overflow(1000), "BadRequestError", "BadRequestError", 1],
  ["an unknown model", modelNotFound(), "InternalServerError", "NotFoundError", 1],
];

describe.each(MODES)("in %s mode", (mode) => {
  it.each(KINDS)("failures of the model are exceptions of the client's vendor (%s)", async (kind) => {
    let step: Step = serverError();
    const home = await clientHome(kind, () => step);
    const vendor = kind === "anthropic" ? Anthropic : OpenAI;
    for (const [name, failing, inAgent, inProxy, asks] of FAILURES) {
      step = failing;
      const before = home.asked.length;
      const maxRetries = kind === "responses" ? 0 : 1; // the same client as for chat
      const options = { mode, maxRetries, headers: { "x-openwebui-chat-id": name } };
      const cause = await failure(ask(home, kind, options, asks === 1));
      expect(cause, name).toBeInstanceOf(vendor[mode === "agent" ? inAgent : inProxy]);
      expect(home.asked.length - before, name).toBe(Math.min(asks, maxRetries + 1));
      expect(await home.lines(`open-webui-${name}`)).toEqual([`user: ${QUESTION}`]);
    }
  });

  it("an account without credit is not asked again by clients that would wait for it", async () => {
    const home = await clientHome("chat", () => outOfCredit());
    const cause = await failure(ask(home, "chat", { mode, maxRetries: 1 }));
    expect(cause).toBeInstanceOf(mode === "agent" ? OpenAI.InternalServerError : OpenAI.RateLimitError);
    expect(home.asked).toHaveLength(mode === "agent" ? 1 : 2); // the vendor's own answer is relayed as it is
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
