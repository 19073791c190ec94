// The story of a model request, on any wire and in any mode: read the body, find out for whom it is and to which conversation it belongs,
// then let the agent, the proxy or, for a request that is no part of a conversation, the model alone answer it.
import { setImmediate as nextTurn } from "node:timers/promises";
import { describeCause, randomHex, sha256 } from "@hermes-memory/core/internal/lib";
import { chatIdOfSession, type UserMemory } from "@hermes-memory/core/internal/memory";
import { contentText, textOf, toolCallsOf } from "@hermes-memory/core/internal/message";
import type { SessionStore } from "@hermes-memory/core/internal/sessions";
import { admitUser } from "./allowance.ts";
import { credentialOf, identify } from "./identity.ts";
import { auxiliaryKind } from "./proxy/auxiliary.ts";
import {
  compactedMarks,
  prefixMarks,
  questionMark,
  responseMark,
  spaceless,
  UNKNOWN_RESPONSE,
} from "./proxy/chain.ts";
import {
  type Answer,
  type Gateway,
  type Identity,
  type ModelTurn,
  ProblemError,
  type Route,
  type RouteRequest,
} from "./types.ts";
import { chatWire } from "./wires/chat.ts";
import { wrong } from "./wires/fields.ts";
import { messagesWire } from "./wires/messages.ts";
import { responsesWire } from "./wires/responses.ts";
import type { Wire } from "./wires/wire.ts";

/** How requests are answered. */
export type Modes = {
  readonly agent: Answer;
  readonly proxy: Answer;
  readonly auxiliary: Answer;
  readonly countTokens: Answer;
};

type Mode = "agent" | "proxy";

const PREFIXES: readonly { readonly prefix: string; readonly mode: Mode | undefined }[] = [
  { prefix: "", mode: undefined },
  { prefix: "/agent", mode: "agent" },
  { prefix: "/proxy", mode: "proxy" },
];

const WIRES: readonly { readonly path: string; readonly wire: Wire; readonly summary: string }[] = [
  { path: "/v1/chat/completions", wire: chatWire, summary: "A chat completion, with memory." },
  {
    path: "/v1/responses",
    wire: responsesWire,
    summary: "A response of OpenAI's Responses API, with memory.",
  },
  { path: "/v1/messages", wire: messagesWire, summary: "A message of Anthropic's API, with memory." },
];

export function modelRoutes(modes: Modes): readonly Route[] {
  return PREFIXES.flatMap(({ prefix, mode }) => [
    ...WIRES.map(
      ({ path, wire, summary }): Route => ({
        method: "POST",
        path: prefix + path,
        access: "user",
        summary,
        shape: wire.name,
        handle: (request, gateway) => answerModelRequest(request, gateway, { wire, mode, modes }),
      }),
    ),
    {
      method: "POST",
      path: `${prefix}/v1/messages/count_tokens`,
      access: "user",
      summary: "Tokens of a message request, as the vendor counts them or as an estimate.",
      shape: "messages",
      handle: async (request, gateway) => modes.countTokens(await readTurn(request, gateway, messagesWire)),
    } satisfies Route,
  ]);
}

async function answerModelRequest(
  request: RouteRequest,
  gateway: Gateway,
  { wire, mode, modes }: { readonly wire: Wire; readonly mode: Mode | undefined; readonly modes: Modes },
): Promise<Response> {
  const read = await readTurn(request, gateway, wire);
  const { client } = read.identity;
  const { model, isStream } = read.request;
  const chosen = mode ?? (await modeFor(read, gateway));
  const kind = auxiliaryKind(client, read.request, read.headers, read.body);
  gateway.metrics.count("model_requests_total", {
    wire: wire.name,
    mode: chosen,
    client,
    kind: kind ?? "conversation",
  });
  const { user } = read.identity;
  request.annotate?.({ mode: kind === undefined ? chosen : "auxiliary", client, model, isStream, user });
  // A summary repeats its conversation, so it gets what the conversation had: the vendor has cached that beginning.
  if (kind === "summary" && chosen === "proxy")
    return modes.auxiliary({ ...read, ...(await findChat(read, chosen)) });
  if (kind !== undefined) return modes.auxiliary(read);
  const turn = { ...read, ...(await findChat(read, chosen)) };
  if (await isAboutReply(turn)) {
    gateway.metrics.count("model_requests_quoting_total", { client });
    request.annotate?.({ mode: "auxiliary" });
    return modes.auxiliary(read);
  }
  return chosen === "agent" ? modes.agent(turn) : modes.proxy(turn);
}

/**
 * Web interfaces ask for titles, tags and follow-ups under the id of the chat, with prompts that their users may write. One that was not
 * recognised begins like no message of the chat, and quotes the newest reply: it is no edit of the first message.
 */
async function isAboutReply({ memory, chatId, identity, request }: ModelTurn): Promise<boolean> {
  const [only, ...others] = request.messages;
  const { kind, history } = identity.session;
  if (history !== "client" || kind === "prefix" || only?.role !== "user" || others.length > 0) return false;
  // A database that cannot be read is the mode's to tell.
  const page = await memory.transcript(chatId, { limit: 1, format: "hermes" }).catch(() => undefined);
  const reply = page?.messages.findLast(({ role }) => role === "assistant");
  const words = spaceless(reply === undefined ? "" : textOf(reply.content)).slice(0, QUOTED_CHARS);
  return words.length >= LEAST_QUOTED_CHARS && spaceless(textOf(only.content)).includes(words);
}

const QUOTED_CHARS = 200;
/** Short replies, such as "Done.", are in many messages. */
const LEAST_QUOTED_CHARS = 24;

/** Claude Code and Codex bring their own loop, tools and prompt, so their requests are proxied whatever config says. */
async function modeFor({ identity }: ModelTurn, gateway: Gateway): Promise<Mode> {
  if (identity.client === "claude-code" || identity.client === "codex") return "proxy";
  return (await gateway.config()).gateway.mode;
}

/** Everything about the request but its chat, which auxiliary requests do not have. */
async function readTurn(
  { headers, rawHeaders, caller, signal, ...request }: RouteRequest,
  gateway: Gateway,
  wire: Wire,
): Promise<ModelTurn> {
  const rawBody = await request.bytes();
  const letOthers = async (): Promise<void> => void (isLarge(rawBody) && (await nextTurn()));
  const prepared = await request.work?.();
  signal.throwIfAborted();
  await letOthers();
  const body = await request.json();
  await letOthers();
  const parsed = wire.parse(body);
  if (parsed.model.length > MODEL_NAME_CHARS)
    throw wrong("model", `The name of the model has more than ${MODEL_NAME_CHARS} characters.`, MODELS_HINT);
  await letOthers();
  const { gateway: settings } = await gateway.config();
  const { env, clock } = gateway;
  const bodyHash = sha256(rawBody);
  const identity = identify({
    caller,
    rawHeaders,
    request: parsed,
    settings,
    env,
    now: clock.now(),
  });
  await admitUser(gateway, caller, identity);
  const memory = memoryOf(gateway, identity);
  return {
    wire,
    request: parsed,
    rawBody,
    bodyHash,
    body,
    query: request.url.search,
    headers,
    identity,
    caller,
    memory,
    clientCredential: credentialOf(rawHeaders).client,
    retryKey: retryKeyOf(headers, bodyHash),
    signal,
    gateway,
    prepared,
    annotate: request.annotate,
    onSent: request.onSent,
    chatId: "",
  };
}

/** Each step of work on so many bytes takes some milliseconds: other requests are answered in between. */
function isLarge(rawBody: Uint8Array): boolean {
  return rawBody.byteLength > 250_000;
}

const MODEL_NAME_CHARS = 512;
const MODELS_HINT = "GET /v1/models lists the models of this server.";

function memoryOf(gateway: Gateway, { profile, user }: Identity): UserMemory {
  const home = gateway.memory(profile);
  return user === undefined ? home.owner : home.user(user);
}

/**
 * Names a request that the client repeats: by the key it sends, or by the body if it says that it tries again. A request without either may be
 * a person who says the same thing twice.
 */
function retryKeyOf(headers: Headers, bodyHash: string): string | undefined {
  const key = headers.get("idempotency-key");
  if (key !== null && key !== "") return `key:${sha256(key)}`;
  const count = Number(headers.get("x-stainless-retry-count") ?? 0);
  return count > 0 ? `body:${bodyHash}` : undefined;
}

// ---- The conversation of a request ----

type FoundChat = Pick<ModelTurn, "chatId" | "requestMarks">;

async function findChat(turn: ModelTurn, mode: Mode): Promise<FoundChat> {
  const { session } = turn.identity;
  if (session.chatId !== undefined) return { chatId: session.chatId };
  try {
    return await lookUp(turn, mode);
  } catch (cause) {
    if (mode === "agent" || cause instanceof ProblemError) throw cause;
    // A proxied request goes on without memory; the proxy tells the client.
    turn.gateway.log.warn(`A conversation was not looked up: ${describeCause(cause)}`);
    return { chatId: newChat() };
  }
}

/**
 * A client that names no conversation sends all of it each time: an earlier reply ended where this request goes on. The first message alone
 * names none, because many conversations begin with the same words.
 */
async function lookUp(turn: ModelTurn, mode: Mode): Promise<FoundChat> {
  const { session } = turn.identity;
  const store = await turn.memory.layers.sessions({ mode: "read" });
  const isBehind = session.kind === "previous-response";
  const marks = isBehind
    ? [{ mark: responseMark(session.previousResponseId ?? ""), isReply: false }]
    : prefixMarks(turn.wire.name, turn.body);
  const calls = turn.request.messages.flatMap(toolCallsOf).map(({ id }) => id);
  const found =
    (await store?.gateway.findMark(
      marks.map(({ mark }) => mark),
      { calls: calls.slice(-MOST_CALLS) },
    )) ?? (await store?.gateway.findMark(compactedMarks(turn.wire.name, turn.body)));
  // In proxy mode the vendor may know a response that we do not: the conversation goes on in a new chat here.
  if (!found && isBehind && mode === "agent") throw new ProblemError(UNKNOWN_RESPONSE);
  const sessionId = found?.session_id ?? (store && (await repeatedChat(turn, store)));
  if (store && sessionId !== undefined) {
    // Replies that were stopped are in no mark yet: a later request may go back to one.
    const at = marks.findIndex(({ mark }) => mark === found?.mark);
    const unknown = marks.slice(0, at < 0 ? marks.length : at);
    const requestMarks = unknown.flatMap(({ mark, isReply }) => (isReply ? [mark] : [])).slice(0, MOST_MARKS);
    return { chatId: await chatIdOfSession(store, turn.memory.layers.user, sessionId), requestMarks };
  }
  return {
    chatId: newChat(),
    requestMarks: [...requestMarksOf(turn), questionMark(turn.wire.name, turn.body)],
  };
}

/** Of the newest replies in a list. */
const MOST_MARKS = 16;
const MOST_CALLS = 8;

/**
 * The session of a request that is repeated, or whose first reply was stopped. Clients do not always say so: then it is one as long as the
 * client has not got the whole reply.
 */
async function repeatedChat(turn: ModelTurn, store: SessionStore): Promise<string | undefined> {
  const isOpen = async (session: string): Promise<boolean> =>
    (await store.gateway.getAsk(session))?.delivered === false;
  const repeated = await store.gateway.findMark(requestMarksOf(turn));
  if (repeated) {
    const { session_id: id, is_newest } = repeated;
    return is_newest || turn.retryKey !== undefined || (await isOpen(id)) ? id : undefined;
  }
  const reply = turn.request.messages.find(({ role }) => role === "assistant");
  const asked = reply && (await store.gateway.findMark([questionMark(turn.wire.name, turn.body)]));
  if (!asked || !(await isOpen(asked.session_id))) return undefined;
  const seen = spaceless(textOf(reply.content));
  const rows = await store.getMessages(asked.session_id, { includeInactive: true });
  const replies = rows.filter(({ role }) => role === "assistant");
  const isSeen = replies.some(({ content }) => spaceless(contentText(content)).startsWith(seen));
  return isSeen || replies.length === 0 ? asked.session_id : undefined;
}

function requestMarksOf({ retryKey, bodyHash }: ModelTurn): readonly string[] {
  const keys = new Set([...(retryKey === undefined ? [] : [retryKey]), `body:${bodyHash}`]);
  return [...keys].map((key) => `request:${key}`);
}

function newChat(): string {
  return `conversation-${randomHex(6)}${randomHex(6)}`;
}
