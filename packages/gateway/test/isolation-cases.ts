// What somebody tries against the data of others, for each route of the table. `attack` sends one request and checks what came back.

import type { WireName } from "../src/wires/wire.ts";
import type { Asked, Got, Json, Sender, ToolCall, Victim, World } from "./isolation-world.ts";
import { SHARED } from "./isolation-world.ts";

export type Attack = {
  readonly world: World;
  readonly sender: Sender;
  /** Persons whose data may not be seen or changed. */
  readonly victims: readonly Victim[];
  send(method: string, path: string, body?: unknown): Promise<Got>;
  ask(wire: WireName, prefix: string, asked: Asked): Promise<Got>;
  /** Lists and answers that name sessions: no id of others in them. */
  namesNobody(got: Got): void;
};

/** For a quick run some of the ids, for the long one all of them. */
export type Breadth = "some" | "all";

export type Case = (attack: Attack, breadth: Breadth) => Promise<void>;

const QUESTIONS = ["kiln", "kiln code", "Hello there", "Archived", "Profile"];
/** What an attacker names to be taken for somebody else, besides their own credential. */
const OTHER_NAMES = ["alice", "carol", "owner", "", "web:alice"];

function some<T>(list: readonly T[], breadth: Breadth, most = 2): readonly T[] {
  return breadth === "all" ? list : [...new Set([...list.slice(0, most), ...list.slice(-1)])];
}

function idsOf(victims: readonly Victim[], breadth: Breadth): readonly string[] {
  return [
    ...victims.flatMap(({ handles }) => some(handles.sessionIds, breadth, 1)),
    `${SHARED.chat} chat/agent`,
  ];
}

const at = (id: string): string => `/api/sessions/${encodeURIComponent(id)}`;

// ---- Model routes ----

function modelCase(wire: WireName, prefix: string): Case {
  return async (attack, breadth) => {
    const { victims, ask } = attack;
    const text = "What is the kiln code?";
    // By every id that a victim used.
    const named: Asked[] = [
      ...victims
        .flatMap(({ handles }) =>
          handles.sessionIds.filter((_, index) => index % (breadth === "all" ? 4 : 12) === 0),
        )
        .map((id) => ({ headers: { "x-hermes-session-id": id } })),
      { headers: { "x-hermes-session-id": `${SHARED.chat} ${wire}${prefix}` } },
      { headers: { "x-hermes-session-key": SHARED.key, "idempotency-key": SHARED.retry } },
      { headers: { "x-claude-code-session-id": SHARED.claudeCode } },
      { headers: { "session-id": SHARED.codex, "user-agent": "codex_cli_rs/0.1" } },
      { headers: { "x-opencode-session": SHARED.openCode } },
      { headers: { "x-openwebui-chat-id": SHARED.openWebUi } },
      { headers: { "x-stainless-retry-count": "1", "idempotency-key": SHARED.retry } },
      { body: { conversation: SHARED.conversation } },
      { body: { litellm_session_id: SHARED.litellm } },
      ...victims
        .flatMap(({ handles }) => some(handles.responseIds, "some", 1))
        .flatMap((id) => [
          { body: { previous_response_id: id } },
          { body: { previous_response_id: id, conversation: SHARED.conversation } },
          { headers: { "x-hermes-session-id": "mine" }, body: { previous_response_id: id } },
        ]),
    ];
    for (const [index, asked] of named.entries())
      await ask(wire, prefix, { text, isStream: index % 3 === 0, ...asked });
    // By the beginning of a victim's conversation, and by their very request.
    await ask(wire, prefix, {
      messages: [
        { role: "user", content: "Hello there" },
        { role: "assistant", content: "Noted." },
        { role: "user", content: text },
      ],
    });
    await ask(wire, prefix, {
      text: "What is my kiln code?",
      headers: {
        "x-hermes-session-key": SHARED.key,
        "idempotency-key": SHARED.retry,
        "x-stainless-retry-count": "2",
      },
    });
    // By the model's tools, which an attacker's text may talk it into calling.
    for (const calls of toolCalls(victims, breadth)) await ask(wire, prefix, { text, calls });
  };
}

function toolCalls(victims: readonly Victim[], breadth: Breadth): readonly (readonly ToolCall[])[] {
  const search = (args: Json): ToolCall => ({ name: "session_search", arguments: args });
  const sessions = idsOf(victims, breadth).filter((_, index) =>
    breadth === "all" ? index % 6 === 0 : index < 3,
  );
  const messages = victims.flatMap(({ handles }) => handles.messageIds.slice(0, 2));
  const facts = (action: string, more: Json = {}): ToolCall => ({
    name: "fact_store",
    arguments: { action, ...more },
  });
  return [
    [
      search({ query: "kiln" }),
      search({ query: "kiln", scope: "all", detail: "full", role_filter: "user,assistant,tool,system" }),
      search({}),
      search({ query: "kiln", profile: "work" }),
      search({ query: "kiln", profile: "default" }),
      search({ query: "kiln", source: "cli,web,api,subagent,tool" }),
      search({ query: "kiln", summarize: true }),
    ],
    [
      ...sessions.flatMap((id) => [
        search({ session_id: id }),
        search({ session_id: `default/${id}` }),
        search({ session_id: `@session:work/${id}` }),
        search({ session_id: id, profile: "work" }),
      ]),
      ...messages.map((id) => search({ session_id: sessions[0] ?? "", around_message_id: id })),
    ],
    [
      { name: "memory_history", arguments: {} },
      { name: "memory_history", arguments: { query: "kiln", limit: 100 } },
      { name: "memory", arguments: { action: "remove", target: "memory", old_text: "kiln" } },
      { name: "memory", arguments: { action: "replace", target: "user", old_text: "kiln", content: "None" } },
      { name: "memory", arguments: { action: "read", target: "memory" } },
      { name: "read_result", arguments: {} },
      ...victims.map(({ mark }) => ({ name: "read_result", arguments: { id: `call_${mark}-00000001` } })),
      { name: "skills_list", arguments: {} },
      { name: "skill_manage", arguments: { action: "create", name: "taken", content: "# over" } },
    ],
    [
      facts("list", { limit: 100, min_trust: 0 }),
      facts("search", { query: "kiln code" }),
      facts("probe", { entity: "kiln" }),
      facts("related", { entity: "kiln" }),
      facts("contradict"),
      ...[1, 2, 3].flatMap((id) => [
        facts("update", { fact_id: id, content: "Taken over" }),
        facts("remove", { fact_id: id }),
        { name: "fact_feedback", arguments: { fact_id: id, action: "unhelpful" } },
      ]),
    ],
  ];
}

const countTokens =
  (prefix: string): Case =>
  async ({ send, victims }, breadth) => {
    for (const id of idsOf(victims, breadth))
      await send("POST", `${prefix}/v1/messages/count_tokens?session=${encodeURIComponent(id)}`, {
        model: "fake-model",
        messages: [{ role: "user", content: "kiln" }],
      });
  };

// ---- Everything else ----

const nobodysData =
  (...paths: readonly string[]): Case =>
  async ({ send, namesNobody }) => {
    for (const path of paths) namesNobody(await send("GET", path));
  };

/** A read that anybody may try under another name. */
const lists =
  (path: string, ...queries: readonly string[]): Case =>
  async ({ send, world, sender, namesNobody }) => {
    for (const query of ["", ...queries]) namesNobody(await send("GET", `${path}${query}`));
    for (const name of OTHER_NAMES.filter((each) => each !== sender.ownId)) {
      const joined = `${path}${queries[0] ?? "?"}`;
      const asOther = joined.includes("=") ? `${joined}&user=` : `${path}?user=`;
      if (sender.name !== "a local caller") await send("GET", asOther + encodeURIComponent(name));
      if (sender.headers["x-hermes-user-id"] === undefined) {
        const headers = { ...sender.headers, "x-hermes-user-id": name, "x-sm-user-id": name };
        const got = await world.send({ ...sender, headers }, "GET", path);
        if (got.status < 400) throw new Error(`${sender.name} was taken for '${name}' at ${path}`);
      }
    }
  };

const mcp: Case = async ({ send, victims }, breadth) => {
  let id = 0;
  const call = async (method: string, params: Json = {}): Promise<void> => {
    id += 1;
    await send("POST", "/mcp", { jsonrpc: "2.0", id, method, params });
  };
  await call("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
  for (const method of ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
    await call(method);
  await call("prompts/get", { name: "memory" });
  for (const uri of ["hermes://memory/memory", "hermes://memory/user", "hermes://sessions"])
    await call("resources/read", { uri });
  for (const session of idsOf(victims, breadth)) {
    await call("resources/read", { uri: `hermes://sessions/${encodeURIComponent(session)}` });
    await call("resources/read", { uri: `hermes://sessions/../memory/users/${session}` });
  }
  for (const { name, arguments: args } of toolCalls(victims, breadth).flat())
    await call("tools/call", { name, arguments: args });
};

/** A victim lives on while the attacker listens. */
const events: Case = async ({ world, sender, victims, send }) => {
  const ended = new AbortController();
  const stream = await world.gateway.call("/api/events", { headers: sender.headers, signal: ended.signal });
  const reader = stream.body?.getReader();
  let heard = "";
  const decoder = new TextDecoder();
  const listening = (async () => {
    for (;;) {
      const next = await reader?.read();
      if (next === undefined || next.done) return;
      heard += decoder.decode(next.value, { stream: true });
    }
  })().catch(() => undefined);
  for (const victim of victims) {
    world.gateway.gateway.events.emit({
      type: "memory-write",
      at: new Date().toISOString(),
      user: victim.user,
      profile: victim.profile,
      session_id: victim.handles.sessionIds[0] ?? "",
    });
  }
  await send("POST", "/api/entries", { text: `Own entry ${Math.random()}` });
  for (let waited = 0; !heard.includes("memory-write") && waited < 200; waited += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  ended.abort();
  await listening;
  if (!heard.includes("memory-write")) throw new Error("The attacker's own event did not arrive.");
  for (const { name, handles } of victims)
    for (const session of handles.sessionIds)
      if (heard.includes(session)) throw new Error(`An event of ${name} was shown.`);
};

const WIRES = {
  "/v1/chat/completions": "chat",
  "/v1/responses": "responses",
  "/v1/messages": "messages",
} as const;

const modelCases: Readonly<Record<string, Case>> = Object.fromEntries(
  ["", "/agent", "/proxy"].flatMap((prefix): (readonly [string, Case])[] => [
    ...Object.entries(WIRES).map(
      ([path, wire]) => [`POST ${prefix}${path}`, modelCase(wire, prefix)] as const,
    ),
    [`POST ${prefix}/v1/messages/count_tokens`, countTokens(prefix)],
    [`GET ${prefix}/v1/models`, nobodysData(`${prefix}/v1/models`)],
    [
      `GET ${prefix}/v1/models/:id{.+}`,
      nobodysData(`${prefix}/v1/models/fake-model`, `${prefix}/v1/models/a/b`),
    ],
  ]),
);

/** By method and path of the table. */
export const CASES: Readonly<Record<string, Case>> = {
  ...modelCases,
  "GET /": nobodysData("/"),
  "GET /healthz": nobodysData("/healthz"),
  "GET /readyz": nobodysData("/readyz"),
  "GET /metrics": nobodysData("/metrics"),
  "GET /v1/capabilities": nobodysData("/v1/capabilities"),
  "GET /api/openapi.json": nobodysData("/api/openapi.json"),
  "GET /api/status": lists("/api/status"),
  "GET /api/memory": lists("/api/memory"),
  "PUT /api/memory/provider": async ({ send, sender }) => {
    if (sender.name === "a local caller") return; // has the owner's rights over the home
    const got = await send("PUT", "/api/memory/provider", { provider: "none" });
    if (got.status !== 403) throw new Error(`${sender.name} changed the provider: ${got.status}`);
  },
  "POST /api/memory/reset": async ({ send }) => {
    await send("POST", "/api/memory/reset", { target: "all" });
  },
  "GET /api/entries": lists("/api/entries", "?target=memory", "?target=user"),
  "POST /api/entries": async ({ send }) => {
    // The same text as a victim's is an entry of one's own.
    await send("POST", "/api/entries", { text: "Stays: kiln" });
    await send("POST", "/api/entries", { text: "Stays: kiln", target: "user" });
  },
  "PATCH /api/entries/:id": async ({ send, victims }, breadth) => {
    for (const id of victims.flatMap(({ handles }) => some(handles.entryIds, breadth)))
      await refusedBy(await send("PATCH", `/api/entries/${encodeURIComponent(id)}`, { text: "Mine now" }));
  },
  "DELETE /api/entries/:id": async ({ send, victims }, breadth) => {
    for (const id of victims.flatMap(({ handles }) => some(handles.entryIds, breadth)))
      await refusedBy(await send("DELETE", `/api/entries/${encodeURIComponent(id)}`));
  },
  "GET /api/history": lists("/api/history", "?limit=1000", "?target=user"),
  "POST /api/undo": async ({ send, victims }, breadth) => {
    for (const change of victims.flatMap(({ handles }) => some(handles.changeIds, breadth)))
      await refusedBy(await send("POST", "/api/undo", { change }));
  },
  "GET /api/explain": async ({ send }) => {
    for (const text of QUESTIONS) await send("GET", `/api/explain?text=${encodeURIComponent(text)}`);
  },
  "GET /api/sessions": lists("/api/sessions", "?limit=200", "?source=cli", "?source=web", "?offset=0"),
  "GET /api/sessions/:id": async ({ send, victims }, breadth) => {
    for (const id of idsOf(victims, breadth)) await ownOrUnknown(await send("GET", at(id)), id);
  },
  "GET /api/sessions/:id/messages": async ({ send, victims }, breadth) => {
    for (const id of idsOf(victims, breadth)) {
      await ownOrUnknown(await send("GET", `${at(id)}/messages`), id);
      await send("GET", `${at(id)}/messages?limit=500&before=999999999`);
    }
  },
  "PATCH /api/sessions/:id": async ({ send, victims }, breadth) => {
    for (const id of idsOf(victims, breadth)) await send("PATCH", at(id), { title: "Taken over" });
    for (const id of idsOf(victims, breadth)) await send("PATCH", at(id), { title: null });
  },
  "DELETE /api/sessions/:id": async ({ send, victims }, breadth) => {
    for (const id of idsOf(victims, breadth)) await send("DELETE", at(id));
  },
  "GET /api/search": async ({ send, namesNobody }) => {
    for (const text of QUESTIONS)
      for (const more of ["", "&limit=50", "&in=entries,archive,sessions", "&in=archive"])
        namesNobody(await send("GET", `/api/search?q=${encodeURIComponent(text)}${more}`));
  },
  "GET /api/recalls": async ({ send, victims, namesNobody }, breadth) => {
    namesNobody(await send("GET", "/api/recalls?limit=200"));
    for (const id of idsOf(victims, breadth))
      await send("GET", `/api/recalls?session_id=${encodeURIComponent(id)}`);
  },
  "GET /api/live": lists("/api/live"),
  "POST /api/erase": async ({ send }) => {
    await send("POST", "/api/erase", { dry_run: true });
    await send("POST", "/api/erase", { confirm: "erase everything" });
  },
  "GET /api/events": events,
  "POST /mcp": mcp,
};

async function refusedBy(got: Got): Promise<void> {
  if (got.status < 400) throw new Error(`It was answered with ${got.status}: ${got.text.slice(0, 200)}`);
}

/** Sessions that the attacker made under the same name have ids of their own. */
async function ownOrUnknown(got: Got, id: string): Promise<void> {
  if (got.status === 200 && got.text.includes(`"session_id":${JSON.stringify(id)}`))
    throw new Error(`The session ${id} was shown.`);
}
