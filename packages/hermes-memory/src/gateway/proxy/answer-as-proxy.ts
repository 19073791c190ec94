// Proxy mode, the story of one request: choose the model's server, let memory say what to insert, forward the client's own body with these
// insertions, and relay the answer as it comes. The reply is read along and stored before the bytes that end it are sent. A model that
// speaks another protocol is asked by translation.
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { openModel } from "@hermes-memory/agent/internal/models";
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import { isRecord, parseOutsideJson } from "@hermes-memory/core/internal/lib";
import type { UserMemory } from "@hermes-memory/core/internal/memory";
import { type Message, newMessage, textOf, withMeta } from "@hermes-memory/core/internal/message";
import { estimatedTokens } from "../count-tokens.ts";
import { type Answer, type Gateway, type JsonObject, type ModelTurn, ProblemError } from "../types.ts";
import { usageFacts } from "../usage-facts.ts";
import { isOwnReplyId } from "../wires/responses.ts";
import { SseEvents, sseEvent } from "../wires/sse.ts";
import type { ReplyReader, WireName } from "../wires/wire.ts";
import { responseMark } from "./chain.ts";
import {
  type HiddenCall,
  mergedReply,
  type Round,
  type RoundResult,
  resultItems,
  resultMessages,
} from "./hidden-tools.ts";
import { type Insertions, insert, NOTHING } from "./insert.ts";
import { repeatedKey } from "./json-text.ts";
import { type OwnTools, offeredTools, runCalls } from "./own-tools.ts";
import { translate } from "./translate.ts";
import { openTurnMemory, type ToldReply, type TurnMemory } from "./turn-memory.ts";
import {
  chooseUpstream,
  requestHeaders,
  responseHeaders,
  type Upstream,
  UpstreamConnections,
  type UpstreamReply,
} from "./upstream.ts";

export type ProxyDeps = {
  /** Opens a model that is asked by translation. */
  readonly openModel?: typeof openModel;
};

export interface ProxyMode {
  readonly answer: Answer;
  /** Without memory, recall, tools and storage. Also for agent mode. */
  readonly answerAuxiliary: Answer;
  /** `/v1/messages/count_tokens`: the vendor's number, or an estimate. */
  readonly countTokens: Answer;
  close(): void;
}

/** So often a model may be asked again after calls of our tools. */
const MOST_ROUNDS = 8;
const MOST_WITHOUT_TOOLS = 1_000;

type Proxy = {
  readonly connections: UpstreamConnections;
  readonly open: typeof openModel;
  /** Servers and models that refused a request because of our tools. */
  readonly withoutTools: Set<string>;
};

export function createProxyMode(gateway: Gateway, deps: ProxyDeps = {}): ProxyMode {
  const connections = new UpstreamConnections(gateway.env);
  const proxy: Proxy = { connections, open: deps.openModel ?? openModel, withoutTools: new Set() };
  return {
    answer: (turn) => answerAsProxy(proxy, turn),
    answerAuxiliary: (turn) => answerAuxiliary(proxy, turn),
    countTokens: (turn) => countTokens(proxy, turn),
    close: () => connections.close(),
  };
}

async function answerAsProxy(proxy: Proxy, turn: ModelTurn): Promise<Response> {
  const config = await configOf(turn);
  const upstream = upstreamOf(turn, config);
  await refuseOthersState(turn, upstream);
  if (upstream.url === undefined)
    return translate(turn, {
      model: await proxy.open(upstream.chosen, { log: turn.gateway.log }),
      openMemory: () => openTurnMemory(turn, { config, hiddenTools: [] }),
    });
  const key = `${upstream.url} ${upstream.chosen.model}`;
  const tools = proxy.withoutTools.has(key) ? undefined : await offeredTools(turn, config);
  const hiddenTools = tools?.names ?? [];
  const memory = await openTurnMemory(turn, { config, hiddenTools });
  const forwarding = new Forwarding(proxy, turn, { upstream, memory, tools });
  return forwarding.answer(() => {
    if (proxy.withoutTools.size >= MOST_WITHOUT_TOOLS) proxy.withoutTools.clear(); // clients choose the names
    proxy.withoutTools.add(key);
  });
}

async function answerAuxiliary(proxy: Proxy, turn: ModelTurn): Promise<Response> {
  const upstream = upstreamOf(turn, await configOf(turn));
  await refuseOthersState(turn, upstream);
  if (upstream.url === undefined)
    return translate(turn, { model: await proxy.open(upstream.chosen, { log: turn.gateway.log }) });
  return new Forwarding(proxy, turn, { upstream, memory: undefined, tools: undefined }).answer(() => {});
}

async function countTokens(proxy: Proxy, turn: ModelTurn): Promise<Response> {
  const config = await configOf(turn);
  let upstream: Upstream | undefined;
  try {
    upstream = upstreamOf(turn, config);
  } catch (cause) {
    if (!(cause instanceof ProblemError)) throw cause; // without a model there is still an estimate
  }
  if (upstream?.url !== undefined) {
    const url = `${upstream.url}/count_tokens`;
    const headers = requestHeaders(turn, upstream);
    const body = insert(turn.wire.name, bodyText(turn), { ...NOTHING, model: otherName(turn, upstream) });
    const sent = await proxy.connections.send(url, { headers, body, signal: turn.signal });
    const reply = await withoutKey(sent, upstream);
    if (reply.status !== 404 && reply.status !== 405) return relayedAsIs(reply, {});
    reply.body.destroy(); // a compatible server without this path
  }
  return Response.json({ input_tokens: estimatedTokens(turn.request) });
}

function upstreamOf(turn: ModelTurn, config: HermesConfig): Upstream {
  const { wire, request, gateway, clientCredential } = turn;
  const { model } = request;
  return chooseUpstream({ wire: wire.name, model, config, env: gateway.env, clientCredential });
}

/**
 * The vendor keeps responses and conversations by key, and under our key those of all persons: whoever knows an id could go on from it and
 * have the model repeat what another one said. So a user may name responses that this gateway gave to them, and the owner any that it gave
 * to nobody else.
 */
async function refuseOthersState(turn: ModelTurn, { isClientsKey }: Upstream): Promise<void> {
  const { wire, body, memory, identity, gateway } = turn;
  if (wire.name !== "responses" || isClientsKey) return;
  const { previous_response_id: previous, conversation } = body;
  const twice = repeatedKey(bodyText(turn), ["previous_response_id", "conversation"]);
  if (twice !== undefined)
    throw new ProblemError({
      status: 400,
      code: "bad-json",
      message: `The body has the field '${twice}' more than once.`,
      param: twice,
    });
  const isOwner = identity.user === undefined;
  const named = isRecord(conversation) ? conversation.id : conversation;
  if (!isOwner && typeof named === "string" && named.startsWith("conv_"))
    throw new ProblemError({
      status: 404,
      code: "conversation_not_found",
      message: "This user has no conversation of this id at the model's vendor.",
      hint: "Send the whole conversation in 'input', or name it in X-Hermes-Session-Id.",
      param: "conversation",
    });
  const isIn = async (person: typeof memory.layers, id: string): Promise<boolean> =>
    Boolean(await (await person.sessions({ mode: "read" }))?.findMark([responseMark(id)]));
  const isOpenTo = async (id: string): Promise<boolean> => {
    if (await isIn(memory.layers, id)) return true;
    // An id that this gateway made up means nothing to the vendor.
    if (!isOwner || isOwnReplyId(id)) return false;
    const known = await Promise.all((await everybodyIn(gateway)).map((person) => isIn(person, id)));
    return !known.includes(true);
  };
  if (typeof previous === "string" && !(await isOpenTo(previous)))
    throw new ProblemError({
      status: 404,
      code: "previous_response_not_found",
      message: "This gateway gave this user no response with the id in 'previous_response_id'.",
      hint: "Send the whole conversation in 'input', or the id of a response that this user got from this gateway.",
      param: "previous_response_id",
    });
  for (const id of referencedItems(body))
    if (!(await isOpenTo(id)))
      throw new ProblemError({
        status: 404,
        code: "item_not_found",
        message:
          "An 'item_reference' of the input names an item that this gateway did not give to this user.",
        hint: "Send the items themselves in 'input'.",
        param: "input",
      });
}

function referencedItems({ input }: JsonObject): ReadonlySet<string> {
  const items = Array.isArray(input) ? input.filter(isRecord) : [];
  // Vendors take an item that has an id and nothing else for a reference.
  const isReference = (item: JsonObject): boolean =>
    item.type === "item_reference" || (item.type === undefined && item.role === undefined);
  return new Set(
    items.flatMap((item) => (isReference(item) && typeof item.id === "string" ? [item.id] : [])),
  );
}

/** All persons of the served home, and of the profiles that users are mapped to. */
async function everybodyIn(gateway: Gateway): Promise<readonly UserMemory["layers"][]> {
  const { identityProfiles } = (await gateway.config()).gateway;
  const profiles = Object.values(identityProfiles).filter((name) => typeof name === "string");
  return [undefined, ...new Set(profiles)].flatMap((profile) => {
    try {
      return [gateway.memory(profile).administration.administrator];
    } catch {
      return []; // there is no such profile, so nobody uses it
    }
  });
}

/** A profile has its own model; the settings of the gateway are those of the served home. */
async function configOf({ gateway, identity, memory }: ModelTurn): Promise<HermesConfig> {
  const served = await gateway.config();
  if (identity.profile === undefined) return served;
  return { ...(await memory.layers.memory.config()), gateway: served.gateway };
}

function bodyText({ rawBody }: ModelTurn): string {
  return new TextDecoder().decode(rawBody);
}

function otherName({ request }: ModelTurn, { chosen }: Upstream): string | undefined {
  return chosen.model === request.model ? undefined : chosen.model;
}

// ---- One request on the same wire ----

type Parts = {
  readonly upstream: Upstream;
  /** Undefined: an auxiliary request. */
  readonly memory: TurnMemory | undefined;
  readonly tools: OwnTools | undefined;
};

class Forwarding {
  readonly #proxy: Proxy;
  readonly #turn: ModelTurn;
  readonly #upstream: Upstream;
  readonly #memory: TurnMemory | undefined;
  #tools: OwnTools | undefined;
  readonly #text: string;
  /** Stops the model when nobody reads its reply any more. */
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  // Hidden rounds of this turn
  readonly #before: string[] = [];
  readonly #shown: string[] = [];
  readonly #hidden: Message[] = [];
  readonly #responseIds: string[] = [];
  readonly #itemIds: string[] = [];
  #shownText = "";

  constructor(proxy: Proxy, turn: ModelTurn, { upstream, memory, tools }: Parts) {
    this.#proxy = proxy;
    this.#turn = turn;
    this.#upstream = upstream;
    this.#memory = memory;
    this.#tools = tools;
    this.#text = bodyText(turn);
    this.#signal = AbortSignal.any([turn.signal, this.#stop.signal]);
  }

  async answer(onRefusedTools: () => void): Promise<Response> {
    let reply = await this.#ask();
    if (reply.status === 400 && this.#tools !== undefined && !hasTools(this.#turn.body)) {
      const refusal = await wholeBody(reply, MOST_ERROR_BYTES);
      if (!/tool|function/i.test(refusal.toString("utf8")))
        return new Response(refusal, { status: reply.status, headers: this.#headers(reply) });
      // A local model that knows no tools: the client asked for none.
      this.#tools = undefined;
      reply = await this.#ask();
      // Kept for all users only if it was because of the tools: anybody can send a request that is refused.
      if (reply.status >= 200 && reply.status <= 299) onRefusedTools();
    }
    if (reply.status < 200 || reply.status > 299) return relayedAsIs(reply, this.#ownHeaders());
    const isStream = /\btext\/event-stream\b/i.test(reply.headers.get("content-type") ?? "");
    const { status } = reply;
    const headers = this.#headers(reply);
    if (this.#tools === undefined)
      return new Response(this.#stream(this.#relay(reply, isStream)), { status, headers });
    if (isStream)
      return new Response(this.#stream(this.#relayRounds(reply, this.#tools)), { status, headers });
    return this.#wholeRounds(reply, this.#tools);
  }

  async #ask(): Promise<UpstreamReply> {
    const { wire, identity } = this.#turn;
    const insertions: Insertions = {
      ...(this.#memory?.insertions ?? NOTHING),
      tools: this.#tools?.definitions ?? [],
      appended: this.#before,
      model: otherName(this.#turn, this.#upstream),
    };
    const isBlockMessage = identity.client === "codex";
    const body = insert(wire.name, this.#text, insertions, { isBlockMessage });
    const headers = requestHeaders(this.#turn, this.#upstream);
    const { url = "" } = this.#upstream;
    const address = url + (this.#turn.query ?? "");
    this.#turn.prepared?.();
    const reply = await this.#proxy.connections.send(address, { headers, body, signal: this.#signal });
    return withoutKey(reply, this.#upstream);
  }

  #headers(reply: UpstreamReply): Headers {
    const headers = responseHeaders(reply.headers);
    for (const [name, value] of Object.entries(this.#ownHeaders())) headers.set(name, value);
    return headers;
  }

  #ownHeaders(): Readonly<Record<string, string>> {
    const { sessionId, notices = [] } = this.#memory ?? {};
    return {
      ...(sessionId === undefined ? {} : { "x-hermes-session-id": headerText(sessionId) }),
      ...(notices.length === 0 ? {} : { "x-hermes-notice": headerText(notices.join(" ")) }),
    };
  }

  /** Read as fast as the client reads. If it stops, so does the model. */
  #stream(pieces: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
    const stop = this.#stop;
    // Also when nobody cancels the stream: what came so far is stored.
    this.#turn.signal.addEventListener("abort", () => void pieces.return().catch(() => {}), { once: true });
    return new ReadableStream(
      {
        async pull(controller) {
          const next = await pieces.next();
          if (next.done) controller.close();
          else controller.enqueue(next.value);
        },
        async cancel() {
          stop.abort(new DOMException("The client closed the connection.", "AbortError"));
          await pieces.return();
        },
      },
      { highWaterMark: 0 },
    );
  }

  // ---- Without our tools: the bytes as they are ----

  async *#relay(reply: UpstreamReply, isStream: boolean): AsyncGenerator<Uint8Array, void> {
    const reader = this.#turn.wire.reader(isStream);
    const held: Uint8Array[] = [];
    let isStored = false;
    const store = async (): Promise<void> => {
      if (isStored) return;
      isStored = true;
      const read = reader.end();
      await this.#store(read, undefined, read === undefined ? "" : textOf(read.message.content));
    };
    try {
      for await (const chunk of untilEnd(reply.body, () => reader.isEnding)) {
        reader.push(chunk);
        if (reader.isEnding) held.push(chunk);
        else yield chunk;
      }
    } catch (cause) {
      await store();
      if (held.length === 0) throw brokenOff(cause, this.#signal); // the client learns it by the broken connection
    } finally {
      await store();
    }
    yield* held;
  }

  // ---- With our tools ----

  async *#relayRounds(first: UpstreamReply, tools: OwnTools): AsyncGenerator<Uint8Array, void> {
    const { wire, body } = this.#turn;
    const merged = mergedReply(wire.name, tools.isOurs, body.store === false);
    let reply = first;
    let reader = wire.reader(true);
    let isStored = false;
    const store = async (round: Round, results: readonly RoundResult[]): Promise<void> => {
      if (isStored) return;
      isStored = true;
      this.#shownText += round.text;
      if (round.responseId !== undefined) this.#responseIds.push(round.responseId);
      await this.#store(reader.end(), { round, results }, this.#shownText);
    };
    try {
      for (let count = 1; ; count += 1) {
        const events = new SseEvents();
        for await (const chunk of untilEnd(reply.body, () => reader.isEnding)) {
          reader.push(chunk);
          for (const event of events.push(chunk)) yield* merged.push(event);
        }
        const rest = events.end();
        if (rest !== undefined) yield* merged.push(rest);
        const round = merged.round();
        const isLast = round.hidden.length === 0 || round.isFailed || count === MOST_ROUNDS;
        const results = isLast ? [] : await this.#run(round.hidden, tools);
        if (isLast || round.handedBack.length > 0) {
          await store(round, results);
          yield* merged.ending(isLast && round.hidden.length > 0);
          return;
        }
        this.#keepRound(round, results, reader);
        merged.next();
        reader = wire.reader(true);
        reply = await this.#ask();
        if (reply.status !== 200) {
          const refusal = await wholeBody(reply, MOST_ERROR_BYTES);
          await store(merged.round(), []);
          yield errorEvent(wire.name, refusal);
          return;
        }
      }
    } catch (cause) {
      await store(merged.round(), []);
      throw brokenOff(cause, this.#signal);
    } finally {
      await store(merged.round(), []);
    }
  }

  async #wholeRounds(first: UpstreamReply, tools: OwnTools): Promise<Response> {
    const { wire, body } = this.#turn;
    const merged = mergedReply(wire.name, tools.isOurs, body.store === false);
    let reply = first;
    for (let count = 1; ; count += 1) {
      const reader = wire.reader(false);
      const bytes = await wholeBody(reply, MOST_REPLY_BYTES);
      reader.push(bytes);
      const parsed = parseOutsideJson(bytes.toString("utf8"), { maxChars: MOST_REPLY_BYTES });
      const { status } = reply;
      const headers = this.#headers(reply);
      if (status !== 200 || !parsed.ok || !isRecord(parsed.value))
        return new Response(bytes, { status, headers });
      merged.whole(parsed.value);
      const round = merged.round();
      const isLast = round.hidden.length === 0 || round.isFailed || count === MOST_ROUNDS;
      const results = isLast ? [] : await this.#run(round.hidden, tools);
      if (isLast || round.handedBack.length > 0) {
        this.#shownText += round.text;
        if (round.responseId !== undefined) this.#responseIds.push(round.responseId);
        await this.#store(reader.end(), { round, results }, this.#shownText);
        if (count === 1 && round.hidden.length === 0) return new Response(bytes, { status, headers });
        return new Response(JSON.stringify(merged.merged(isLast && round.hidden.length > 0)), {
          status,
          headers,
        });
      }
      this.#keepRound(round, results, reader);
      merged.next();
      reply = await this.#ask();
    }
  }

  #run(calls: readonly HiddenCall[], tools: OwnTools): Promise<readonly RoundResult[]> {
    const { sessionId = "" } = this.#memory ?? {};
    return runCalls(calls, tools, { sessionId, messages: this.#turn.request.messages, signal: this.#signal });
  }

  #keepRound(round: Round, results: readonly RoundResult[], reader: ReplyReader): void {
    const { wire } = this.#turn;
    this.#before.push(...round.items, ...resultMessages(wire.name, results));
    this.#shown.push(...round.shown);
    this.#shownText += round.text;
    if (round.responseId !== undefined) this.#responseIds.push(round.responseId);
    const read = reader.end();
    this.#turn.annotate?.(usageFacts(read?.usage));
    this.#itemIds.push(...(read?.itemIds ?? []));
    if (read !== undefined) this.#hidden.push(read.message, ...toolMessages(round, results));
  }

  /** Never rejects: the reply is the client's, whether it can be stored or not. */
  async #store(
    read: ReturnType<ReplyReader["end"]>,
    lastRound: { readonly round: Round; readonly results: readonly RoundResult[] } | undefined,
    shownText: string,
  ): Promise<void> {
    this.#turn.annotate?.(usageFacts(read?.usage));
    if (this.#memory === undefined) return;
    const { round, results = [] } = lastRound ?? {};
    const hiddenIds = new Set(round?.hidden.map(({ id }) => id));
    const answered = new Set(results.map(({ id }) => id));
    const last = read && asStored(read.message, read.finish, (id) => !hiddenIds.has(id) || answered.has(id));
    const { wire } = this.#turn;
    const isHidden = this.#before.length > 0 || results.length > 0;
    const reply: ToldReply = {
      hidden:
        results.length === 0 || last === undefined || round === undefined
          ? this.#hidden
          : [...this.#hidden, last, ...toolMessages(round, results)],
      last: results.length > 0 ? undefined : last,
      shownText,
      handedBack: round?.handedBack ?? callIds(last),
      rounds: isHidden
        ? {
            before: this.#before,
            shown: this.#shown,
            calls: results.length === 0 ? [] : (round?.hidden ?? []).map(({ item }) => item),
            results: resultItems(wire.name, results),
          }
        : undefined,
      responseIds:
        this.#responseIds.length > 0 || read?.responseId === undefined
          ? this.#responseIds
          : [read.responseId],
      itemIds: [...this.#itemIds, ...(read?.itemIds ?? [])],
    };
    try {
      await this.#memory.storeReply(reply);
    } catch (cause) {
      this.#turn.gateway.log.error("Proxy: a reply could not be stored", { cause });
    }
  }
}

function callIds(message: Message | undefined): readonly string[] {
  return message?.role === "assistant" ? message.toolCalls.map(({ id }) => id) : [];
}

/** Without calls that nobody answers, and with the reason why it ended if it broke off. */
function asStored(message: Message, finish: string, isKept: (id: string) => boolean): Message {
  const ended = finish === "interrupted" ? withMeta(message, { finishReason: "interrupted" }) : message;
  if (ended.role !== "assistant") return ended;
  return { ...ended, toolCalls: ended.toolCalls.filter(({ id }) => isKept(id)) };
}

function toolMessages({ hidden }: Round, results: readonly RoundResult[]): readonly Message[] {
  return results.map(({ id, text, isError }) =>
    newMessage(
      { role: "tool", content: text, toolCallId: id, toolName: hidden.find((call) => call.id === id)?.name },
      isError ? { finishReason: "error-text" } : {},
    ),
  );
}

function hasTools({ tools, functions }: JsonObject): boolean {
  return [tools, functions].some((list) => Array.isArray(list) && list.length > 0);
}

// ---- Bytes ----

const MOST_ERROR_BYTES = 1024 * 1024;
const MOST_REPLY_BYTES = 64 * 1024 * 1024;
/** Servers send usage after the end, and close the connection. One that does not is not waited for. */
const AFTER_END_MS = 1_000;

async function* untilEnd(
  body: AsyncIterable<Uint8Array>,
  isEnding: () => boolean,
): AsyncGenerator<Uint8Array, void> {
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await (isEnding() ? orNothing(chunks.next()) : chunks.next());
      if (step === undefined || step.done) return;
      yield step.value;
    }
  } finally {
    await chunks.return?.();
  }
}

/** Undefined after `AFTER_END_MS`. */
async function orNothing<T>(next: Promise<T>): Promise<T | undefined> {
  next.catch(() => {}); // it may lose the race
  const wait = new AbortController();
  try {
    const late = sleep(AFTER_END_MS, undefined, { signal: wait.signal }).catch(() => undefined);
    return await Promise.race([next, late]);
  } finally {
    wait.abort();
  }
}

async function wholeBody({ body }: UpstreamReply, limit: number): Promise<Buffer<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    pieces.push(chunk);
    length += chunk.length;
    if (length > limit) break;
  }
  return Buffer.concat(pieces) as Buffer<ArrayBuffer>;
}

/** Servers quote the key that they refuse. Ours is no business of the client. */
async function withoutKey(reply: UpstreamReply, { chosen, isClientsKey }: Upstream): Promise<UpstreamReply> {
  const isReply = reply.status >= 200 && reply.status <= 299;
  if (isReply || isClientsKey || chosen.apiKey === "") return reply;
  const bytes = await wholeBody(reply, MOST_ERROR_BYTES);
  const isQuoted = bytes.includes(chosen.apiKey);
  const said = isQuoted ? Buffer.from(bytes.toString("utf8").replaceAll(chosen.apiKey, "***")) : bytes;
  const headers = new Headers();
  for (const [name, value] of reply.headers) headers.append(name, value.replaceAll(chosen.apiKey, "***"));
  return { status: reply.status, headers, body: Readable.from([said]) };
}

/** An answer that is no reply: an error of the vendor, in the vendor's words. */
function relayedAsIs(reply: UpstreamReply, own: Readonly<Record<string, string>>): Response {
  const headers = responseHeaders(reply.headers);
  for (const [name, value] of Object.entries(own)) headers.set(name, value);
  const chunks = (reply.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await chunks.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await chunks.return?.();
    },
  });
  const isBodiless = reply.status === 204 || reply.status === 304;
  return new Response(isBodiless ? null : stream, { status: reply.status, headers });
}

/** A later round was refused after the client had been sent the beginning. */
function errorEvent(wire: WireName, refusal: Buffer): Uint8Array {
  const parsed = parseOutsideJson(refusal.toString("utf8"));
  const body =
    parsed.ok && isRecord(parsed.value) ? parsed.value : { error: { message: "The model's server failed." } };
  const error = isRecord(body.error) ? body.error : {};
  const data = wire === "responses" ? { type: "error", code: null, param: null, ...error } : body;
  return Buffer.from(sseEvent(data, wire === "chat" ? undefined : "error"));
}

function brokenOff(cause: unknown, signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : cause;
}

/** One line of ASCII. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, " ").slice(0, 1_000);
}
