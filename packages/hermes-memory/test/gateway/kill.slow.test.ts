// kill -9 of a real `hermes serve` under load, again and again, on all wires and in both modes: clients repeat the request that got no whole
// answer, as SDKs do, and in the end every conversation has exactly what was acknowledged, in order. SIGTERM lets running streams finish.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { modelSection } from "../../../agent/test/agent/agent-home.ts";
import { startWire, type Wire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { WireName } from "../../../gateway/src/wires/wire.ts";
import { eventsIn, FAKES, replyItems } from "../../../gateway/test/proxy/proxy-home.ts";
import { type Server, serve } from "./served-process.ts";

const WIRES = ["chat", "messages", "responses"] as const;
const MODES = ["agent", "proxy"] as const;
const PATHS = { chat: "/chat/completions", messages: "/messages", responses: "/responses" };
const KILLS = 8;
/** A request that finds the server up has an answer after so long, whatever the process before it held. */
const MOST_WAIT_MS = 20_000;

// ---- The server ----

/** Its replies are never the same twice, so that one which is stored in the place of another shows. */
function model(kind: WireName, pieceDelayMs: number): Promise<Wire> {
  return startWire(FAKES[kind], ({ raw, index }) => {
    const asked = raw.match(/ASK-\d+-\d+/g)?.at(-1);
    return { text: `Answer ${index} to ${asked}, in several pieces.`, chunkChars: 6, pieceDelayMs };
  });
}

function newHome(kind: WireName, wire: Wire): string {
  const home = tempDirectory();
  const section = { ...modelSection(FAKES[kind], wire.url), context_length: 200_000 };
  writeFileSync(
    join(home, "config.yaml"),
    stringify({ model: section, gateway: { port: 0, requests_per_minute: 0 } }),
  );
  return home;
}

// ---- The clients ----

/** How a client names its conversation. */
type Naming = "whole list" | "session id" | "prefix" | "response id";
/** How it says that it repeats a request. */
type Retry = "count" | "key" | "nothing";

type Told = { readonly text: string; readonly items: readonly object[]; readonly responseId?: string };

class Client {
  readonly number: number;
  readonly wire: WireName;
  readonly mode: (typeof MODES)[number];
  readonly naming: Naming;
  readonly retry: Retry;
  /** What it said, and the replies that came whole. */
  readonly acknowledged: string[] = [];
  retries = 0;
  /** Breaks a fifth of its requests off when it has the text, and sends them again. */
  hangsUp = false;
  /** Called when the text of a reply is there, and its end is not. */
  onAlmostWhole = (): void => {};
  readonly #list: object[] = [];
  #newest: Told | undefined;

  constructor(
    number: number,
    { wire, mode, naming, retry }: Pick<Client, "wire" | "mode" | "naming" | "retry">,
  ) {
    this.number = number;
    this.wire = wire;
    this.mode = mode;
    this.naming = naming;
    this.retry = retry;
  }

  get user(): string {
    return `user-${this.number}`;
  }

  get title(): string {
    return `${this.user}: ${this.wire}, ${this.mode}, ${this.naming}, retry by ${this.retry}`;
  }

  /** Until `isOver`; the turn that runs then is finished. */
  async talk(server: () => Server | undefined, isOver: () => boolean): Promise<void> {
    for (let turn = 0; turn === 0 || !isOver(); turn += 1) {
      const said = `ASK-${this.number}-${turn} what now?`;
      const told = await this.#ask(server, said, turn);
      this.acknowledged.push(`user: ${said}`, `assistant: ${told.text}`);
      this.#list.push({ role: "user", content: said }, ...told.items);
      this.#newest = told;
      await sleep(Math.random() * 100);
    }
  }

  async #ask(server: () => Server | undefined, said: string, turn: number): Promise<Told> {
    const isWhole = this.naming === "whole list" || this.naming === "prefix";
    const now = { role: "user", content: said };
    const list = isWhole ? [...this.#list, now] : [now];
    const body = JSON.stringify({
      model: "hermes",
      stream: true,
      ...(this.wire === "responses" ? { input: list } : { messages: list }),
      ...(this.wire === "messages" ? { max_tokens: 1_000 } : {}),
      ...(this.naming === "response id" ? { previous_response_id: this.#newest?.responseId } : {}),
    });
    let up: { readonly server: Server; readonly since: number } | undefined;
    for (let count = 0; ; count += 1) {
      const running = server();
      if (running !== undefined && running !== up?.server) up = { server: running, since: performance.now() };
      try {
        if (running === undefined) throw new TypeError("The server is down.");
        return await this.#once(running.url, body, count, turn);
      } catch (cause) {
        if (!(cause instanceof TypeError)) throw cause; // `fetch failed` and `terminated`
      }
      if (up !== undefined && performance.now() - up.since > MOST_WAIT_MS && up.server === server())
        throw new Error(`${this.title}: no answer for ${MOST_WAIT_MS} ms.`);
      this.retries += 1;
      await sleep(50 + Math.random() * 100);
    }
  }

  async #read({ body }: Response): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of body ?? []) {
      const isNew = !text.includes("es.");
      text += decoder.decode(chunk, { stream: true });
      if (!isNew || !text.includes("es.")) continue;
      this.onAlmostWhole();
      if (this.hangsUp && Math.random() < 0.2) throw new TypeError("The client hung up.");
    }
    return text;
  }

  async #once(url: string, body: string, count: number, turn: number): Promise<Told> {
    const headers = {
      "content-type": "application/json",
      "x-hermes-user-id": this.user,
      ...(this.naming === "whole list" ? { "x-openwebui-chat-id": "the-chat" } : {}),
      ...(this.naming === "session id" ? { "x-hermes-session-id": "the-session" } : {}),
      ...(this.retry === "key" ? { "idempotency-key": `turn-${turn}` } : {}),
      ...(this.retry === "count" ? { "x-stainless-retry-count": String(count) } : {}),
    };
    const response = await fetch(`${url}/${this.mode}/v1${PATHS[this.wire]}`, {
      method: "POST",
      headers,
      body,
    });
    const text = await this.#read(response);
    if (!response.ok) throw new Error(`${this.title}: ${response.status} ${text}`);
    const told = toldIn(this.wire, text);
    if (told === undefined) throw new Error(`${this.title}: the stream ended early: ${text.slice(-300)}`);
    const asked = `ASK-${this.number}-${turn}`;
    if (!told.text.includes(`to ${asked},`))
      throw new Error(`${this.title}: another one's reply to ${asked}: ${told.text}`);
    return told;
  }
}

/** Undefined: the stream has no end. */
function toldIn(wire: WireName, text: string): Told | undefined {
  const events = eventsIn(text);
  const last = events.at(-1);
  const isWhole =
    wire === "chat"
      ? text.includes("data: [DONE]") &&
        events.some(({ choices }) => JSON.stringify(choices).includes('"stop"'))
      : last?.type === (wire === "messages" ? "message_stop" : "response.completed");
  if (!isWhole) return undefined;
  const items = replyItems(wire, text, true) as readonly { role?: string; content?: unknown; id?: string }[];
  const response = last?.response as { id?: string } | undefined;
  const texts = items.flatMap(({ content }) =>
    typeof content === "string"
      ? [content]
      : ((content ?? []) as { text?: string }[]).map((part) => part.text ?? ""),
  );
  return { text: texts.join(""), items, ...(response?.id === undefined ? {} : { responseId: response.id }) };
}

function clients(): Client[] {
  const namings: readonly Naming[] = ["whole list", "session id", "prefix"];
  const retries: readonly Retry[] = ["count", "key", "nothing"];
  const kinds = WIRES.flatMap((wire, w) =>
    MODES.flatMap((mode, m) =>
      namings.map((naming) => {
        // Without a word, only a list can show that a request is repeated.
        const retry = retries[(w + m) % (naming === "whole list" ? 3 : 2)] ?? "count";
        return { wire, mode, naming, retry };
      }),
    ),
  );
  const made = kinds.map((kind, at) => new Client(at, kind));
  const byResponse = { wire: "responses", mode: "agent", naming: "response id", retry: "key" } as const;
  return [...made, new Client(made.length, byResponse)];
}

/** A few milliseconds after the text of somebody's reply has come. */
async function almostWhole(everybody: readonly Client[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const client of everybody) client.onAlmostWhole = resolve;
  await Promise.race([promise, sleep(3_000)]);
  for (const client of everybody) client.onAlmostWhole = () => {};
  await sleep(Math.random() * 25);
}

// ---- What is stored ----

type Stored = { readonly lines: readonly string[]; readonly sessions: number };

function storedOf(db: DatabaseSync, user: string): Stored {
  const rows = db
    .prepare(
      `SELECT m.session_id, m.role, m.content FROM messages m JOIN sessions s ON s.id = m.session_id
       WHERE s.user_id = ? AND m.active = 1 AND m.role IN ('user', 'assistant') ORDER BY m.id`,
    )
    .all(user) as { session_id: string; role: string; content: string }[];
  return {
    lines: rows.map(({ role, content }) => `${role}: ${content}`),
    sessions: new Set(rows.map(({ session_id }) => session_id)).size,
  };
}

function expectSound(home: string): DatabaseSync {
  const db = new DatabaseSync(join(home, "state.db"));
  const all = (sql: string): unknown[] => db.prepare(sql).all();
  expect(all("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  expect(all("PRAGMA foreign_key_check")).toEqual([]);
  for (const table of ["hermes_memory_live", "hermes_memory_marks", "hermes_memory_recalls"])
    expect(
      all(`SELECT session_id FROM ${table} WHERE session_id NOT IN (SELECT id FROM sessions)`),
      table,
    ).toEqual([]);
  return db;
}

describe.each(WIRES)("a server that is killed while it streams, with a model on the wire %s", (kind) => {
  it(`loses and doubles no acknowledged message, in ${KILLS} kills`, async () => {
    const wire = await model(kind, 15);
    const home = newHome(kind, wire);
    let server: Server | undefined = await serve(home);
    let isOver = false;
    const everybody = clients();
    for (const client of everybody) client.hangsUp = true;
    const talking = Promise.all(
      everybody.map((client) =>
        client.talk(
          () => server,
          () => isOver,
        ),
      ),
    );
    talking.catch(() => {}); // looked at below
    const kill = async (): Promise<void> => {
      for (let kills = 0; kills < KILLS; kills += 1) {
        await sleep(300 + Math.random() * 2_000);
        if (kills % 2 === 0) await almostWhole(everybody); // while a reply is being stored
        const { child, exit } = server ?? (await serve(home));
        server = undefined;
        child.kill("SIGKILL");
        await exit;
        server = await serve(home);
      }
    };
    await Promise.race([kill(), talking]);
    isOver = true;
    await talking;
    server.child.kill("SIGTERM");
    expect(await server.exit).toEqual([0, null]);

    for (const { retries, title } of everybody) expect(retries, title).toBeGreaterThan(0);
    using db = expectSound(home);
    // Leases of killed processes expire; the last server has given back its own.
    const leases = db.prepare("SELECT holder FROM hermes_memory_leases").all() as { holder: string }[];
    expect(leases.filter(({ holder }) => holder.startsWith(`pid=${server?.child.pid}:`))).toEqual([]);
    for (const client of everybody)
      expect({ client: client.title, ...storedOf(db, client.user) }).toEqual({
        client: client.title,
        lines: client.acknowledged,
        sessions: 1,
      });
  }, 120_000);
});

it("a server that is told to stop finishes the streams that run, and stores them", async () => {
  const wire = await model("chat", 120);
  const home = newHome("chat", wire);
  const server = await serve(home);
  const everybody = clients();
  const answered = everybody.map((client) =>
    client.talk(
      () => server,
      () => true,
    ),
  );
  await wire.waitForRequest(everybody.length - 1); // each has its first stream now
  server.child.kill("SIGTERM");
  const late = fetch(`${server.url}/healthz`).then(
    ({ status }) => status,
    () => "refused",
  );
  await Promise.all(answered);
  expect(await server.exit).toEqual([0, null]);
  expect([200, 503, "refused"]).toContain(await late);
  using db = expectSound(home);
  for (const client of everybody) {
    expect(client.acknowledged, client.title).toHaveLength(2);
    expect(storedOf(db, client.user).lines, client.title).toEqual(client.acknowledged);
  }
}, 60_000);
