// Random histories of a chat on a home with two gateways, against a model: what the client shows is what is stored. The client sends, hangs
// up, resends, regenerates, edits, leaves slow replies open and changes the gateway; gateways that are processes are killed and stopped.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect } from "vitest";
import { type Gate, gate } from "../../agent/test/fakes/wires/script.ts";
import { startWire } from "../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import type { WireName } from "../src/wires/wire.ts";
import { eventsIn } from "./proxy/proxy-home.ts";

// ---- What may happen; a value that is named twice is twice as frequent ----

const oneOf = <const T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

const variant = fc.record({
  mode: oneOf("proxy", "agent"),
  /** By X-Hermes-Session-Id, by a client's own id, or by its messages. `newest`: a session id, and only the newest message is sent. */
  naming: oneOf("session", "client", "none", "newest"),
  wire: oneOf<WireName>("chat", "chat", "chat", "chat", "messages", "responses"),
  isStream: oneOf(true, true, true, true, true, false),
  /** On every second question and its retries. */
  hasKeys: oneOf(false, false, false, false, true),
});

const op = fc.record({
  /** `again`: the words of the newest question once more, on purpose. */
  what: oneOf("send", "send", "send", "regenerate", "edit", "again"),
  how: oneOf("whole", "whole", "hang-up", "slow", "kill", "stop"),
  /** Behind a request that was not answered. `go-on`: with the part that came; `drop`: as if it had not been asked. */
  next: oneOf("resend", "resend", "go-on", "drop", "leave"),
  /** Of the request, and of those that follow it. */
  gateways: fc.tuple(fc.nat(1), fc.nat(1)),
  /** Where the model's reply waits. */
  at: oneOf("start", "middle", "middle", "end"),
  pick: fc.nat(63),
});

type ValueOf<A> = A extends fc.Arbitrary<infer T> ? T : never;
export type Variant = ValueOf<typeof variant>;
export type Op = ValueOf<typeof op>;
type History = { readonly variant: Variant; readonly ops: readonly Op[] };

// ---- The model server and the gateways ----

export type World = {
  readonly home: string;
  /** Waits while that gateway starts. */
  url(number: number): Promise<string>;
  /** The next reply to a question waits. Resolves when the model was asked. */
  hold(asked: string, at: Op["at"], until: Gate): Promise<void>;
  release(asked: string): void;
  /** Absent: they run in this process. */
  readonly processes?: {
    /** And starts it again. */
    kill(number: number): Promise<void>;
    signal(number: number, signal: "SIGSTOP" | "SIGCONT"): Promise<void>;
    /** How long a client tries the other gateway while one is stopped, in milliseconds. */
    readonly stoppedMs: number;
  };
  onAlmostWhole?(): void;
};

const END = "and that is the end.";
const WHOLE = /A\d+ to Q\d+\. It comes in pieces, and that is the end\./;
let questions = 0;
let replies = 0;
let chats = 0;

/** A home, and a model whose replies are unlike each other and name their question. */
export async function homeWithModel(pieceDelayMs = 0): Promise<Pick<World, "home" | "hold" | "release">> {
  const holds = new Map<string, { at: Op["at"]; until: Gate; reached: () => void }>();
  const wire = await startWire("chat", ({ raw }) => {
    const asked = raw.match(/Q\d+\./g)?.at(-1) ?? "";
    const text = `A${++replies} to ${asked} It comes in pieces, ${END}`;
    const held = holds.get(asked);
    holds.delete(asked);
    held?.reached();
    if (held === undefined) return { text, chunkChars: 6, pieceDelayMs };
    if (held.at === "start") return { text, pauseBefore: held.until };
    return {
      text,
      chunkChars: 6,
      pauseAt: { chars: held.at === "end" ? text.length : 24, until: held.until },
    };
  });
  const home = tempDirectory();
  const model = { default: "fake", base_url: wire.url, api_key: "none", context_length: 200_000 };
  const config = { model, gateway: { port: 0, requests_per_minute: 0, recall: false } };
  writeFileSync(join(home, "config.yaml"), JSON.stringify(config)); // JSON is YAML
  const hold: World["hold"] = (asked, at, until) =>
    new Promise((reached) => holds.set(asked, { at, until, reached }));
  return { home, hold, release: (asked) => void holds.delete(asked) };
}

/** The token of local programs, if this home has one. */
function access(home: string): Record<string, string> {
  const path = join(home, "gateway", "local-token");
  return existsSync(path) ? { "x-hermes-token": readFileSync(path, "utf8").trim() } : {};
}

// ---- The client ----

/** `isOptional`: the client cannot say whether it is a part of the chat, and any reply may stand there. */
type Said = { readonly role: "user" | "assistant"; readonly text: string; readonly isOptional?: true };
type List = readonly Said[];

const PATHS = { chat: "chat/completions", messages: "messages", responses: "responses" };
const LAST = { chat: "data: [DONE]", messages: '"message_stop"', responses: '"response.completed"' };
/** Another request of the chat is being answered: the client tries again. */
const BUSY = new Set([409, 429, 503]);
const PATIENCE_MS = 90_000;

export class Chat {
  readonly user = `user-${process.pid}-${++chats}`;
  /** The model: what the newest answered request had, and its answer. */
  shown: List = [];
  /** The list of a request that was broken off and not followed by another one. It may be stored instead. */
  left: List | undefined;
  readonly acknowledged = new Set<string>();
  readonly trace: string[] = [];
  answered = 0;
  hangUps = 0;
  #turns = 0;
  readonly world: World;
  readonly variant: Variant;

  constructor(world: World, of: Variant) {
    this.world = world;
    this.variant = of;
  }

  async play(chosen: Op): Promise<void> {
    const list = this.#listOf(chosen);
    const key = this.#newKey();
    if (chosen.how === "whole") await this.#ask(list, chosen.gateways[0], key);
    else await this.#interrupt(list, key, chosen);
  }

  #newKey(): string | undefined {
    const turn = ++this.#turns;
    return this.variant.hasKeys && turn % 2 === 0 ? `turn-${turn}` : undefined;
  }

  #say(text = `Q${++questions}. What now?`): Said {
    return { role: "user", text };
  }

  #listOf({ what, pick }: Op): List {
    const { shown, left } = this;
    const { naming } = this.variant;
    const asked = shown.flatMap(({ role }, at) => (role === "user" ? [at] : []));
    const newest = asked.at(-1) ?? -1;
    const isAnswered = left === undefined && shown.at(-1)?.isOptional !== true;
    if (naming === "newest") {
      const isAgain = what === "again" && isAnswered;
      return [...shown, this.#say(isAgain ? shown[newest]?.text : undefined)];
    }
    // Without a name, the first message alone begins a new chat; with a session id, one alone is the newest message.
    if (what === "regenerate" && newest >= (naming === "client" ? 0 : 1)) return shown.slice(0, newest + 1);
    const cut = asked[pick % Math.max(1, asked.length)] ?? -1;
    if (what === "edit" && cut >= (naming === "session" ? 1 : 0))
      return [...shown.slice(0, cut), this.#say()];
    return [...shown, this.#say()];
  }

  #answer(list: List, text: string): void {
    this.shown = [...list, { role: "assistant", text }];
    this.left = undefined;
  }

  /** Until it is answered. */
  async #ask(list: List, number: number, key: string | undefined): Promise<void> {
    const began = performance.now();
    while (performance.now() - began < PATIENCE_MS) {
      const text = await this.send(list, number, key).done;
      if (text !== undefined) return this.#answer(list, text);
      await sleep(50);
    }
    throw new Error(`No answer for ${PATIENCE_MS} ms.`);
  }

  async #interrupt(
    list: List,
    key: string | undefined,
    { how, next, at: where, gateways, pick }: Op,
  ): Promise<void> {
    const { world, variant: of, shown } = this;
    const { processes } = world;
    const [isNewest, isAgent, isFirst] = [of.naming === "newest", of.mode === "agent", shown.length === 0];
    const [number, other] = gateways;
    const at = of.isStream ? where : "start";
    const asked = list.at(-1)?.text.split(" ", 1)[0] ?? "";
    const until = gate();
    /** Resolves when the model was asked and the client has what comes before the pause, or the whole reply. */
    const begin = async (): Promise<ReturnType<Chat["send"]>> => {
      const held = world.hold(asked, at, until).then(() => true);
      const request = this.send(list, number, key);
      if ((await Promise.race([held, request.done, sleep(20_000, true)])) === undefined) {
        await sleep(50); // the turn before is not over, or the gateway starts
        return begin();
      }
      const isThere = () => at === "start" || request.text().includes(at === "end" ? END : " ");
      for (let waits = 0; waits < 20 && !isThere(); waits += 1) await sleep(10);
      world.release(asked);
      return request;
    };
    let request = await begin();
    for (let times = how === "hang-up" ? (next === "resend" ? pick % 3 : 0) + 1 : 0; times > 0; times -= 1) {
      request.hangUp();
      this.hangUps += 1;
      if (times > 1) request = await begin();
    }
    const partial = request.text();
    const early = await Promise.race([request.done, sleep(0)]);
    if (typeof early === "string") return this.#answer(list, early); // by a key: it waited for no model
    this.trace.push(`  ${how} at '${partial}', then ${next}`);
    if (how === "kill") {
      // Without the earlier messages, a reply that was stored and did not come is not to be told from one that came.
      if (at === "end" && !isNewest) until.open();
      await sleep(pick % 16);
      await processes?.kill(number);
      until.open();
      const whole = await request.done;
      return whole === undefined ? this.#ask(list, other, key) : this.#answer(list, whole);
    }
    if (how === "stop") {
      await processes?.signal(number, "SIGSTOP");
      request.hangUp();
    }
    if (how === "hang-up" && !isNewest && list.length > 1 && (pick & 4) === 0) until.open();

    const part: Said = { role: "assistant", text: partial };
    const following = ((): List | undefined => {
      if (isNewest) {
        // An agent ends the slow turn first: then the same message is another one.
        if (next === "resend" && !(isAgent && how !== "hang-up")) return list;
        const open: List = [...list, { ...part, isOptional: true }];
        if (next !== "leave" || how !== "hang-up") return [...open, this.#say()];
        this.shown = open;
        return undefined;
      }
      const goesOn = next === "go-on" && partial !== "";
      // An agent ends the slow turn first, and then one message alone is said again.
      if (of.naming === "session" && isFirst && isAgent && how === "slow" && !goesOn) return undefined;
      // With a session id, one message alone is the newest one of a client that sends no more.
      if (next === "resend" || (of.naming === "session" && isFirst && !goesOn)) return list;
      if (next === "leave") {
        this.left = list;
        return undefined;
      }
      return goesOn ? [...list, part, this.#say()] : [...shown, this.#say()];
    })();
    const nextKey = following === list ? key : this.#newKey();
    const answered = following && this.#ask(following, how === "stop" ? 1 - number : other, nextKey);
    // An agent answers one request of a chat after the other.
    const slowMs = how === "stop" ? processes?.stoppedMs : isAgent && how === "slow" ? 200 : 2_000;
    try {
      if (answered !== undefined) await Promise.race([answered, sleep(slowMs)]);
    } finally {
      until.open();
      if (how === "stop") await processes?.signal(number, "SIGCONT");
    }
    await answered;
    const late = await request.done;
    if (late !== undefined && following === undefined) this.#answer(list, late); // it only had to wait
  }

  /** `done`: the whole reply, or undefined. */
  private send(list: List, number: number, key: string | undefined) {
    const stop = new AbortController();
    const brief = list.map(({ text }) => text.split(/[ .]/, 1)[0]).join(" ");
    const said = { text: "" };
    this.trace.push(`gateway ${number} <- ${brief}${key === undefined ? "" : ` (${key})`}`);
    const done = this.#fetch(list, number, key, stop.signal, said).then(
      (text) => {
        if (text === undefined || stop.signal.aborted) return undefined;
        this.trace.push(`gateway ${number} -> ${text.split(" ", 1)[0]} for ${brief}`);
        this.answered += 1;
        for (const each of [list.at(-1)?.text ?? "", text]) this.acknowledged.add(each);
        return text;
      },
      (cause: unknown) => {
        if (stop.signal.aborted || cause instanceof TypeError) return undefined; // `fetch failed`, `terminated`
        throw cause;
      },
    );
    return { done, text: () => said.text, hangUp: () => stop.abort() };
  }

  async #fetch(
    list: List,
    number: number,
    key: string | undefined,
    signal: AbortSignal,
    said: { text: string },
  ): Promise<string | undefined> {
    const { mode, naming, wire, isStream } = this.variant;
    const hasSession = naming === "session" || naming === "newest";
    const messages = list
      .slice(naming === "newest" ? -1 : 0)
      .map(({ role, text }) => ({ role, content: text }));
    const response = await fetch(`${await this.world.url(number)}/${mode}/v1/${PATHS[wire]}`, {
      method: "POST",
      signal,
      headers: {
        "content-type": "application/json",
        "x-hermes-user-id": this.user,
        ...access(this.world.home),
        ...(naming === "client" && { "x-openwebui-chat-id": `chat of ${this.user}` }),
        ...(hasSession && { "x-hermes-session-id": `of-${this.user}` }),
        ...(key !== undefined && { "idempotency-key": key }),
      },
      body: JSON.stringify({
        model: "hermes",
        stream: isStream,
        [wire === "responses" ? "input" : "messages"]: messages,
        ...(wire === "messages" && { max_tokens: 1_000 }),
      }),
    });
    const decoder = new TextDecoder();
    let raw = "";
    for await (const chunk of response.body ?? []) {
      raw += decoder.decode(chunk, { stream: true });
      if (!isStream || !response.ok || said.text.includes(END)) continue;
      const events = eventsIn(raw.slice(0, raw.lastIndexOf("\n\n") + 2));
      said.text = events.map((event) => DELTAS[wire](event) ?? "").join("");
      if (said.text.includes(END)) this.world.onAlmostWhole?.();
    }
    if (BUSY.has(response.status)) return undefined;
    if (!response.ok) throw new Error(`${response.status} ${raw}`);
    if (isStream) return raw.includes(LAST[wire]) && said.text.includes(END) ? said.text : undefined;
    return raw.match(WHOLE)?.[0];
  }
}

// biome-ignore lint/suspicious/noExplicitAny: events of three vendors
const DELTAS: Record<WireName, (event: any) => string | undefined> = {
  chat: ({ choices }) => choices?.[0]?.delta?.content,
  messages: ({ delta }) => delta?.text,
  responses: ({ type, delta }) => (type === "response.output_text.delta" ? delta : undefined),
};

// ---- What is stored ----

type Kind = "lost" | "doubled" | "out-of-order" | "second-session" | "stray" | "failed";
type Violation = { readonly kind: Kind; readonly shown: string; readonly stored: string };
type Row = {
  readonly session_id: string;
  readonly role: string;
  readonly text: string;
  readonly active: 0 | 1;
};

/** Undefined: the chat is in one session, whose visible rows are what the client shows, and all acknowledged texts are somewhere. */
export function violationOf({ user, shown, left, acknowledged, world }: Chat): Violation | undefined {
  using db = new DatabaseSync(join(world.home, "state.db"), { readOnly: true });
  const rows = db
    .prepare(
      `SELECT m.session_id, m.role, m.content AS text, m.active FROM messages m JOIN sessions s ON s.id = m.session_id
       WHERE s.user_id = ? AND m.role IN ('user', 'assistant') AND m.content <> '' ORDER BY m.id`,
    )
    .all(user) as Row[];
  const wanted = shown.flatMap(({ text, isOptional }) => (isOptional ? [] : [text]));
  const active = rows.filter((row) => row.active === 1);
  const sessionsOf = (texts: readonly string[]): ReadonlySet<string> =>
    new Set(active.flatMap(({ session_id, text }) => (texts.includes(text) ? [session_id] : [])));
  const found = sessionsOf(wanted);
  const isIn = found.size > 0 ? found : sessionsOf((left ?? []).map(({ text }) => text));
  const visible = active.filter(({ session_id }) => isIn.has(session_id));
  const stored = visible.map(({ text }) => text);
  const told = (kind: Kind, texts: readonly string[] = shown.map(({ text }) => text)): Violation => {
    const brief = (each: string): string => each.replace(/( to Q\d+\.).*end\.$|\. What now\?$/, "$1");
    const [ours, theirs] = [texts, stored].map((each) => each.map(brief).join(" | "));
    return { kind, shown: ours ?? "", stored: theirs ?? "" };
  };
  const gone = [...acknowledged].filter((text) => !rows.some((row) => row.text === text));
  if (gone.length > 0) return told("lost", ["in some row:", ...gone]);
  if (isIn.size > 1) return told("second-session");
  const tail: Said = { role: "assistant", text: "", isOptional: true };
  if (shown.length === 0 || fits(shown, visible) || (left && fits([...left, tail], visible)))
    return undefined;
  const count = (text: string, list: readonly string[]): number =>
    list.filter((each) => each === text).length;
  if (wanted.some((text) => count(text, stored) < count(text, wanted))) return told("lost");
  if (stored.some((text) => count(text, stored) > Math.max(1, count(text, wanted)))) return told("doubled");
  const known = [...wanted, ...(left ?? []).map(({ text }) => text)];
  return told(stored.every((text) => known.includes(text)) ? "out-of-order" : "stray");
}

function fits([first, ...said]: List, rows: readonly Row[]): boolean {
  if (first === undefined) return rows.length === 0;
  if (first.isOptional && fits(said, rows)) return true;
  const [row, ...others] = rows;
  const isIt = first.isOptional || row?.text.trimEnd() === first.text.trimEnd();
  return isIt && row?.role === first.role && fits(said, others);
}

// ---- Many histories ----

type Played = { readonly chat: Chat; readonly operations: number; readonly violation: Violation | undefined };

/** Up to the first violation. */
async function play(world: World, { variant: of, ops }: History): Promise<Played> {
  const chat = new Chat(world, of);
  for (const [at, each] of ops.entries()) {
    const operations = at + 1;
    try {
      await chat.play(each);
    } catch (cause) {
      return { chat, operations, violation: { kind: "failed", shown: "an answer", stored: String(cause) } };
    }
    if (operations === ops.length) await sleep(150); // for what comes late
    // A request that was broken off may still be on its way into the database.
    for (let waits = 0; waits < 20 && violationOf(chat) !== undefined; waits += 1) await sleep(50);
    const violation = violationOf(chat);
    if (violation !== undefined) return { chat, operations, violation };
  }
  return { chat, operations: ops.length, violation: undefined };
}

/** Leaves out operations without which it still happens. Not among processes, where that would take minutes. */
async function exampleOf(world: World, { variant: of, ops: all }: History, first: Played): Promise<string> {
  let [ops, played] = [all.slice(0, first.operations), first];
  for (let at = ops.length - 2; at >= 0 && world.processes === undefined; at -= 1) {
    const fewer = ops.toSpliced(at, 1);
    const again = await play(world, { variant: of, ops: fewer });
    if (again.violation?.kind === first.violation?.kind)
      [ops, played] = [fewer.slice(0, again.operations), again];
  }
  const { kind, shown, stored } = played.violation ?? {};
  const lines = [
    JSON.stringify({ variant: of, ops }),
    ...played.chat.trace,
    `shown:  ${shown}`,
    `stored: ${stored}`,
  ];
  return `${kind}: ${lines.join("\n  ")}`;
}

/** Prints one JSON line. Fails with the first violation of each kind, mode and naming. */
export async function expectNoViolation(
  world: World,
  { seed, histories, most }: { readonly seed: number; readonly histories: number; readonly most: number },
): Promise<void> {
  const ofWorld = op.filter(({ how }) => world.processes !== undefined || (how !== "kill" && how !== "stop"));
  const ops = fc.array(ofWorld, { minLength: 3, maxLength: most, size: "max" });
  const total = { operations: 0, answered: 0, violations: {} as Record<string, number> };
  const examples: string[] = [];
  const given = fc.sample(fc.record({ variant, ops }), { seed, numRuns: histories });
  const playRest = async (): Promise<void> => {
    for (let history = given.shift(); history !== undefined; history = given.shift()) {
      const played = await play(world, history);
      total.operations += played.operations;
      total.answered += played.chat.answered;
      if (played.violation === undefined) continue;
      const name = `${played.violation.kind} (${history.variant.mode}, ${history.variant.naming})`;
      total.violations[name] = (total.violations[name] ?? 0) + 1;
      if (total.violations[name] === 1) examples.push(await exampleOf(world, history, played));
    }
  };
  const atOnce = world.processes === undefined ? 4 : 1; // a kill is part of one history
  await Promise.all(Array.from({ length: atOnce }, playRest));
  console.log(JSON.stringify({ histories, seed, ...total }));
  expect(total.violations, `seed ${seed}\n${examples.join("\n\n")}`).toEqual({});
}
