// Proxy mode against fake model servers: what they are sent, what the client gets, and what is stored.
import { setTimeout as sleep } from "node:timers/promises";
import { HermesError } from "@hermes-memory/core/internal/lib";
import type { UserMemory } from "@hermes-memory/core/internal/memory";
import { describe, expect, it } from "vitest";
import { badKey, gate, overflow, rateLimited } from "../../../agent/test/fakes/wires/script.ts";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { prefixMarks } from "../../src/proxy/chain.ts";
import { ProblemError } from "../../src/types.ts";
import { bodyOf, eventsIn, FAKES, ProxyHome, replyItems, withDoor } from "./proxy-home.ts";
import { json, rawServer } from "./raw-server.ts";

const HELLO = [{ role: "user", content: "Hello there, kiln" }];
const ALL = ["chat", "messages", "responses"] as const;
const OFF = { proxy_tools: "off" };

async function problemOf(work: Promise<unknown>): Promise<ProblemError["problem"]> {
  const cause = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(cause instanceof ProblemError)) throw new Error(`expected a problem, got ${String(cause)}`);
  return cause.problem;
}

describe("what the model's server is sent", () => {
  it("is the client's body with its own numbers, spelling and unknown fields", async () => {
    const server = await rawServer((response) =>
      json(response, { choices: [{ message: { role: "assistant", content: "Hi" } }] }),
    );
    const home = await ProxyHome.open({ wire: "chat", url: server.url, gateway: OFF, door: withDoor });
    const raw =
      '{ "model":"fake-model", "seed":12345678901234567890, "x_new":{"b":1.0,"2":0,"1":0}, "messages":[{"role":"user","content":"Hell\\u006f"}], "temperature":1e-1 }';
    await (await home.send({}, { raw })).text();
    const sent = server.requests[0]?.body ?? "";
    expect(sent).toContain('"seed":12345678901234567890');
    expect(sent).toContain('"x_new":{"b":1.0,"2":0,"1":0}');
    expect(sent).toContain('"content":"Hell\\u006f\\n\\n<memory-context>\\nrecall 1\\n</memory-context>"');
    expect(sent).toContain('"temperature":1e-1');
    expect(JSON.parse(sent).messages[0]).toEqual({
      role: "system",
      content: "<memory>\nThe kiln is in room 4.\n</memory>",
    });
  });

  it("has the vendor's headers of the client and our key, and nothing that names the user", async () => {
    const server = await rawServer((response) => json(response, {}));
    const home = await ProxyHome.open({ wire: "messages", url: server.url, gateway: OFF, door: withDoor });
    const headers = {
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "context-1m",
      "user-agent": "claude-cli/2.1.80",
      "x-stainless-retry-count": "0",
      authorization: "Bearer hm_secret",
      "x-api-key": "hm_secret",
      cookie: "a=b",
      "x-hermes-session-id": "s",
      "x-hermes-token": "hm_secret",
      "x-openwebui-user-id": "u",
      "x-forwarded-for": "10.0.0.1",
      host: "gateway",
      connection: "keep-alive, x-stainless-retry-count",
      "openai-organization": "org",
    };
    await (await home.send(bodyOf("messages", HELLO), { headers })).text();
    const sent = server.requests[0]?.headers ?? {};
    expect(sent).toMatchObject({
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "context-1m",
      "user-agent": "claude-cli/2.1.80",
      "x-stainless-retry-count": "0",
      "x-api-key": "sk-ours",
      "content-type": "application/json",
    });
    expect(JSON.stringify(sent)).not.toMatch(
      /hm_secret|cookie|x-hermes|openwebui|x-forwarded|openai-organization/,
    );
    expect(sent.authorization).toBeUndefined();
    expect(sent.host).toBe(new URL(server.url).host);
  });

  it("has the client's own key only where config or the vendor's host belongs to its protocol", async () => {
    const server = await rawServer((response) => json(response, {}));
    const clientCredential = { header: "authorization", value: "Bearer sk-theirs" } as const;
    const keyless = { default: "m", base_url: server.url, api_mode: "chat_completions" };
    const home = await ProxyHome.open({
      wire: "chat",
      url: "",
      model: keyless,
      gateway: OFF,
      door: withDoor,
    });
    await (await home.send(bodyOf("chat", HELLO), { clientCredential })).text();
    expect(server.requests[0]?.headers.authorization).toBe("Bearer sk-theirs");
    const forbidden = await ProxyHome.open({
      wire: "chat",
      url: "",
      model: keyless,
      gateway: { ...OFF, forward_credentials: false },
      door: withDoor,
    });
    await (await forbidden.send(bodyOf("chat", HELLO), { clientCredential })).text();
    expect(server.requests[1]?.headers.authorization).toBeUndefined();
    // A model of another vendor, and no key for it: the client's key is not tried there.
    const problem = await problemOf(
      home.send({ ...bodyOf("chat", HELLO), model: "anthropic:claude-x" }, { clientCredential }),
    );
    expect(problem).toMatchObject({ status: 404, code: "no-model" });
    expect(server.requests).toHaveLength(2);
  });
});

describe.each(ALL)("a reply on %s", (wire) => {
  it.each([true, false])("is relayed byte for byte and stored (stream: %s)", async (stream) => {
    const upstream = await startWire(FAKES[wire], [
      { text: "Grüße, 窯! 🔥", reasoning: "Hm.", splitBytes: true },
      { text: "x" },
    ]);
    let bytes = Buffer.alloc(0);
    // Between the gateway and the model, to have the bytes.
    const server = await rawServer(async (response, { path, body }) => {
      const answer = await fetch(upstream.url.replace("/v1", "") + path, { method: "POST", body });
      bytes = Buffer.from(await answer.arrayBuffer());
      response.writeHead(answer.status, {
        "content-type": answer.headers.get("content-type") ?? "",
        "request-id": "req_1",
        "anthropic-ratelimit-requests-remaining": "7",
        "set-cookie": "session=1",
        "x-hermes-session-id": "forged",
      });
      for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
      response.end();
    });
    const home = await ProxyHome.open({ wire, url: server.url, gateway: OFF, door: withDoor });
    const response = await home.send(bodyOf(wire, HELLO, { stream }));
    const got = Buffer.from(await response.arrayBuffer());
    expect(got.equals(bytes)).toBe(true);
    expect(response.headers.get("request-id")).toBe("req_1");
    expect(response.headers.get("anthropic-ratelimit-requests-remaining")).toBe("7");
    expect(response.headers.get("set-cookie")).toBeNull();
    const chat = await home.memory.chat("chat-1");
    expect(response.headers.get("x-hermes-session-id")).toBe(chat?.sessionId);
    expect(await home.stored()).toEqual(["user: Hello there, kiln", "assistant: Grüße, 窯! 🔥"]);
  });

  it("arrives while the model writes, and ends after it is stored", async () => {
    const half = gate();
    const stored = gate();
    const server = await startWire(FAKES[wire], [{ text: "abcdefgh", pauseAt: { chars: 4, until: half } }]);
    const door = (memory: UserMemory): UserMemory => {
      const given = withDoor(memory);
      const { answer } = given;
      return Object.assign(given, {
        answer: async (...args: Parameters<typeof answer>) => {
          await stored.opened;
          return answer(...args);
        },
      });
    };
    const home = await ProxyHome.open({ wire, url: server.url, gateway: OFF, door });
    const response = await home.send(bodyOf(wire, HELLO, { stream: true }));
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    const readUntil = async (isEnough: () => boolean): Promise<void> => {
      while (!isEnough()) {
        const { done, value } = await reader.read();
        if (done) return;
        text += Buffer.from(value).toString("utf8");
      }
    };
    await readUntil(() => text.includes("abcd"));
    half.open();
    await readUntil(() => text.includes("efgh"));
    const rest = readUntil(() => false);
    await sleep(40);
    expect(text).not.toMatch(/\[DONE\]|message_stop|response\.completed/);
    stored.open();
    await rest;
    expect(text).toMatch(/\[DONE\]|message_stop|response\.completed/);
  });

  it("that the client leaves is stored as far as it came, and the model is stopped", async () => {
    const server = await startWire(FAKES[wire], [{ text: "The kiln is cold, and", stallAfterChars: 16 }]);
    const home = await ProxyHome.open({ wire, url: server.url, gateway: OFF, door: withDoor });
    const response = await home.send(bodyOf(wire, HELLO, { stream: true }));
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    while (!text.includes("cold")) text += Buffer.from((await reader.read()).value ?? []).toString("utf8");
    await reader.cancel();
    await server.waitForAbort(0);
    const found = await home.memory.transcript("chat-1", { format: "hermes" });
    expect(found?.messages.map(({ role, content, meta }) => [role, content, meta.finishReason])).toEqual([
      ["user", "Hello there, kiln", undefined],
      ["assistant", "The kiln is cold", "interrupted"],
    ]);
  });

  it("that breaks off is stored as far as it came, and the client's stream breaks off too", async () => {
    const server = await startWire(FAKES[wire], [{ text: "The kiln is cold, and", cutAfterChars: 16 }]);
    const home = await ProxyHome.open({ wire, url: server.url, gateway: OFF, door: withDoor });
    const response = await home.send(bodyOf(wire, HELLO, { stream: true }));
    await expect(response.text()).rejects.toThrow();
    const found = await home.memory.transcript("chat-1", { format: "hermes" });
    expect(found?.messages.at(-1)).toMatchObject({
      content: "The kiln is cold",
      meta: { finishReason: "interrupted" },
    });
  });

  it("that is an error is the vendor's own", async () => {
    const server = await startWire(FAKES[wire], [rateLimited(7), overflow(1000), badKey()]);
    const home = await ProxyHome.open({ wire, url: server.url, door: withDoor });
    const limited = await home.send(bodyOf(wire, HELLO));
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await limited.json()).toHaveProperty("error.message");
    expect((await home.send(bodyOf(wire, HELLO, { tools: [] }))).status).toBe(400);
    expect((await home.send(bodyOf(wire, HELLO))).status).toBe(401);
    expect(await home.stored()).toEqual(["user: Hello there, kiln"]);
  });

  it("to a request that is sent again takes the place of the one that the client never got", async () => {
    const model = await startWire(FAKES[wire], [
      { text: "The first." },
      { text: "The second." },
      { text: "On." },
    ]);
    const home = await ProxyHome.open({ wire, url: model.url, gateway: OFF });
    const sent = { session: { history: "server" }, retryKey: "key:1" } as const;
    const ask = async (text: string, retryKey: string): Promise<void> => {
      const body = bodyOf(wire, [{ role: "user", content: text }], { stream: true });
      await (await home.send(body, { ...sent, retryKey })).text();
    };
    await ask("Hello there, kiln", "key:1");
    await ask("Hello there, kiln", "key:1");
    expect(await home.stored()).toEqual(["user: Hello there, kiln", "assistant: The second."]);
    await ask("Go on", "key:2");
    expect(await home.stored()).toHaveLength(4);
  });

  it("to each of two requests at the same time is kept, and the one to the newer question is shown", async () => {
    const model = await startWire(FAKES[wire], ({ raw }) => ({
      text: raw.includes("Ask A") ? "For A." : "For B.",
    }));
    const home = await ProxyHome.open({ wire, url: model.url, gateway: OFF });
    const ask = async (text: string): Promise<void> => {
      const body = bodyOf(wire, [{ role: "user", content: text }], { stream: true });
      await (await home.send(body, { session: { history: "server" } })).text();
    };
    await Promise.all([ask("Ask A"), ask("Ask B")]);
    const shown = await home.stored();
    expect(shown.map((line) => line.replace(/[AB]\b/, "?"))).toEqual([
      ...["user: Ask ?", "user: Ask ?", "assistant: For ?."],
    ]);
    expect(shown[2]?.at(-2)).toBe(shown[1]?.at(-1));
    const store = await home.memory.layers.sessions({ mode: "write", create: true });
    const all = await store.getMessages("chat.chat-1", { includeInactive: true });
    const texts = all.map(({ content }) => String(content)).toSorted();
    expect(texts).toEqual(["Ask A", "Ask B", "For A.", "For B."]);
  });

  it("to a request that is sent again is stored once, and an edited question takes the old reply back", async () => {
    const server = await startWire(FAKES[wire], ({ index }) => ({ text: `Reply ${index}` }));
    const home = await ProxyHome.open({ wire, url: server.url, door: withDoor });
    await (await home.send(bodyOf(wire, HELLO))).text();
    await (await home.send(bodyOf(wire, HELLO))).text();
    expect(await home.stored()).toEqual(["user: Hello there, kiln", "assistant: Reply 1"]);
    // Recall was kept with the message: it is not asked for again.
    expect(server.requests[1]?.raw).toBe(server.requests[0]?.raw);
    await (await home.send(bodyOf(wire, [{ role: "user", content: "Hello again, kiln" }]))).text();
    expect(await home.stored()).toEqual(["user: Hello again, kiln", "assistant: Reply 2"]);
  });
});

describe("memory that fails", () => {
  const broken = (names: readonly string[]) => (memory: UserMemory) =>
    Object.assign(
      withDoor(memory),
      Object.fromEntries(names.map((name) => [name, () => Promise.reject(new Error(`${name} is down`))])),
    );

  it("leaves the request as it is, with a notice and a line in the log", async () => {
    const server = await startWire("chat", [{ text: "Hi" }, { text: "Hi" }, { text: "Hi" }]);
    const one = await ProxyHome.open({
      wire: "chat",
      url: server.url,
      gateway: OFF,
      door: broken(["openChat"]),
    });
    const response = await one.send(bodyOf("chat", HELLO));
    expect(response.status).toBe(200);
    expect(response.headers.get("x-hermes-notice")).toContain("memory was not used");
    expect(server.requests[0]?.body).toEqual(bodyOf("chat", HELLO));
    expect(one.lines.join("\n")).toContain("openChat is down");
    expect(one.lines.join("\n")).not.toContain("Hello there");
    const two = await ProxyHome.open({
      wire: "chat",
      url: server.url,
      gateway: OFF,
      door: broken(["recall", "block", "ask"]),
    });
    const other = await two.send(bodyOf("chat", HELLO));
    expect(await other.text()).toContain("Hi");
    expect(other.headers.get("x-hermes-notice")).toMatch(/block.*not stored.*Recall/);
    expect(server.requests[1]?.body).toEqual(bodyOf("chat", HELLO));
  });

  it.each(ALL.flatMap((wire) => [true, false].map((stream) => ({ wire, stream }))))(
    "says in the reply that it was not stored, and stores it with the next request: $wire, stream $stream",
    async ({ wire, stream }) => {
      const server = await startWire(FAKES[wire], ({ index }) => ({ text: `Reply ${index}` }));
      let isFull = false;
      const door = (memory: UserMemory): UserMemory => {
        const given = withDoor(memory);
        const { answer } = given;
        const full = () => Promise.reject(new HermesError("session-db-full", "No space."));
        return Object.assign(given, {
          answer: (...args: Parameters<typeof answer>) => (isFull ? full() : answer(...args)),
        });
      };
      const home = await ProxyHome.open({ wire, url: server.url, gateway: OFF, door });
      const session = { kind: "hermes-session-id" as const, history: "server" as const };
      const send = async (content: string) => {
        const response = await home.send(bodyOf(wire, [{ role: "user", content }], { stream }), { session });
        const text = await response.text();
        return `${response.headers.get("x-hermes-notice") ?? ""}${text}`;
      };
      expect(await send("One")).not.toContain("not stored");
      isFull = true;
      expect(await send("Two")).toMatch(/The reply was not stored\..*session-db-full/);
      expect(await home.stored()).toEqual(["user: One", "assistant: Reply 0", "user: Two"]);
      isFull = false;
      expect(await send("Three")).not.toContain("not stored");
      expect(await home.stored()).toEqual(
        ["One", "Two", "Three"].flatMap((text, at) => [`user: ${text}`, `assistant: Reply ${at}`]),
      );
    },
  );

  it("refuses when it is about whose memory it is", async () => {
    const server = await startWire("chat", []);
    const door = (memory: UserMemory) =>
      Object.assign(withDoor(memory), {
        openChat: () => Promise.reject(new ProblemError({ status: 403, code: "not-yours", message: "No." })),
      });
    const home = await ProxyHome.open({ wire: "chat", url: server.url, door });
    expect(await problemOf(home.send(bodyOf("chat", HELLO)))).toMatchObject({ status: 403 });
    expect(server.requests).toHaveLength(0);
  });
});

describe.each(ALL)("our tools on %s", (wire) => {
  const lookup = { name: "look", description: "", parameters: { type: "object", properties: {} } };
  const tools =
    wire === "chat"
      ? [{ type: "function", function: lookup }]
      : wire === "messages"
        ? [{ name: "look", input_schema: lookup.parameters }]
        : [{ type: "function", ...lookup }];

  it.each([true, false])("are joined with the client's in a mixed batch (stream: %s)", async (stream) => {
    const server = await startWire(FAKES[wire], [
      {
        text: "Both.",
        toolCalls: [
          { name: "memory_history", arguments: { limit: 1 }, id: "ours-1" },
          { name: "look", arguments: { at: "kiln" }, id: "theirs-1" },
        ],
      },
      { text: "Done." },
      { text: "Again." },
    ]);
    const home = await ProxyHome.open({ wire, url: server.url, door: withDoor });
    const list: unknown[] = [...HELLO];
    const first = await (await home.send(bodyOf(wire, list, { stream, tools }))).text();
    expect(first).toContain("theirs-1");
    expect(first).not.toContain("ours-1");
    list.push(...replyItems(wire, first, stream));
    list.push(
      wire === "chat"
        ? { role: "tool", tool_call_id: "theirs-1", content: "hot" }
        : wire === "messages"
          ? { role: "user", content: [{ type: "tool_result", tool_use_id: "theirs-1", content: "hot" }] }
          : { type: "function_call_output", call_id: "theirs-1", output: "hot" },
    );
    const session = { kind: "prefix" as const };
    const second = await (await home.send(bodyOf(wire, list, { stream, tools }), { session })).text();
    list.push(...replyItems(wire, second, stream), { role: "user", content: "And now, kiln?" });
    await (await home.send(bodyOf(wire, list, { stream, tools }))).text();
    const [, joined, later] = server.requests;
    for (const request of [joined, later])
      for (const id of ["ours-1", "theirs-1"]) expect(request?.raw.split(`"${id}"`)).toHaveLength(3); // the call and its result
    expect(later?.raw.startsWith(joined?.raw.slice(0, joined.raw.lastIndexOf("]")) ?? "?")).toBe(true);
    expect(joined?.tools).toEqual(["look", "memory", "session_search", "memory_history"]);
    const stored = await home.stored();
    expect(stored.filter((line) => !line.startsWith("tool: "))).toEqual([
      "user: Hello there, kiln",
      "assistant: Both. +memory_history +look",
      "assistant: Done.",
      "user: And now, kiln?",
      "assistant: Again.",
    ]);
    expect(stored.filter((line) => line.startsWith("tool: "))).toHaveLength(2);
    const store = await home.memory.layers.sessions({ mode: "read" });
    const upToResults = bodyOf(wire, list.slice(0, -2), { tools });
    expect(
      await store?.gateway.findMark(prefixMarks(wire, upToResults).map(({ mark }) => mark)),
    ).not.toBeNull();
  });

  it("stop after eight rounds, and the client gets what was said", async () => {
    const server = await startWire(FAKES[wire], ({ index }) => ({
      text: `Round ${index}.`,
      toolCalls: [{ name: "memory_history", arguments: {} }],
      usage: { input: 10, output: 3, cacheRead: 2 },
    }));
    const home = await ProxyHome.open({ wire, url: server.url, door: withDoor });
    const text = await (await home.send(bodyOf(wire, HELLO))).text();
    expect(server.requests).toHaveLength(8);
    expect(text).toContain("Round 7.");
    expect(text).not.toContain("memory_history");
    expect(JSON.parse(text).usage).toMatchObject(
      wire === "chat" ? { completion_tokens: 24 } : { output_tokens: 24 },
    );
    const streamed = eventsIn(
      await (
        await home.send(bodyOf(wire, HELLO, { stream: true, stream_options: { include_usage: true } }), {
          chatId: "chat-2",
        })
      ).text(),
    );
    expect(JSON.stringify(streamed.slice(-2))).toMatch(/(?:completion|output)_tokens":24/);
    expect(JSON.stringify(streamed)).not.toMatch(/"finish_reason":"tool_calls"|"stop_reason":"tool_use"/);
  });

  it("are left out when the model knows no tools", async () => {
    const server = await startWire(FAKES[wire], ({ tools: offered }) =>
      offered.length > 0
        ? { status: 400, body: { error: { message: "fake-model does not support tools" } } }
        : { text: "Hi" },
    );
    const home = await ProxyHome.open({ wire, url: server.url, door: withDoor });
    for (const chatId of ["a", "b"])
      expect((await home.send(bodyOf(wire, HELLO), { chatId })).status).toBe(200);
    expect(server.requests).toHaveLength(3);
  });
});

describe("the Responses API", () => {
  it("goes on from the last hidden round when the client names the first", async () => {
    const server = await startWire("responses", [
      { toolCalls: [{ name: "memory_history", arguments: {} }] },
      { text: "Answer" },
      { text: "More" },
    ]);
    const home = await ProxyHome.open({ wire: "responses", url: server.url, door: withDoor });
    const body = { model: "fake-model", input: "Hello there, kiln", stream: true };
    const events = eventsIn(await (await home.send(body)).text());
    const created = events[0] as { response: { id: string } };
    const completed = events.at(-1) as { response: { id: string } };
    expect(created.response.id).not.toBe(completed.response.id);
    const next = { model: "fake-model", input: "And more?", previous_response_id: created.response.id };
    await (await home.send(next, { session: { kind: "previous-response", history: "server" } })).text();
    expect(server.requests[2]?.body.previous_response_id).toBe(completed.response.id);
    expect((await home.stored()).at(-1)).toBe("assistant: More");
  });
});

describe("count_tokens", () => {
  it("is the vendor's number, or an estimate where the server has none", async () => {
    const server = await rawServer((response, { path }, index) =>
      index === 0 ? json(response, { input_tokens: 42, path }) : json(response, {}, 404),
    );
    const home = await ProxyHome.open({ wire: "messages", url: server.url, door: withDoor });
    const turn = home.turn(bodyOf("messages", HELLO));
    expect(await (await home.mode.countTokens(turn)).json()).toEqual({
      input_tokens: 42,
      path: "/v1/messages/count_tokens",
    });
    expect(await (await home.mode.countTokens(turn)).json()).toEqual({ input_tokens: expect.any(Number) });
    expect(await home.memory.chats()).toEqual([]);
  });
});

describe("a server that cannot be used", () => {
  it("is named, with what to do", async () => {
    const home = await ProxyHome.open({ wire: "chat", url: "http://127.0.0.1:1/v1", door: withDoor });
    expect(await problemOf(home.send(bodyOf("chat", HELLO)))).toMatchObject({
      status: 502,
      code: "upstream-unreachable",
    });
    const server = await rawServer((response) =>
      json(response, {}, 307, { location: "http://127.0.0.1:1/" }),
    );
    const other = await ProxyHome.open({ wire: "chat", url: server.url, door: withDoor });
    expect(await problemOf(other.send(bodyOf("chat", HELLO)))).toMatchObject({
      status: 502,
      code: "upstream-redirects",
    });
    const empty = await ProxyHome.open({ wire: "chat", url: "", model: {}, door: withDoor });
    const none = await problemOf(empty.send({ ...bodyOf("chat", HELLO), model: "hermes" }));
    expect(none).toMatchObject({
      status: 404,
      code: "no-model",
      hint: expect.stringContaining("hermes setup"),
    });
  });
});
