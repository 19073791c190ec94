// Proxy mode, the story of one request: choose the model's server, let memory say what to insert, forward the client's own body with these
// insertions, and relay the answer as it comes. The reply is read along and stored before the bytes that end it are sent. A model that
// speaks another protocol is asked by translation (translate.ts).
import { openModel } from "@hermes-memory/agent/internal/models";
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { type Message, newMessage, withMeta } from "@hermes-memory/core/internal/message";
import { admit, estimatedTokens, MODEL_NOT_ALLOWED, refuseModel, type Used } from "../allowance.ts";
import { type Gateway, type JsonObject, type ModelTurn, ProblemError } from "../types.ts";
import { hermesField, hermesHeaders } from "../wires/fields.ts";
import type { ReadReply } from "../wires/read-reply.ts";
import { recordIn, sseEvent } from "../wires/sse.ts";
import type { ReplyMetadata, WireName } from "../wires/wire.ts";
import { mergedReply, type Round, type RoundResult, resultItems, resultMessages } from "./hidden-tools.ts";
import { type Insertions, insert, NOTHING } from "./insert.ts";
import { type OwnTools, offeredTools, runCalls } from "./own-tools.ts";
import { cleanBody, cleanEvents } from "./scrub-reply.ts";
import { translate } from "./translate.ts";
import { finishTurn, openTurnMemory, readTurnMemory, type TurnMemory } from "./turn-memory.ts";
import {
  chooseUpstream,
  isEventStream,
  isOwnModelName,
  isReply,
  MOST_ERROR_BYTES,
  relayedAsIs,
  requestHeaders,
  responseHeaders,
  shownReply,
  type Upstream,
  UpstreamConnections,
  type UpstreamReply,
  untilEnd,
  wholeBody,
  withOwn,
} from "./upstream.ts";
import { isUsersRequest, refuseOthersState } from "./users-may.ts";

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
  return new ProxiedTurn(proxy, turn, { upstream, memory, tools }).answer(() => {
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
    const headers = requestHeaders(turn, upstream);
    const model = otherName(turn, upstream);
    const body = insert(turn.wire.name, bodyText(turn, upstream), { ...NOTHING, model });
    const { signal } = turn;
    const sent = await proxy.connections.send(`${upstream.url}/count_tokens`, { headers, body, signal });
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

/** A profile has its own model; the settings of the gateway are those of the served home. */
async function configOf({ gateway, identity, memory }: ModelTurn): Promise<HermesConfig> {
  const served = await gateway.config();
  if (identity.profile === undefined) return served;
  return { ...(await memory.layers.memory.config()), gateway: served.gateway };
}

function upstreamOf(turn: ModelTurn, config: HermesConfig): Upstream {
  const { wire, request, gateway, clientCredential } = turn;
  const { model } = request;
  const upstream = chooseUpstream({ wire: wire.name, model, config, env: gateway.env, clientCredential });
  refuseModel(turn, upstream.chosen, isOwnModelName(model));
  return upstream;
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

/** Several rounds with the model, if it calls our tools; the client is shown one reply. */
class ProxiedTurn {
  readonly #connections: UpstreamConnections;
  readonly #turn: ModelTurn;
  readonly #upstream: Upstream;
  readonly #memory: TurnMemory;
  #tools: OwnTools | undefined;
  readonly #text: string;
  readonly #isUsers: boolean;
  // Of the hidden rounds: items for the model, texts that the client was shown, messages to be stored, and what each cost
  readonly #before: string[] = [];
  readonly #hidden: Message[] = [];
  readonly #responseIds: string[] = [];
  readonly #itemIds: string[] = [];
  readonly #used: Used[] = [];
  #shownText = "";
  #isFinished = false;
  /** Notices that went out with the headers. */
  #noticesSent = 0;

  constructor({ connections }: Proxy, turn: ModelTurn, { upstream, memory, tools }: Parts) {
    this.#connections = connections;
    this.#turn = turn;
    this.#upstream = upstream;
    this.#memory = memory;
    this.#tools = tools;
    this.#text = bodyText(turn, upstream);
    this.#isUsers = isUsersRequest(turn, upstream);
  }

  async answer(onRefusedTools: () => void): Promise<Response> {
    const { signal, body } = this.#turn;
    let reply = await this.#ask().catch(async (cause: unknown) => {
      if (signal.aborted) await this.#finish(undefined, []); // the model has the request
      throw cause;
    });
    if (reply.status === 400 && this.#tools !== undefined && !hasTools(body)) {
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
    if (!isEventStream(reply)) return this.#whole(reply);
    const { status } = reply;
    const pieces = this.#relay(reply);
    // Also when nobody cancels the stream: what came so far is stored.
    signal.addEventListener("abort", () => void pieces.return().catch(() => {}), { once: true });
    return new Response(ReadableStream.from(pieces), { status, headers: this.#headers(reply) });
  }

  async #ask(): Promise<UpstreamReply> {
    const { wire, identity, query = "", signal, prepared } = this.#turn;
    const insertions: Insertions = {
      ...this.#memory.insertions,
      isBlockMessage: identity.client === "codex",
      tools: this.#tools?.definitions ?? [],
      appended: this.#before,
      model: otherName(this.#turn, this.#upstream),
    };
    const body = insert(wire.name, this.#text, insertions);
    const headers = requestHeaders(this.#turn, this.#upstream);
    const { url = "" } = this.#upstream;
    const address = url + (!this.#isUsers || query === "?beta=true" ? query : "");
    prepared?.();
    const reply = await this.#connections.send(address, { headers, body, signal });
    return shownReply(reply, this.#turn, this.#upstream);
  }

  #headers(reply: UpstreamReply): Headers {
    return withOwn(reply, this.#ownHeaders());
  }

  #ownHeaders(): Readonly<Record<string, string>> {
    const { sessionId = "", notices } = this.#memory;
    this.#noticesSent = notices.length;
    return hermesHeaders({ sessionId, notices });
  }

  /** Round by round. Without tools of ours there is one, and its bytes stay as they are. */
  async *#relay(first: UpstreamReply): AsyncGenerator<Uint8Array, void> {
    const { wire, signal } = this.#turn;
    const merged = this.#merged();
    let reply = first;
    try {
      for (let count = 1; ; count += 1) {
        try {
          const chunks = untilEnd(reply.body, () => merged.isEnding);
          for await (const event of cleanEvents(chunks, this.#isUsers)) yield* merged.push(event);
        } catch (cause) {
          if (!merged.isEnding || signal.aborted) throw signal.aborted ? signal.reason : cause;
        }
        const next = await this.#next(merged, count);
        if (next === undefined) break;
        reply = next;
        if (isReply(reply)) continue;
        yield errorEvent(wire.name, await wholeBody(reply, MOST_ERROR_BYTES));
        return;
      }
    } finally {
      await this.#finish(merged.round(), []);
    }
    // What could not be stored after the headers had gone, as an event that clients read over.
    const { sessionId = "", notices } = this.#memory;
    const late = notices.slice(this.#noticesSent);
    if (late.length > 0) yield noticeEvent(wire.name, { sessionId, notices: late });
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
          await this.#finish(merged.round(), []);
          const isChanged = body !== undefined && merged.isChanged;
          const { status } = reply;
          const headers = this.#headers(reply);
          return new Response(isChanged ? JSON.stringify(merged.merged()) : bytes, { status, headers });
        }
        reply = next;
      }
    } finally {
      await this.#finish(merged.round(), []);
    }
  }

  #merged() {
    const { wire, body } = this.#turn;
    return mergedReply(wire.name, this.#tools?.isOurs, body.store === false);
  }

  /** Runs calls of our tools and asks the model again, or, undefined, ends the turn. */
  async #next(merged: ReturnType<typeof mergedReply>, count: number): Promise<UpstreamReply | undefined> {
    const { wire, request, signal } = this.#turn;
    const round = merged.round();
    const { hidden, items, read } = round;
    const isLast = hidden.length === 0 || round.isFailed || count === MOST_ROUNDS;
    const { sessionId = "" } = this.#memory;
    const tools = isLast ? undefined : this.#tools;
    const context = { sessionId, messages: request.messages, signal };
    const results = tools === undefined ? [] : await runCalls(hidden, tools, context);
    if (isLast || round.handedBack.length > 0) {
      merged.isCut = isLast && hidden.length > 0;
      await this.#finish(round, results);
      return undefined;
    }
    this.#before.push(...items, ...resultMessages(wire.name, results));
    this.#note(round);
    if (read !== undefined) this.#hidden.push(read.message, ...toolMessages(round, results));
    merged.next();
    return this.#ask();
  }

  #note({ text, responseId, read }: Round): void {
    this.#shownText += text;
    if (responseId !== undefined) this.#responseIds.push(responseId);
    this.#itemIds.push(...(read?.itemIds ?? []));
    this.#used.push(usedBy(read));
  }

  /** Once, with the last round. Never rejects: the reply is the client's, whether it can be stored or not. */
  async #finish(round: Round | undefined, results: readonly RoundResult[]): Promise<void> {
    if (this.#isFinished) return;
    this.#isFinished = true;
    if (round === undefined) this.#used.push(usedBy(undefined));
    else this.#note(round);
    const { read, hidden = [], handedBack = [] } = round ?? {};
    const hiddenIds = new Set(hidden.map(({ id }) => id));
    const answered = new Set(results.map(({ id }) => id));
    const last = read && asStored(read, (id) => !hiddenIds.has(id) || answered.has(id));
    const isMixed = round !== undefined && results.length > 0;
    const { wire } = this.#turn;
    const isWhole = read !== undefined && hidden.every(({ id }) => answered.has(id));
    const rounds = {
      before: this.#before,
      last: isWhole ? (round?.items ?? []) : [],
      results: resultItems(wire.name, results),
    };
    const { chosen: model, isClientsKey: isFree } = this.#upstream;
    await finishTurn(this.#turn, this.#memory, {
      model,
      used: this.#used.map((used) => ({ ...used, isFree })),
      hidden: isMixed && last ? [...this.#hidden, last, ...toolMessages(round, results)] : this.#hidden,
      last: isMixed ? undefined : last,
      shownText: this.#shownText,
      handedBack,
      rounds: this.#before.length > 0 || isMixed ? rounds : undefined,
      responseIds: this.#responseIds,
      itemIds: this.#itemIds,
    });
  }
}

function usedBy(read: ReadReply | undefined): Used {
  const isPart = read?.finish === "interrupted" || read?.usage === undefined;
  return { usage: read?.usage, reply: read?.message, isPart };
}

/** Without calls that nobody answers, and with the reason why it ended if it broke off. */
function asStored({ message, finish }: ReadReply, isKept: (id: string) => boolean): Message {
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
