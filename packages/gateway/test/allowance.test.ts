// Limits of tokens and users over a running gateway: models, budgets of a day, users of a token.
import { describe, expect, it } from "vitest";
import type { Step, WireKind } from "../../agent/test/fakes/wires/script.ts";
import { startWire } from "../../agent/test/fakes/wires/wire-in-test.ts";
import type { TokenLimits, TokenRights } from "../src/types.ts";
import { newToken, runningGateway } from "./running-gateway.ts";

const NAMES_USERS: TokenRights = { kind: "names-users", platform: "web" };
const USAGE = { input: 90, output: 10 };

async function limited({
  kind = "chat" as WireKind,
  gateway = {},
  step = { text: "Fine.", usage: USAGE } as Step,
} = {}) {
  const server = await startWire(kind, () => step);
  const api_mode = { chat: "chat_completions", responses: "responses", anthropic: "anthropic_messages" }[
    kind as "chat"
  ];
  const own = {
    name: "other",
    base_url: server.url,
    api_key: "k",
    models: { "gpt-small": {}, "gpt-large": {} },
  };
  const config = JSON.stringify({
    model: { default: "usual", base_url: server.url, api_key: "k", api_mode },
    custom_providers: [own],
    models: { prices: { usual: { input: 1_000, output: 1_000 } } }, // 100 tokens cost 10 cents
    agent: { api_max_retries: 1 },
    gateway,
  });
  const first = await runningGateway({ config });
  const made = async (limits?: TokenLimits, rights: TokenRights = NAMES_USERS): Promise<string> => {
    const token = await newToken(first.home, rights, { limits });
    const headers = { authorization: `Bearer ${token}` };
    // A running server looks at the file twice a second.
    const isKnown = async () => (await first.call("/v1/models", { headers })).status;
    await expect.poll(isKnown, { timeout: 5_000 }).toBe(200);
    return token;
  };
  const send = async (
    token: string,
    path: string,
    body: unknown,
    user = "ana",
    at = first,
  ): Promise<Response> =>
    at.call(path, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${token}`,
        ...(user === "" ? {} : { "x-hermes-user-id": user }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const ask = (
    token: string,
    more: object = {},
    path = "/proxy/v1/chat/completions",
    user = "ana",
    at = first,
  ) => send(token, path, { model: "usual", messages: [{ role: "user", content: "Hi" }], ...more }, user, at);
  return { first, server, made, send, ask };
}

const codeOf = async (answer: Response): Promise<string> => {
  const { error } = (await answer.json()) as { error?: { code?: string; details?: { error_code: string } } };
  return `${answer.status} ${error?.code ?? error?.details?.error_code ?? ""}`.trim();
};

describe("a token that is limited to models", () => {
  it("lists and gets these only, on every wire and in every mode", async () => {
    const { made, send, ask, server } = await limited();
    const token = await made({ models: ["custom:other/gpt-s*", "gpt-s*"] });
    const listed = (await (await send(token, "/v1/models", undefined)).json()) as { data: { id: string }[] };
    expect(listed.data.map(({ id }) => id)).toEqual([expect.stringContaining("gpt-small")]);
    const id = listed.data[0]?.id ?? "";
    expect((await send(token, "/v1/models/usual", undefined)).status).toBe(404);
    for (const mode of ["/agent", "/proxy"]) {
      for (const model of [
        "usual",
        "hermes",
        "custom:other/gpt-large",
        id.replace("small", "large"),
        "unknown",
      ])
        for (const [path, more] of [
          ["/v1/chat/completions", {}],
          ["/v1/responses", { input: "Hi" }],
          ["/v1/messages", { max_tokens: 9 }],
        ] as const)
          expect(
            await codeOf(await ask(token, { model, ...more }, mode + path)),
            `${mode}${path} ${model}`,
          ).toBe("403 model-not-allowed");
      expect((await ask(token, { model: id }, `${mode}/v1/chat/completions`)).status).toBe(200);
    }
    const count = await ask(token, { max_tokens: 9 }, "/v1/messages/count_tokens");
    expect(await codeOf(count)).toBe("403 model-not-allowed");
    const title = { messages: [{ role: "user", content: "Hi" }], metadata: { task: "title_generation" } };
    expect(await codeOf(await ask(token, title))).toBe("403 model-not-allowed");
    expect(new Set(server.requests.map(({ body }) => body.model))).toEqual(new Set(["gpt-small"]));
    const usual = await made({ models: ["hermes"] });
    expect((await ask(usual, { model: "hermes" })).status).toBe(200);
  });
});

describe("a budget of a day", () => {
  it("of requests holds over a restart and between two gateways of a home", async () => {
    const { first, made, ask, server } = await limited();
    const token = await made({ requests_per_day: 4 });
    const second = await runningGateway({ home: first.home });
    const path = "/proxy/v1/chat/completions";
    const both = await Promise.all(
      [first, second, first, second, first, second].map((at) => ask(token, {}, path, "ana", at)),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 429, 429]);
    expect(server.requests).toHaveLength(4);
    await second.close();
    const third = await runningGateway({ home: first.home });
    const refused = await ask(token, {}, "/agent/v1/chat/completions", "bo", third);
    expect([refused.headers.get("x-should-retry"), await codeOf(refused.clone())]).toEqual([
      "false",
      "429 budget-used-up",
    ]);
    const seconds = Number(refused.headers.get("retry-after"));
    expect(new Date(Date.now() + seconds * 1000).toISOString()).toMatch(/T(?:23:59:5\d|00:00:0\d)/);
    expect(await refused.text()).toContain("token of this request has used up today's budget of requests");
    expect((await ask(await made({ requests_per_day: 1 }))).status).toBe(200);
  });

  it.each([
    ["proxy", "chat", "/proxy/v1/chat/completions"],
    ["proxy, streamed without usage", "chat", "/proxy/v1/chat/completions"],
    ["another wire", "anthropic", "/proxy/v1/chat/completions"],
    ["agent", "chat", "/agent/v1/chat/completions"],
  ] as const)("of tokens and cost counts what the model reported: %s", async (name, kind, path) => {
    const stream = name.includes("streamed");
    const step = stream ? { text: "word ".repeat(100), usage: null } : { text: "Fine.", usage: USAGE };
    const { made, ask } = await limited({ kind, step });
    const tokens = await made({ tokens_per_day: 50 }, { kind: "user", user: { platform: "web", id: "ana" } });
    expect(await (await ask(tokens, { stream }, path)).text()).toMatch(/Fine|word/);
    expect(await codeOf(await ask(tokens, {}, path))).toBe("429 budget-used-up");
    const cost = await made({ cost_per_day: 0.15 });
    await (await ask(cost, { stream }, path)).text();
    if (!stream) {
      expect((await ask(cost, {}, path)).status).toBe(200);
      expect(await (await ask(cost, {}, path)).text()).toContain("budget of cost");
    }
  });

  it("of a user is each user's own, begins anew when the user is erased, and does not bind the owner", async () => {
    const { made, ask, send } = await limited({ gateway: { user_requests_per_day: 1 } });
    const token = await made();
    const path = "/proxy/v1/chat/completions";
    const status = async (user: string) => (await ask(token, {}, path, user)).status;
    expect([await status("ana"), await status("ana"), await status("bo")]).toEqual([200, 429, 200]);
    const erased = await send(token, "/api/erase", { confirm: "erase everything" });
    expect(erased.status).toBe(200);
    expect([await status("ana"), await status("bo")]).toEqual([200, 429]);
    const admin = await made(undefined, { kind: "admin" });
    const owner = await made(undefined, { kind: "owner" });
    // Acts for a user of its own platform.
    const asAdmin = async () => (await ask(admin, {}, path, "bo")).status;
    expect([await asAdmin(), await asAdmin()]).toEqual([200, 429]);
    const asOwner = () => ask(owner, {}, path, "");
    expect([(await asOwner()).status, (await asOwner()).status]).toEqual([200, 200]);
  });
});

describe("a token that names users", () => {
  it("names no more than its ceiling, by any route, and goes on with those it has", async () => {
    const { first, made, ask, send } = await limited({ gateway: { max_users: 3 } });
    const usual = await made();
    const path = "/proxy/v1/chat/completions";
    for (const user of ["a", "b", "c"]) expect((await ask(usual, {}, path, user)).status).toBe(200);
    expect(await codeOf(await ask(usual, {}, path, "d"))).toBe("403 too-many-users");
    for (const route of ["/api/entries", "/mcp"])
      expect(await codeOf(await send(usual, route, { text: "x" }, "d"))).toBe("403 too-many-users");
    expect((await ask(usual, {}, path, "a")).status).toBe(200);
    const small = await made({ max_users: 1 });
    // They have data from before.
    for (const user of ["a", "b"]) expect((await ask(small, {}, path, user)).status).toBe(200);
    expect(await codeOf(await ask(small, {}, path, "e"))).toBe("403 too-many-users");
    const many = await made({ max_users: 0 });
    expect((await ask(many, {}, path, "e")).status).toBe(200);
    const again = await runningGateway({ home: first.home });
    expect(await codeOf(await ask(usual, {}, path, "f", again))).toBe("403 too-many-users");
    expect((await send(usual, "/api/erase", { confirm: "erase everything" }, "b")).status).toBe(200);
    expect((await ask(usual, {}, path, "f", again)).status).toBe(200);
  });
});
