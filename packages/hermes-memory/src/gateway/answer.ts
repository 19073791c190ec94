// The story of a model request, on any wire and in any mode: read the body, find out for whom it is and to which conversation it belongs,
// then let the agent, the proxy or, for a request that is no part of a conversation, the model alone answer it.
import { randomHex, sha256 } from "@hermes-memory/core/internal/lib";
import type { UserMemory } from "@hermes-memory/core/internal/memory";
import { credentialOf, identify } from "./identity.ts";
import { auxiliaryKind } from "./proxy/auxiliary.ts";
import { chainOf, markOf, prefixMarks } from "./proxy/chain.ts";
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
import { messagesWire } from "./wires/messages.ts";
import { responsesWire } from "./wires/responses.ts";
import type { Wire, WireRequest } from "./wires/wire.ts";

/** How requests are answered, and how long conversations live. */
export type Modes = {
  readonly agent: Answer;
  readonly proxy: Answer;
  readonly auxiliary: Answer;
  readonly countTokens: Answer;
  /** The chat that a session key stands for now: it changes when the conversation expires or is reset. */
  readonly chatOfKey: (memory: UserMemory, identity: Identity) => Promise<string>;
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
      summary: "Tokens of a message request, with the memory that would be added.",
      shape: "messages",
      handle: async (request, gateway) => {
        const turn = await readTurn(request, gateway, messagesWire, modes);
        return modes.countTokens(turn);
      },
    } satisfies Route,
  ]);
}

async function answerModelRequest(
  request: RouteRequest,
  gateway: Gateway,
  { wire, mode, modes }: { readonly wire: Wire; readonly mode: Mode | undefined; readonly modes: Modes },
): Promise<Response> {
  const turn = await readTurn(request, gateway, wire, modes);
  const { client } = turn.identity;
  const chosen = mode ?? (await modeFor(turn, gateway));
  const kind = auxiliaryKind(client, turn.request, turn.headers);
  gateway.metrics.count("model_requests_total", {
    wire: wire.name,
    mode: chosen,
    client,
    kind: kind ?? "conversation",
  });
  if (kind !== undefined) return modes.auxiliary(turn);
  return chosen === "agent" ? modes.agent(turn) : modes.proxy(turn);
}

/** Claude Code and Codex bring their own loop, tools and prompt, so their requests are proxied whatever config says. */
async function modeFor({ identity }: ModelTurn, gateway: Gateway): Promise<Mode> {
  if (identity.client === "claude-code" || identity.client === "codex") return "proxy";
  return (await gateway.config()).gateway.mode;
}

async function readTurn(
  { headers, rawHeaders, caller, signal, ...request }: RouteRequest,
  gateway: Gateway,
  wire: Wire,
  modes: Modes,
): Promise<ModelTurn> {
  const [rawBody, body] = [await request.bytes(), await request.json()];
  const parsed = wire.parse(body);
  if (!parsed.ok) throw new ProblemError(parsed.error);
  const { gateway: settings } = await gateway.config();
  const { env, clock } = gateway;
  const asked = { caller, headers, rawHeaders, request: parsed.value, settings, env, now: clock.now() };
  const identified = identify(asked);
  if (!identified.ok) throw new ProblemError(identified.error);
  const credentials = credentialOf(headers, rawHeaders);
  if (!credentials.ok) throw new ProblemError(credentials.error);
  const identity = identified.value;
  const memory = memoryOf(gateway, identity);
  const retryKey = retryKeyOf(headers, rawBody);
  const turn: Omit<ModelTurn, "chatId"> = {
    wire,
    request: parsed.value,
    rawBody,
    body,
    headers,
    identity,
    memory,
    clientCredential: credentials.value.client,
    retryKey,
    signal,
    gateway,
  };
  return { ...turn, chatId: await findChat(turn, modes) };
}

function memoryOf(gateway: Gateway, { profile, user }: Identity): UserMemory {
  const home = gateway.memory(profile);
  return user === undefined ? home.owner : home.user(user);
}

/**
 * Names a request that the client repeats: by the key it sends, or by the body if it says that it tries again. A request without either may be
 * a person who says the same thing twice.
 */
function retryKeyOf(headers: Headers, rawBody: Uint8Array): string | undefined {
  const key = headers.get("idempotency-key");
  if (key !== null && key !== "") return `key:${sha256(key)}`;
  const count = Number(headers.get("x-stainless-retry-count") ?? 0);
  return count > 0 ? `body:${sha256(rawBody)}` : undefined;
}

// ---- The conversation of a request ----

async function findChat(turn: Omit<ModelTurn, "chatId">, modes: Modes): Promise<string> {
  const { memory, identity } = turn;
  const { session } = identity;
  if (session.kind === "session-key") return modes.chatOfKey(memory, identity);
  if (session.chatId !== undefined) return session.chatId;
  if (session.kind === "previous-response") return chatOfResponse(turn, session.previousResponseId ?? "");
  return chatOfPrefix(turn);
}

async function chatOfResponse({ memory }: Pick<ModelTurn, "memory">, responseId: string): Promise<string> {
  const store = await memory.layers.sessions({ mode: "read" });
  const found = await store?.findMark([`response:${responseId}`]);
  if (found) return found.session_id;
  throw new ProblemError({
    status: 404,
    code: "previous_response_not_found",
    message: "This gateway knows no response with the id in 'previous_response_id'.",
    hint: "Send the whole conversation in 'input', or the id of a response that this user got from this gateway.",
    param: "previous_response_id",
  });
}

/**
 * A client that names no conversation sends all of it each time: an earlier request ended with a message that this one has too. The first
 * message alone names none, because two conversations may begin with the same words.
 */
async function chatOfPrefix(turn: Omit<ModelTurn, "chatId">): Promise<string> {
  const { memory, wire, body, request } = turn;
  const marks = chainOf(wire.name, body);
  const last = marks.at(-1);
  const store = await memory.layers.sessions({ mode: "write", create: true });
  const known = isFirst(request) && turn.retryKey === undefined ? [] : marks.toReversed();
  const found = known.length === 0 ? null : await store.findMark(known);
  const chatId = found?.session_id ?? `conversation-${randomHex(12)}`;
  const { sessionId } = await memory.openChat(chatId, { source: sourceOf(turn.identity) });
  if (last !== undefined) await store.saveMarks(sessionId, [last]);
  return chatId;
}

function isFirst({ messages }: WireRequest): boolean {
  return !messages.some(({ role }) => role === "assistant");
}

/** Stored as the source of the session: the program, or how Hermes Agent calls its own HTTP server. */
export function sourceOf({ client, user }: Identity): string {
  if (client !== "unknown") return client;
  return user === undefined ? "api_server" : user.platform;
}
