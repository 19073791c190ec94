// Our tools inside proxied requests: when they are offered to the client's model, and how its calls of them run.
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import { describeCause, isRecord, outsideJsonOr } from "@hermes-memory/core/internal/lib";
import type { Message } from "@hermes-memory/core/internal/message";
import { defused, fenceUntrusted } from "@hermes-memory/core/internal/security";
import {
  definitionOf,
  errorOutcome,
  foldName,
  type Tool,
  type ToolDefinition,
} from "@hermes-memory/core/internal/tools";
import type { ModelTurn } from "../types.ts";
import { isReply, listOf } from "./chain.ts";
import type { HiddenCall, RoundResult } from "./hidden-tools.ts";
import { toolNames } from "./insert.ts";

export type OwnTools = {
  readonly definitions: readonly ToolDefinition[];
  readonly names: readonly string[];
  isOurs(name: string): boolean;
  find(name: string): Tool | undefined;
};

const OFFERED: ReadonlySet<string> = new Set(["memory", "session_search", "memory_history"]);

/** Undefined: none are offered to this request. */
export async function offeredTools(turn: ModelTurn, config: HermesConfig): Promise<OwnTools | undefined> {
  const { proxyTools } = config.gateway;
  const { client } = turn.identity;
  if (proxyTools === "off") return undefined;
  if (proxyTools === "auto" && (client === "claude-code" || client === "codex")) return undefined;
  if (forbidsTools(turn)) return undefined;
  const { layers } = turn.memory;
  try {
    const tools = await layers.tools({
      log: (line) => turn.gateway.log.warn(line),
      onWrites: async (writes) => {
        if (writes.length === 0) return;
        const { user, profile } = turn.identity;
        turn.gateway.events.emit({ type: "memory-write", user, profile });
        await layers.provider.mirror(writes, "gateway");
      },
    });
    const theirs = new Set([...toolNames(turn.body)].map(foldName));
    const ours = tools.filter(({ name }) => OFFERED.has(name) && !theirs.has(foldName(name)));
    if (ours.length === 0) return undefined;
    const byName = new Map(ours.map((tool) => [tool.name, tool]));
    return {
      definitions: ours.map(definitionOf),
      names: [...byName.keys()],
      isOurs: (name) => byName.has(name),
      find: (name) => byName.get(name),
    };
  } catch (cause) {
    turn.gateway.log.warn(`Proxy: our tools are not offered: ${describeCause(cause)}`);
    return undefined;
  }
}

/** The client wants no calls, or an answer of one form that a call would break. */
function forbidsTools({ request, body, wire }: ModelTurn): boolean {
  const { n, background, functions } = body;
  if (request.toolChoice === "none" || isForm(body.response_format) || isForm(body.output_format))
    return true;
  if (isRecord(body.text) && isForm(body.text.format)) return true;
  if (isRecord(body.output_config) && isForm(body.output_config.format)) return true;
  if ((typeof n === "number" && n > 1) || background === true || functions !== undefined) return true;
  const last = listOf(wire.name, body).at(-1);
  return last !== undefined && isReply(last); // the model has to go on with a text that the client has begun
}

function isForm(format: unknown): boolean {
  return isRecord(format) && format.type !== "text";
}

export type CallContext = {
  readonly sessionId: string;
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
};

const TOOL_MS = 60_000;

/** One after the other, as the model wrote them. A call that fails is told to the model. */
export async function runCalls(
  calls: readonly HiddenCall[],
  tools: OwnTools,
  { sessionId, messages, signal }: CallContext,
): Promise<readonly RoundResult[]> {
  const results: RoundResult[] = [];
  for (const { id, name, arguments: given } of calls) {
    signal.throwIfAborted();
    const args = outsideJsonOr(given, undefined);
    const limited = AbortSignal.any([signal, AbortSignal.timeout(TOOL_MS)]);
    const context = { callId: id, taskId: id, turnId: id, sessionId, messages, signal: limited };
    const tool = tools.find(name);
    const outcome = isRecord(args)
      ? await tool?.run(args, context).catch((cause: unknown) => errorOutcome(describeCause(cause)))
      : errorOutcome("The arguments are not a JSON object.");
    const { text, isError = false } = outcome ?? errorOutcome(`There is no tool '${name}'.`);
    const source = tool?.policy.untrustedSource;
    results.push({ id, text: source === undefined ? defused(text) : fenceUntrusted(text, source), isError });
  }
  return results;
}
