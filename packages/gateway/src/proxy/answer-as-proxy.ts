// Proxy mode, the story of one request: choose the model's server, let memory say what to insert, forward the client's own body with these
// insertions, and relay the answer as it comes. The reply is read along and stored before the bytes that end it are sent. A model that
// speaks another protocol is asked by translation.
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { classifyFailure, openModel } from "@hermes-memory/agent/internal/models";
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { type Message, newMessage, withMeta } from "@hermes-memory/core/internal/message";
import { admit, charge, estimatedTokens, MODEL_NOT_ALLOWED, refuseModel } from "../allowance.ts";
import { servedHomes } from "../gateway.ts";
import { forUsers } from "../problem.ts";
import { type Gateway, type JsonObject, type ModelTurn, ProblemError, refused } from "../types.ts";
import { hermesField, hermesHeaders, recordsIn } from "../wires/fields.ts";
import type { ReadReply } from "../wires/read-reply.ts";
import { isOwnReplyId, ownReply } from "../wires/responses.ts";
import { sseEvent } from "../wires/sse.ts";
import type { ReplyMetadata, WireName } from "../wires/wire.ts";
import { responseMark, UNKNOWN_RESPONSE } from "./chain.ts";
import { mergedReply, type Round, type RoundResult, resultItems, resultMessages } from "./hidden-tools.ts";
import { type Insertions, insert, NOTHING } from "./insert.ts";
import { type OwnTools, offeredTools, runCalls } from "./own-tools.ts";
import { cleanBody, cleanEvents, recordIn } from "./scrub-reply.ts";
import { problemOf, translate } from "./translate.ts";
import { openTurnMemory, readTurnMemory, type ToldReply, type TurnMemory } from "./turn-memory.ts";
import {
  chooseUpstream,
  isOwnModelName,
  isUsersRequest,
  requestHeaders,
  responseHeaders,
  type Upstream,
  UpstreamConnections,
  type UpstreamReply,
} from "./upstream.ts";
import { isReference, refuseForUsers, SHOWN_HEADERS, withoutAccount } from "./users-may.ts";

export type ProxyMode = ReturnType<typeof createProxyMode>;

/** So often a model may be asked again after calls of our tools. */
const MOST_ROUNDS = 8;
const MOST_WITHOUT_TOOLS = 1_000;

type Proxy = {
  readonly connections: UpstreamConnections;
  /** Servers and models that refused a request because of our tools. */
  readonly withoutTools: Set<string>;
};

export function createProxyMode(gateway: Gateway) {
  const connections = new UpstreamConnections(gateway.env);
  const proxy: Proxy = { connections, withoutTools: new Set() };
  return {
    answer: (turn: ModelTurn) => answer(proxy, turn, false),
    /** Stores nothing. With what earlier requests of its chat had, if it has one; without tools. Also for agent mode. */
    answerAuxiliary: (turn: ModelTurn) => answer(proxy, turn, true),
    /** `/v1/messages/count_tokens`: the vendor's number, or an estimate. */
    countTokens: (turn: ModelTurn) => countTokens(proxy, turn),
    close: () => connections.close(),
  };
}

async function answer(proxy: Proxy, turn: ModelTurn, isAuxiliary: boolean): Promise<Response> {
  const config = await configOf(turn);
  const upstream = upstreamOf(turn, config);
  await refuseOthersState(turn, upstream);
  if (!upstream.isClientsKey) await admit(turn);
  const openMemory = (hiddenTools: readonly string[] = []): Promise<TurnMemory> =>
    isAuxiliary ? readTurnMemory(turn) : openTurnMemory(turn, { config, hiddenTools });
  if (upstream.url === undefined) {
    const model = await openModel(upstream.chosen, { log: turn.gateway.log });
    return translate(turn, { model, openMemory });
  }
  const key = `${upstream.url} ${upstream.chosen.model}`;
  const isOffered = !isAuxiliary && !proxy.withoutTools.has(key);
  const tools = isOffered ? await offeredTools(turn, config) : undefined;
  const memory = await openMemory(tools?.names);
  return new Forwarding(proxy, turn, { upstream, memory, tools }).answer(() => {
    if (proxy.withoutTools.size >= MOST_WITHOUT_TOOLS) proxy.withoutTools.clear(); // clients choose the names
    proxy.withoutTools.add(key);
  });
}

async function countTokens(proxy: Proxy, turn: ModelTurn): Promise<Response> {
  const config = await configOf(turn);
  let upstream: Upstream | undefined;
  try {
    upstream = upstreamOf(turn, config);
  } catch (cause) {
    // Without a model there is still an estimate.
    if (!(cause instanceof ProblemError) || cause.problem.code === MODEL_NOT_ALLOWED) throw cause;
  }
  if (upstream?.url !== undefined) {
    await refuseOthersState(turn, upstream);
    const url = `${upstream.url}/count_tokens`;
    const headers = requestHeaders(turn, upstream);
    const text = bodyText(turn, upstream);
    const body = insert(turn.wire.name, text, { ...NOTHING, model: otherName(turn, upstream) });
    const sent = await proxy.connections.send(url, { headers, body, signal: turn.signal });
    const reply = await shownReply(sent, turn, upstream);
    if (isReply(reply)) {
      const counted = cleanBody(await wholeBody(reply), isUsersRequest(turn, upstream));
      return new Response(counted, { status: reply.status, headers: responseHeaders(reply.headers) });
    }
    if (reply.status !== 404 && reply.status !== 405) return relayedAsIs(reply, {});
    reply.body.destroy(); // a compatible server without this path
  }
  return Response.json({ input_tokens: estimatedTokens(turn.request) });
}

function upstreamOf(turn: ModelTurn, config: HermesConfig): Upstream {
  const { wire, request, gateway, clientCredential } = turn;
  const { model } = request;
  const upstream = chooseUpstream({ wire: wire.name, model, config, env: gateway.env, clientCredential });
  refuseModel(turn, upstream.chosen, isOwnModelName(model));
  return upstream;
}

/**
 * The vendor keeps responses and conversations by key, and under our key those of all persons: whoever knows an id could go on from it and
 * have the model repeat what another one said. So a user may name responses that this gateway gave to them, and the owner any that it gave
 * to nobody else. What belongs to the account otherwise is the owner's alone (users-may.ts).
 */
async function refuseOthersState(turn: ModelTurn, upstream: Upstream): Promise<void> {
  const { wire, body, memory, identity, gateway } = turn;
  if (upstream.isClientsKey) return;
  const isForwarded = upstream.url !== undefined;
  const { userFields: more } = (await gateway.config()).gateway;
  if (isUsersRequest(turn, upstream)) refuseForUsers(wire.name, body, { isForwarded, more });
  if (wire.name !== "responses") return;
  const { previous_response_id: previous, conversation } = body;
  const isOwner = identity.user === undefined;
  const named = isRecord(conversation) ? conversation.id : conversation;
  if (!isOwner && typeof named === "string" && /^\s*(?:conv|thread|resp)_/i.test(named))
    throw refused(404, "conversation_not_found", {
      message: "This user has no conversation of this id at the model's vendor.",
      hint: "Send the whole conversation in 'input', or name it in X-Hermes-Session-Id.",
      param: "conversation",
    });
  const isIn = async (person: typeof memory.layers, id: string): Promise<boolean> =>
    Boolean(await (await person.sessions({ mode: "read" }))?.findMark([responseMark(id)]));
  const isOpenTo = async (id: string): Promise<boolean> => {
    if (await isIn(memory.layers, id)) return true;
    // An id that this gateway made up means nothing to the vendor, and the vendor's means nothing to a model of another protocol.
    if (!isOwner || isOwnReplyId(id) || !isForwarded) return false;
    const homes = await servedHomes(gateway);
    const known = await Promise.all(homes.map(({ administrator }) => isIn(administrator, id)));
    return !known.includes(true);
  };
  if (typeof previous === "string" && !(await isOpenTo(previous))) throw new ProblemError(UNKNOWN_RESPONSE);
  for (const id of referencedItems(body))
    if (!(await isOpenTo(ownReply(id) ?? id)))
      throw refused(404, "item_not_found", {
        message: "The input refers to an item that this gateway did not give to this user.",
        hint: "Send the items themselves in 'input'.",
        param: "input",
      });
}

function referencedItems({ input }: JsonObject): ReadonlySet<string> {
  const items = recordsIn(input);
  return new Set(
    items.flatMap((item) => (isReference(item) && typeof item.id === "string" ? [item.id] : [])),
  );
}

/** A profile has its own model; the settings of the gateway are those of the served home. */
async function configOf({ gateway, identity, memory }: ModelTurn): Promise<HermesConfig> {
  const served = await gateway.config();
  if (identity.profile === undefined) return served;
  return { ...(await memory.layers.memory.config()), gateway: served.gateway };
}

/** Where something in it was checked, it is written anew: what was checked is what is sent, without keys that occur twice. */
function bodyText(turn: ModelTurn, upstream: Upstream): string {
  const { body, rawBody } = turn;
  const isChecked =
    "previous_response_id" in body || "conversation" in body || isUsersRequest(turn, upstream);
  return isChecked && !upstream.isClientsKey ? JSON.stringify(body) : new TextDecoder().decode(rawBody);
}

function otherName({ request }: ModelTurn, { chosen }: Upstream): string | undefined {
  return chosen.model === request.model ? undefined : chosen.model;
}

// ---- One request on the same wire ----

type Parts = {
  readonly upstream: Upstream;
  readonly memory: TurnMemory;
  readonly tools: OwnTools | undefined;
};

class Forwarding {
  readonly #proxy: Proxy;
  readonly #turn: ModelTurn;
  readonly #upstream: Upstream;
  readonly #memory: TurnMemory;
  #tools: OwnTools | undefined;
  readonly #text: string;
  readonly #isUsers: boolean;
  // Hidden rounds of this turn
  readonly #before: string[] = [];
  readonly #shown: string[] = [];
  readonly #hidden: Message[] = [];
  readonly #responseIds: string[] = [];
  readonly #itemIds: string[] = [];
  #shownText = "";
  #isStored = false;
  /** Notices that went out with the headers. */
  #noticesSent = 0;

  constructor(proxy: Proxy, turn: ModelTurn, { upstream, memory, tools }: Parts) {
    this.#proxy = proxy;
    this.#turn = turn;
    this.#upstream = upstream;
    this.#memory = memory;
    this.#tools = tools;
    this.#text = bodyText(turn, upstream);
    this.#isUsers = isUsersRequest(turn, upstream);
  }

  async answer(onRefusedTools: () => void): Promise<Response> {
    let reply = await this.#ask().catch(async (cause: unknown) => {
      if (this.#turn.signal.aborted) await this.#charge(undefined); // the model has the request
      throw cause;
    });
    if (reply.status === 400 && this.#tools !== undefined && !hasTools(this.#turn.body)) {
      const refusal = await wholeBody(reply, MOST_ERROR_BYTES);
      if (!/tool|function/i.test(refusal.toString("utf8")))
        return new Response(refusal, { status: reply.status, headers: this.#headers(reply) });
      // A local model that knows no tools: the client asked for none.
      this.#tools = undefined;
      reply = await this.#ask();
      // Kept for all users only if it was because of the tools: anybody can send a request that is refused.
      if (isReply(reply)) onRefusedTools();
    }
    if (!isReply(reply)) return relayedAsIs(reply, this.#ownHeaders());
    if (!isEventStream(reply.headers)) return this.#whole(reply);
    const { status } = reply;
    const pieces = this.#relay(reply);
    // Also when nobody cancels the stream: what came so far is stored.
    this.#turn.signal.addEventListener("abort", () => void pieces.return().catch(() => {}), { once: true });
    return new Response(ReadableStream.from(pieces), { status, headers: this.#headers(reply) });
  }

  async #ask(): Promise<UpstreamReply> {
    const { wire, identity } = this.#turn;
    const insertions: Insertions = {
      ...this.#memory.insertions,
      tools: this.#tools?.definitions ?? [],
      appended: this.#before,
      model: otherName(this.#turn, this.#upstream),
    };
    const isBlockMessage = identity.client === "codex";
    const body = insert(wire.name, this.#text, insertions, { isBlockMessage });
    const headers = requestHeaders(this.#turn, this.#upstream);
    const { url = "" } = this.#upstream;
    const { query = "" } = this.#turn;
    const isShown = !this.#isUsers || query === "?beta=true";
    const address = url + (isShown ? query : "");
    this.#turn.prepared?.();
    const reply = await this.#proxy.connections.send(address, { headers, body, signal: this.#turn.signal });
    return shownReply(reply, this.#turn, this.#upstream);
  }

  #headers(reply: UpstreamReply): Headers {
    const headers = responseHeaders(reply.headers);
    for (const [name, value] of Object.entries(this.#ownHeaders())) headers.set(name, value);
    return headers;
  }

  #ownHeaders(): Readonly<Record<string, string>> {
    const { sessionId, notices } = this.#memory;
    this.#noticesSent = notices.length;
    return hermesHeaders({ sessionId, notices });
  }

  /** What could not be stored after the headers had gone, as an event that clients read over. */
  #lateNotices(): readonly Uint8Array[] {
    const { sessionId = "", notices } = this.#memory;
    const late = notices.slice(this.#noticesSent);
    return late.length === 0 ? [] : [noticeEvent(this.#turn.wire.name, { sessionId, notices: late })];
  }

  /** Round by round. Without tools of ours there is one, and its bytes stay as they are. */
  async *#relay(first: UpstreamReply): AsyncGenerator<Uint8Array, void> {
    const merged = this.#merged();
    let reply = first;
    try {
      for (let count = 1; ; count += 1) {
        try {
          const chunks = untilEnd(reply.body, () => merged.isEnding);
          for await (const event of cleanEvents(chunks, this.#isUsers)) yield* merged.push(event);
        } catch (cause) {
          if (!merged.isEnding || this.#turn.signal.aborted) throw brokenOff(cause, this.#turn.signal);
        }
        const next = await this.#next(merged, count);
        if (next === undefined) break;
        reply = next;
        if (isReply(reply)) continue;
        const refusal = await wholeBody(reply, MOST_ERROR_BYTES);
        yield errorEvent(this.#turn.wire.name, refusal);
        return;
      }
    } finally {
      await this.#store(merged.round(), []);
    }
    yield* this.#lateNotices();
    yield* merged.ending();
  }

  async #whole(first: UpstreamReply): Promise<Response> {
    const merged = this.#merged();
    let reply = first;
    try {
      for (let count = 1; ; count += 1) {
        const bytes = cleanBody(await wholeBody(reply), this.#isUsers);
        const body = isReply(reply) ? recordIn(bytes.toString("utf8")) : undefined;
        if (body !== undefined) merged.whole(body);
        const next = body && (await this.#next(merged, count));
        if (next === undefined) {
          await this.#store(merged.round(), []);
          const isChanged = body !== undefined && merged.isChanged;
          const { status } = reply;
          const headers = this.#headers(reply);
          return new Response(isChanged ? JSON.stringify(merged.merged()) : bytes, { status, headers });
        }
        reply = next;
      }
    } finally {
      await this.#store(merged.round(), []);
    }
  }

  #merged() {
    const { wire, body } = this.#turn;
    return mergedReply(wire.name, this.#tools?.isOurs, body.store === false);
  }

  /** Runs calls of our tools and asks the model again, or, undefined, stores the reply. */
  async #next(merged: ReturnType<typeof mergedReply>, count: number): Promise<UpstreamReply | undefined> {
    const { wire, request } = this.#turn;
    const round = merged.round();
    const { hidden, items, shown, read } = round;
    const isLast = hidden.length === 0 || round.isFailed || count === MOST_ROUNDS;
    const { sessionId = "" } = this.#memory;
    const context = { sessionId, messages: request.messages, signal: this.#turn.signal };
    const tools = isLast ? undefined : this.#tools;
    const results = tools === undefined ? [] : await runCalls(hidden, tools, context);
    if (isLast || round.handedBack.length > 0) {
      merged.isCut = isLast && hidden.length > 0;
      await this.#store(round, results);
      return undefined;
    }
    this.#before.push(...items, ...resultMessages(wire.name, results));
    this.#shown.push(...shown);
    this.#noteShown(round);
    await this.#charge(read);
    this.#itemIds.push(...(read?.itemIds ?? []));
    if (read !== undefined) this.#hidden.push(read.message, ...toolMessages(round, results));
    merged.next();
    return this.#ask();
  }

  #noteShown({ text, responseId }: Round): void {
    this.#shownText += text;
    if (responseId !== undefined) this.#responseIds.push(responseId);
  }

  #charge(read: ReadReply | undefined): Promise<void> {
    const { chosen, isClientsKey: isFree } = this.#upstream;
    const isPart = read?.finish === "interrupted" || read?.usage === undefined;
    return charge(this.#turn, chosen, { usage: read?.usage, reply: read?.message, isPart, isFree });
  }

  /** The last round, once. Never rejects: the reply is the client's, whether it can be stored or not. */
  async #store(round: Round, results: readonly RoundResult[]): Promise<void> {
    if (this.#isStored) return;
    this.#isStored = true;
    const { read, hidden, handedBack } = round;
    this.#noteShown(round);
    await this.#charge(read);
    const hiddenIds = new Set(hidden.map(({ id }) => id));
    const answered = new Set(results.map(({ id }) => id));
    const last = read && asStored(read.message, read.finish, (id) => !hiddenIds.has(id) || answered.has(id));
    const isMixed = results.length > 0;
    const reply: ToldReply = {
      hidden: isMixed && last ? [...this.#hidden, last, ...toolMessages(round, results)] : this.#hidden,
      last: isMixed ? undefined : last,
      shownText: this.#shownText,
      handedBack,
      rounds:
        this.#before.length > 0 || isMixed
          ? {
              before: this.#before,
              shown: this.#shown,
              calls: isMixed ? hidden.map(({ item }) => item) : [],
              results: resultItems(this.#turn.wire.name, results),
            }
          : undefined,
      responseIds: this.#responseIds,
      itemIds: [...this.#itemIds, ...(read?.itemIds ?? [])],
    };
    try {
      await this.#memory.storeReply(reply);
    } catch (cause) {
      this.#turn.gateway.log.error("Proxy: a reply could not be stored", { cause });
    }
  }
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

function isReply({ status }: UpstreamReply): boolean {
  return status >= 200 && status <= 299;
}

function isEventStream(headers: Headers): boolean {
  return /\btext\/event-stream\b/i.test(headers.get("content-type") ?? "");
}

const MOST_ERROR_BYTES = 1024 * 1024;
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

async function wholeBody(
  { body }: UpstreamReply,
  limit = Number.POSITIVE_INFINITY,
): Promise<Buffer<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    pieces.push(chunk);
    length += chunk.length;
    if (length > limit) break;
  }
  return Buffer.concat(pieces) as Buffer<ArrayBuffer>;
}

/** Failures that the user's own request has: the vendor's words say what to change. */
const OF_THE_REQUEST = /^(?:bad_request|overflow|payload_too_large|content_policy|bad_signature|not_found)$/;

/** What may be shown of an answer: to a user nothing about the account, to the owner all but the key, which servers quote. */
async function shownReply(reply: UpstreamReply, turn: ModelTurn, upstream: Upstream): Promise<UpstreamReply> {
  const { status } = reply;
  const { apiKey } = upstream.chosen;
  const isUsers = isUsersRequest(turn, upstream);
  if (upstream.isClientsKey || (!isUsers && (isReply(reply) || apiKey === ""))) return reply;
  const keyless = (text: string): string => (apiKey === "" ? text : text.replaceAll(apiKey, "***"));
  const headers = new Headers();
  for (const [name, value] of reply.headers)
    if (!isUsers || SHOWN_HEADERS.test(name)) headers.append(name, keyless(value));
  if (isReply(reply)) return { ...reply, headers }; // `cleanEvents` and `cleanBody` see to errors in it
  const said = keyless((await wholeBody(reply, MOST_ERROR_BYTES)).toString("utf8"));
  if (!isUsers) return { status, headers, body: Readable.from([Buffer.from(said)]) };
  const [responseBody, responseHeaders] = [withoutAccount(said), Object.fromEntries(reply.headers)];
  const failure = classifyFailure({ statusCode: status, responseBody, responseHeaders }, "");
  if (OF_THE_REQUEST.test(failure.kind))
    return { status, headers, body: Readable.from([Buffer.from(responseBody)]) };
  const problem = problemOf(failure);
  turn.gateway.log.warn(problem.message, { code: problem.code, status });
  headers.set("content-type", "application/json");
  if (problem.isLasting) headers.set("x-should-retry", "false");
  const body = Buffer.from(JSON.stringify(turn.wire.renderProblem(forUsers(problem))));
  return { status: problem.status, headers, body: Readable.from([body]) };
}

/** An answer that is no reply: an error of the vendor, in the vendor's words. */
function relayedAsIs(reply: UpstreamReply, own: Readonly<Record<string, string>>): Response {
  const headers = responseHeaders(reply.headers);
  for (const [name, value] of Object.entries(own)) headers.set(name, value);
  const isBodiless = reply.status === 204 || reply.status === 304;
  return new Response(isBodiless ? null : ReadableStream.from<Uint8Array>(reply.body), {
    status: reply.status,
    headers,
  });
}

/** A later round was refused after the client had been sent the beginning. */
function errorEvent(wire: WireName, refusal: Buffer): Uint8Array {
  const body = recordIn(refusal.toString("utf8")) ?? { error: { message: "The model's server failed." } };
  const error = isRecord(body.error) ? body.error : {};
  const data = wire === "responses" ? { type: "error", code: null, param: null, ...error } : body;
  return Buffer.from(sseEvent(data, wire === "chat" ? undefined : "error"));
}

/** In a shape that clients of the wire take and do not show. */
function noticeEvent(wire: WireName, metadata: ReplyMetadata): Uint8Array {
  const name = { chat: "", responses: "hermes.notice", messages: "ping" }[wire];
  const shape = wire === "chat" ? { object: "chat.completion.chunk", choices: [] } : { type: name };
  return Buffer.from(sseEvent({ ...shape, ...hermesField(metadata) }, name));
}

function brokenOff(cause: unknown, signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : cause;
}
