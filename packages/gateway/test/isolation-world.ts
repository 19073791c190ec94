// A running server with several persons in it, each with something of everything that a home can keep; and a model that does what the last
// message tells it to. For the tests of isolation: whatever another person sends, none of the secrets may come back.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sha256 } from "@hermes-memory/core/internal/lib";
import type { Memory } from "@hermes-memory/core/internal/memory";
import type { RecordedRequest, Step } from "../../agent/test/fakes/wires/script.ts";
import { startWire, type Wire } from "../../agent/test/fakes/wires/wire-in-test.ts";
import { fillPerson } from "../../core/test/fakes/filled-person.ts";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import type { TokenRights } from "../src/types.ts";
import type { WireName } from "../src/wires/wire.ts";
import { modelOn, newToken, runningGateway, type TestGateway } from "./running-gateway.ts";

export type Json = Record<string, unknown>;

/** Who sends a request: the headers that say so. */
export type Sender = {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A token may name its own user. */
  readonly ownId?: string;
};

/** Ids and keys that the victim used. Another person may guess or overhear them, so they open nothing. */
type Handles = {
  readonly sessionIds: readonly string[];
  readonly responseIds: readonly string[];
  readonly changeIds: readonly string[];
  readonly entryIds: readonly string[];
  readonly messageIds: readonly number[];
};

export type Victim = Sender & {
  /** In every text of this person, and nowhere else. */
  readonly secret: string;
  /** In ids of sessions and results that no wire gives out. */
  readonly mark: string;
  readonly profile: string | undefined;
  readonly user: { readonly platform: string; readonly id: string } | undefined;
  readonly handles: Handles;
};

/** The same for everybody: what another person would try. */
export const SHARED = {
  chat: "our chat",
  key: "our-key",
  claudeCode: "6f2c1f6e-0a57-4c39-9a77-0d3c6a1b2c3d",
  codex: "7a2c1f6e-0a57-4c39-9a77-0d3c6a1b2c3e",
  openCode: "ses_shared",
  openWebUi: "chat-shared",
  conversation: "conv_shared",
  litellm: "litellm-shared",
  retry: "retry-shared",
};

const MODEL_KEY = "sk-planted-model-key-0123456789abcdef";
const FAKES = { chat: "chat", responses: "responses", messages: "anthropic" } as const;
const API_MODES = {
  chat: "chat_completions",
  responses: "responses",
  messages: "anthropic_messages",
} as const;
const WIRE_NAMES = ["chat", "responses", "messages"] as const;
const PATHS = {
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  messages: "/v1/messages",
} as const;

export type World = {
  readonly gateway: TestGateway;
  readonly home: string;
  readonly victims: readonly Victim[];
  readonly upstream: readonly Wire[];
  token(rights: TokenRights): Promise<string>;
  /** What the model says next, whatever it is asked. */
  say(text: string): void;
  ask(wire: WireName, prefix: string, sender: Sender, asked?: Asked): Promise<Got>;
  send(sender: Sender, method: string, path: string, body?: unknown): Promise<Got>;
  /** All requests to models so far, as the models' servers got them. */
  upstreamTexts(from?: number): readonly string[];
  upstreamCount(): number;
  /** Requests to models that the victims made themselves. */
  readonly lived: number;
  /** Rows and files of these persons, as they are now. */
  kept(victims: readonly Victim[]): Promise<string>;
  /** Rows of sessions that are nobody's of these. */
  others(victims: readonly Victim[]): string;
};

export type Asked = {
  readonly text?: string;
  readonly messages?: readonly Json[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
  readonly calls?: readonly ToolCall[];
  readonly isStream?: boolean;
};

export type Got = { readonly status: number; readonly headers: Headers; readonly text: string };
export type ToolCall = { readonly name: string; readonly arguments: Json };

/** `mode`: whether the server has tokens, or every caller is a local one that names users. */
export async function isolationWorld(
  mode: "tokens" | "local",
  breadth: "some" | "all" = "all",
): Promise<World> {
  const home = tempDirectory();
  mkdirSync(join(home, "profiles", "work"), { recursive: true });
  const queue: string[] = [];
  const puppet = (request: RecordedRequest): Step => answerOf(request, queue.shift());
  const upstream = await Promise.all(WIRE_NAMES.map((name) => startWire(FAKES[name], puppet)));
  let used: WireName | undefined;
  const use = (wire: WireName): void => {
    if (used === wire) return;
    used = wire;
    const config = configText(wire, upstream[WIRE_NAMES.indexOf(wire)]?.url);
    for (const directory of homesOf(home)) writeFileSync(join(directory, "config.yaml"), config);
  };
  use("chat");
  const gateway = await runningGateway({ home });
  const token = (rights: TokenRights): Promise<string> => newToken(home, rights);

  const send: World["send"] = async ({ headers }, method, path, body) => {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const answer = await gateway.call(path, {
      method,
      headers: { accept: "application/json, text/event-stream", ...type, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const ask: World["ask"] = (wire, prefix, sender, asked = {}) => {
    use(wire);
    const headers = { ...sender.headers, ...asked.headers };
    return send({ ...sender, headers }, "POST", prefix + PATHS[wire], bodyOf(wire, asked));
  };

  const world: World = {
    gateway,
    home,
    victims: [],
    upstream,
    token,
    say: (text) => void queue.push(text),
    ask,
    send,
    upstreamTexts: (from = 0) =>
      inOrder(upstream)
        .slice(from)
        .map(({ path, headers, raw }) => `${path}\n${JSON.stringify(headers)}\n${raw}`),
    upstreamCount: () => inOrder(upstream).length,
    lived: 0,
    kept: async (victims) => keptBy(home, victims),
    others: (victims) => othersIn(home, victims),
  };
  const persons = await Promise.all(personsOf(mode, token));
  await until(() => gateway.call("/healthz").then(({ status }) => status === 200));
  const victims: Victim[] = [];
  for (const person of persons) victims.push({ ...person, handles: await livedIn(world, person, breadth) });
  await settled(() => world.kept(victims));
  return Object.assign(world, { victims, lived: world.upstreamCount() });
}

/** Clients cannot choose among servers of one's own, so config names that of the wire: then a proxied body is forwarded as it is. */
function configText(wire: WireName, url: string | undefined): string {
  return JSON.stringify({
    model: { ...modelOn(url, API_MODES[wire]), default: "fake-model", api_key: MODEL_KEY },
    memory: { provider: "holographic", overflow: "archive", memory_char_limit: 400, nudge_interval: 0 },
    gateway: { requests_per_minute: 0, identity_profiles: { "web:carol": "work", "api:carol": "work" } },
  });
}

type Person = Omit<Victim, "handles">;

function personsOf(mode: "tokens" | "local", token: World["token"]): readonly Promise<Person>[] {
  const made = async (
    name: string,
    secret: string,
    rights: TokenRights,
    profile?: string,
  ): Promise<Person> => {
    const user = rights.kind === "user" ? rights.user : undefined;
    const headers: Record<string, string> =
      mode === "tokens"
        ? { authorization: `Bearer ${await token(rights)}` }
        : user === undefined
          ? {}
          : { "x-hermes-user-id": user.id };
    return { name, secret, mark: name.replaceAll(" ", "-"), headers, profile, user };
  };
  const platform = mode === "tokens" ? "web" : "api";
  return [
    made("alice", "amber7391", { kind: "user", user: { platform, id: "alice" } }),
    made("the owner", "cobalt8262", { kind: "owner" }),
    made("carol", "crimson4417", { kind: "user", user: { platform, id: "carol" } }, "work"),
  ];
}

// ---- The life of a victim ----

/** Something in every place: files, staged writes, archive, provider, sessions of both modes on all wires, traces. */
async function livedIn(world: World, person: Person, breadth: "some" | "all"): Promise<Handles> {
  const { secret, profile, user } = person;
  const memory: Memory = world.gateway.gateway.memory(profile);
  const layers = user === undefined ? memory.owner.layers : memory.user(user).layers;
  await fillPerson(memory.administration, layers, person.mark, `kiln ${secret}`);
  const sessionIds = new Set<string>();
  const responseIds = new Set<string>();
  const talk = async (wire: WireName, prefix: string, asked: Asked): Promise<void> => {
    const got = await world.ask(wire, prefix, person, asked);
    if (got.status !== 200) throw new Error(`${person.name}: ${prefix} ${wire}: ${got.status} ${got.text}`);
    const id = got.headers.get("x-hermes-session-id");
    if (id !== null) sessionIds.add(id);
    const reply = /"id": ?"(resp_[^"]+)"/.exec(got.text)?.[1];
    if (reply !== undefined) responseIds.add(reply);
  };
  // In the quick run only the first person uses every wire.
  const wires = breadth === "all" || person.mark === "alice" ? WIRE_NAMES : (["responses"] as const);
  for (const wire of wires) {
    for (const prefix of ["/agent", "/proxy"]) {
      const text = `My kiln code is ${secret}-${wire}.`;
      world.say(`The kiln code ${secret} is noted.`);
      await talk(wire, prefix, { text: "Hello there" }); // found by its prefix
      await talk(wire, prefix, {
        text,
        headers: { "x-hermes-session-id": `${SHARED.chat} ${wire}${prefix}` },
      });
      await talk(wire, prefix, { text, headers: { "x-openwebui-chat-id": SHARED.openWebUi } });
    }
    world.say(`The kiln code is ${secret}.`);
    await talk(wire, "/agent", {
      text: "What is my kiln code?",
      headers: { "x-hermes-session-key": SHARED.key, "idempotency-key": SHARED.retry },
    });
  }
  await talk("chat", "/agent", {
    text: "Keep it.",
    calls: [
      { name: "fact_store", arguments: { action: "add", content: `The kiln code is ${secret}-fact` } },
      { name: "memory", arguments: { action: "add", target: "memory", content: `Kiln tool: ${secret}` } },
    ],
  });
  await talk("messages", "/proxy", {
    text: "Hi",
    headers: { "x-claude-code-session-id": SHARED.claudeCode },
  });
  await talk("responses", "/proxy", {
    text: `kiln ${secret}`,
    headers: { "session-id": SHARED.codex, "user-agent": "codex_cli_rs/0.1" },
  });
  await talk("chat", "/proxy", {
    text: `kiln ${secret}`,
    headers: { "x-opencode-session": SHARED.openCode },
  });
  await talk("responses", "/agent", {
    text: `kiln ${secret}`,
    body: { conversation: SHARED.conversation },
  });
  await talk("chat", "/proxy", { text: `kiln ${secret}`, body: { litellm_session_id: SHARED.litellm } });
  await talk("chat", "/proxy", { text: "Which kiln code do I have?" }); // recall has something to find
  for (let n = 0; n < 4; n += 1)
    await world.send(person, "POST", "/api/entries", {
      text: `Archived ${n}: kiln ${secret} ${"x".repeat(120)}`,
    });
  for (const id of sessionIds)
    await world.send(person, "PATCH", `/api/sessions/${encodeURIComponent(id)}`, {
      title: `Kiln ${secret} ${sha256(id).slice(0, 8)}`,
    });
  const [changes, entries] = await Promise.all(
    ["/api/history?limit=100", "/api/entries"].map(async (path) =>
      JSON.parse((await world.send(person, "GET", path)).text),
    ),
  );
  const store = await layers.sessions({ mode: "read" });
  const all = (await store?.listSessionIds({ limit: 200 })) ?? [];
  const rows = await Promise.all(all.map(async (id) => (await store?.getMessages(id)) ?? []));
  return {
    sessionIds: [...new Set([...sessionIds, ...all])],
    responseIds: [...responseIds],
    changeIds: changes.changes.map(({ change }: { change: string }) => change),
    entryIds: entries.entries.map(({ id }: { id: string }) => id),
    messageIds: rows.flat().map(({ id }) => id),
  };
}

// ---- The model ----

const CALLS = /CALLS:([\w-]+):/;

/** Calls the tools that the last message names, and otherwise says what the test wants it to say. */
function answerOf(request: RecordedRequest, said: string | undefined): Step {
  const last = JSON.stringify(request.messages.at(-1) ?? {});
  const isResult = /"(?:role":"tool|type":"(?:tool_result|function_call_output))"/.test(last);
  const [, encoded] = (isResult ? null : CALLS.exec(last)) ?? [];
  if (encoded === undefined) return { text: said ?? "Noted." };
  const wanted = JSON.parse(Buffer.from(encoded, "base64url").toString("utf8")) as ToolCall[];
  const offered = wanted.filter(({ name }) => request.tools.includes(name));
  return offered.length === 0 ? { text: "Noted." } : { toolCalls: offered };
}

function bodyOf(wire: WireName, { text = "", messages, calls, isStream, body = {} }: Asked): Json {
  const said =
    calls === undefined ? text : `${text} CALLS:${Buffer.from(JSON.stringify(calls)).toString("base64url")}:`;
  const list = messages ?? [{ role: "user", content: said }];
  const common = { model: "fake-model", ...(isStream === true ? { stream: true } : {}) };
  if (wire === "chat") return { ...common, messages: list, ...body };
  if (wire === "responses") return { ...common, input: list, ...body };
  return { ...common, max_tokens: 1_000, messages: list, ...body };
}

const arrivals = new WeakMap<RecordedRequest, number>();
let arrived = 0;

/** By the order in which this function first saw them, which is good enough: it is called between requests. */
function inOrder(upstream: readonly Wire[]): readonly RecordedRequest[] {
  const all = upstream.flatMap(({ requests }) => requests);
  for (const request of all)
    if (!arrivals.has(request)) {
      arrived += 1;
      arrivals.set(request, arrived);
    }
  return all.toSorted((one, other) => (arrivals.get(one) ?? 0) - (arrivals.get(other) ?? 0));
}

// ---- What is kept ----

const TABLES: Readonly<Record<string, string>> = {
  sessions: "id",
  messages: "session_id",
  hermes_memory_live: "session_id",
  hermes_memory_marks: "session_id",
  hermes_memory_recalls: "session_id",
  hermes_memory_turns: "session_id",
  hermes_memory_rounds: "session_id",
};

type Rows = { readonly table: string; readonly session: string; readonly text: string }[];

function rowsIn(home: string): Rows {
  using database = new DatabaseSync(join(home, "state.db"), { readOnly: true });
  return Object.entries(TABLES).flatMap(([table, key]) =>
    database
      .prepare(`SELECT * FROM ${table} ORDER BY rowid`)
      .all()
      .map((row) => ({ table, session: String(row[key]), text: JSON.stringify(row) })),
  );
}

/** Each user has a file of their own. */
function factsIn(home: string): readonly string[] {
  const files = readdirSync(home, { recursive: true, encoding: "utf8" });
  return files
    .filter((path) => /memory_store[^/]*\.db$/.test(path) && !path.includes("profiles"))
    .flatMap((path) => {
      using database = new DatabaseSync(join(home, path), { readOnly: true });
      return database
        .prepare("SELECT * FROM facts ORDER BY rowid")
        .all()
        .map((row) => `${path} ${JSON.stringify(row)}`);
    });
}

function homesOf(home: string): readonly string[] {
  return [home, join(home, "profiles", "work")];
}

function isVictims(victims: readonly Pick<Victim, "handles">[], session: string): boolean {
  return victims.some(({ handles }) => handles.sessionIds.includes(session));
}

const DATABASES = /\.(?:db|db-wal|db-shm|lock|log)$|[/\\](?:logs|gateway|profiles)[/\\]/;

function filesIn(home: string): readonly { readonly path: string; readonly bytes: string }[] {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !DATABASES.test(path.slice(home.length)))
    .map((path) => ({ path: path.slice(home.length), bytes: readFileSync(path, "latin1") }));
}

function holds(text: string, victims: readonly Pick<Victim, "secret">[]): boolean {
  return victims.some(({ secret }) => text.toLowerCase().includes(secret));
}

function keptBy(home: string, victims: readonly Victim[]): string {
  const rows = homesOf(home).flatMap((each) => rowsIn(each).filter((row) => isVictims(victims, row.session)));
  const facts = homesOf(home).flatMap((each) => factsIn(each).filter((text) => holds(text, victims)));
  const files = homesOf(home)
    .flatMap((each) => filesIn(each))
    .filter(({ path, bytes }) => holds(path, victims) || holds(bytes, victims))
    .map(({ path, bytes }) => `${path} ${sha256(bytes)}`);
  return [...rows.map(({ table, text }) => `${table} ${text}`), ...facts, ...files].join("\n");
}

function othersIn(home: string, victims: readonly Victim[]): string {
  return homesOf(home)
    .flatMap((each) => rowsIn(each))
    .filter(({ session }) => !isVictims(victims, session))
    .map(({ table, text }) => `${table} ${text}`)
    .join("\n");
}

// ---- Waiting ----

/** Background work of the victims is done: the same twice. */
async function settled(read: () => Promise<string>): Promise<void> {
  let before = await read();
  for (let same = 0; same < 3; ) {
    await new Promise((resolve) => setTimeout(resolve, 60));
    const now = await read();
    same = now === before ? same + 1 : 0;
    before = now;
  }
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20));
}
