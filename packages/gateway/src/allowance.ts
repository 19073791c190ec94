// What a token and a user may use of the server's models: which of them, how much per day, and how many users a token may name. What was
// used is in the session database (`hermes_memory_spend`), so that a restart forgets nothing and two gateways of one home share it.
import { existsSync } from "node:fs";
import {
  costOf,
  findPrices,
  NO_USAGE,
  promptTokens,
  totalTokens,
  type Usage,
} from "@hermes-memory/agent/internal/models";
import { estimateMessage, estimateRequest } from "@hermes-memory/core/internal/context";
import { isRecord } from "@hermes-memory/core/internal/lib";
import type { Memory } from "@hermes-memory/core/internal/memory";
import type { Message, Part } from "@hermes-memory/core/internal/message";
import { type HomeStore, personKey, type Spend } from "@hermes-memory/core/internal/sessions";
import {
  type Caller,
  type Gateway,
  type ModelTurn,
  type PersonRef,
  refused,
  type TokenLimits,
} from "./types.ts";
import type { WireRequest } from "./wires/wire.ts";

function limitsOf(caller: Caller | undefined): TokenLimits {
  return caller?.kind === "token" ? (caller.limits ?? {}) : {};
}

// ---- Models ----

type ModelName = { readonly model: string; readonly provider: string };

/** `isUsual`: it is the one of config.yaml, which a token may name `hermes`. */
export function mayAsk(
  caller: Caller | undefined,
  { model, provider }: ModelName,
  isUsual: boolean,
): boolean {
  const names = [model, `${provider}/${model}`, `${provider}:${model}`, isUsual ? "hermes" : model];
  const isOne = (pattern: string): boolean =>
    names.some((name) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern));
  return limitsOf(caller).models?.some(isOne) ?? true;
}

export const MODEL_NOT_ALLOWED = "model-not-allowed";

export function refuseModel({ caller }: ModelTurn, chosen: ModelName, isUsual: boolean): void {
  if (mayAsk(caller, chosen, isUsual)) return;
  throw refused(403, MODEL_NOT_ALLOWED, {
    message: "This token may not use the model that the request asks for.",
    hint: "GET /v1/models lists the models of this token. They are chosen with 'hermes token create --models'.",
    param: "model",
  });
}

// ---- Budgets ----

type Budget = {
  readonly whose: "token" | "user";
  readonly key: string;
  readonly home: Memory;
  readonly most: Partial<Spend>;
};

/** Whose budgets a request uses. */
type Payer = Pick<ModelTurn, "gateway" | "caller" | "identity">;

/** The token's is counted in the served home, a user's in their own, where erasing the user finds it. */
async function budgetsOf({ gateway, caller, identity }: Payer): Promise<readonly Budget[]> {
  const { user, profile } = identity;
  const config = (await gateway.config()).gateway;
  const limits = limitsOf(caller);
  const ofUser = amounts(config.userRequestsPerDay, config.userTokensPerDay, config.userCostPerDay);
  const ofToken = amounts(limits.requests_per_day, limits.tokens_per_day, limits.cost_per_day);
  const budgets: Budget[] = [];
  if (user !== undefined && ofUser !== undefined)
    budgets.push({
      whose: "user",
      key: personKey(user.platform, user.id),
      home: gateway.memory(profile),
      most: ofUser,
    });
  if (caller?.kind === "token" && ofToken !== undefined)
    budgets.push({ whose: "token", key: caller.id, home: gateway.memory(undefined), most: ofToken });
  return budgets;
}

/** 0 is no limit. */
function amounts(requests = 0, tokens = 0, cost = 0): Partial<Spend> | undefined {
  const some = Object.entries({ requests, tokens, cost }).filter(([, most]) => most > 0);
  return some.length === 0 ? undefined : Object.fromEntries(some);
}

/** Before the model is asked: counts the request, or throws 429 if a budget of today is used up. */
export async function admit(turn: ModelTurn): Promise<void> {
  const now = turn.gateway.clock.now();
  for (const { whose, key, home, most } of await budgetsOf(turn)) {
    const row = { day: dayOf(now), kind: whose, key };
    const reached = await (await storeOf(home)).addSpend(row, { requests: 1 }, most);
    if (reached !== undefined)
      throw refused(429, "budget-used-up", {
        message: `The ${whose} of this request has used up today's budget of ${reached}.`,
        hint: "It begins anew at midnight UTC. Whoever runs the server can raise it.",
        retryAfterSeconds: 86_400 - (Math.floor(now.getTime() / 1000) % 86_400),
        isLasting: true,
      });
  }
}

export type Used = {
  /** Absent: the client left, or did not ask for it. Then it is estimated. */
  readonly usage?: Usage;
  readonly reply?: Message;
  /** The reply broke off, so that the last count is missing. */
  readonly isPart?: boolean;
  /** The key is the client's own: nothing is charged. */
  readonly isFree?: boolean;
};

/** After the model was asked: for `/metrics`, and for the budgets. Never rejects: the reply is the client's. */
export async function charge(
  turn: Payer & Partial<Pick<ModelTurn, "request" | "annotate">>,
  asked: ModelName,
  used: Used,
): Promise<void> {
  const { usage, reply, isPart = usage === undefined, isFree = false } = used;
  if (usage !== undefined)
    turn.annotate?.({
      inputTokens: usage.input,
      outputTokens: usage.output,
      cacheReadTokens: usage.cacheRead,
      cacheWriteTokens: usage.cacheWrite,
    });
  const { gateway, request } = turn;
  try {
    const budgets = isFree ? [] : await budgetsOf(turn);
    if (budgets.length === 0) return;
    const known = usage ?? { ...NO_USAGE, input: request === undefined ? 0 : estimatedTokens(request) };
    const said = reply === undefined || !isPart ? 0 : estimateMessage(reply);
    const all = { ...known, output: Math.max(known.output, said) };
    const prices = await findPrices({ ...asked, overrides: (await gateway.config()).models.prices });
    const cost = prices === undefined ? 0 : costOf(all, prices.at(promptTokens(all)));
    const day = dayOf(gateway.clock.now());
    for (const { whose, key, home } of budgets)
      await (await storeOf(home)).addSpend({ day, kind: whose, key }, { tokens: totalTokens(all), cost });
  } catch (cause) {
    gateway.log.error("What a request used could not be counted", { cause });
  }
}

function dayOf(now: Date): string {
  return now.toISOString().slice(0, 10);
}

function storeOf({ administration }: Memory): Promise<HomeStore> {
  return administration.administrator.sessions({ mode: "write", create: true });
}

/** Where no server counts; Claude Code decides by it when its window is full. */
export function estimatedTokens({ system, messages, tools }: WireRequest): number {
  let files = 0;
  const texts = messages.map((message): Message => {
    const { content } = message;
    if (content === null || typeof content === "string") return message;
    const kept = content.filter((part) => {
      const tokens = fileTokens(part);
      files += tokens;
      return tokens === 0;
    });
    return kept.length === content.length ? message : { ...message, content: kept };
  });
  return Math.max(1, estimateRequest({ system, messages: texts, tools }) + files);
}

/** A page of a PDF has about 50 kB and costs 1,500 to 3,000 tokens; its base64 text would count as far more. */
const PAGE_CHARS = 66_000;
const PAGE_TOKENS = 2_500;

/** 0 for a part that is no file. */
function fileTokens(part: Part): number {
  const source = part.type === "other" && isRecord(part.value) ? part.value.source : undefined;
  if (!isRecord(source) || source.type === "text" || source.type === "content") return 0;
  const { data } = source;
  return typeof data === "string" ? Math.ceil(data.length / PAGE_CHARS) * PAGE_TOKENS : PAGE_TOKENS;
}

// ---- Users ----

/** Members of groups, so that one write is enough for each. No more than the ceilings allow. */
const joined = new WeakMap<Memory, Set<string>>();

/** Throws when a token that names users would get one more than it may have. Users who have data here are never refused. */
export async function admitUser(
  gateway: Gateway,
  caller: Caller,
  { user, profile }: PersonRef,
): Promise<void> {
  if (user === undefined || caller.kind !== "token" || caller.rights.kind !== "names-users") return;
  const { max_users: members = (await gateway.config()).gateway.maxUsers } = limitsOf(caller);
  const home = gateway.memory(profile);
  const row = { kind: `users:${caller.id}`, key: personKey(user.platform, user.id) };
  const known = joined.get(home) ?? new Set();
  joined.set(home, known);
  if (members === 0 || known.has(row.kind + row.key)) return;
  try {
    const store = await storeOf(home);
    const reached = await store.addSpend(row, {}, { members });
    if (reached === undefined) known.add(row.kind + row.key);
    const [session] = await store
      .forUser({ platform: user.platform, userId: user.id })
      .listSessionIds({ limit: 1 });
    if (reached === undefined || session || existsSync(home.user(user).layers.directory)) return;
  } catch (cause) {
    gateway.log.warn("The users of a token could not be counted", { cause }); // the request goes on, as without memory
    return;
  }
  throw refused(403, "too-many-users", {
    message: `This token has named ${members} users, and may name no more.`,
    hint: "Whoever runs the server can make a token with a higher --max-users, raise gateway.max_users, or erase users.",
  });
}
