// What happens after a reply without anybody waiting for it: the session gets its title.
import { describeCause, type TextModel } from "@hermes-memory/core/lib";
import { isRefused } from "@hermes-memory/core/message";
import type { AgentCore } from "../core.ts";
import type { TurnResult } from "../result.ts";
import { shownContent } from "../shown-message.ts";
import { shouldTitle, titleSession } from "../titles.ts";

export async function titleAfterTurn(
  core: AgentCore,
  model: TextModel,
  result: TurnResult,
  signal: AbortSignal,
): Promise<void> {
  const { store, log, config } = core.parts;
  const { session_id: sessionId, messages, final_response: assistant } = result;
  if (store === undefined || result.failed || result.partial || result.interrupted || assistant === "")
    return;
  if (!shouldTitle(messages, (await store.getSessionTitle(sessionId)) !== null)) return;
  const user = messages.find((message) => message.role === "user" && !isRefused(message));
  const title = await titleSession({
    store,
    model,
    sessionId,
    user: user === undefined ? "" : shownContent(user),
    assistant,
    log,
    signal,
    timeoutMs: config.auxiliary.titleGeneration.timeout * 1000,
  });
  if (title === undefined) return;
  await nameContinuation(core, sessionId, title);
  core.emit({ type: "title-set", sessionId, title });
}

/** Where a compaction was faster than the title, its session got none to go on from. */
async function nameContinuation(core: AgentCore, sessionId: string, title: string): Promise<void> {
  const { store, log } = core.parts;
  try {
    const tip = (await store?.getCompressionTip(sessionId)) ?? sessionId;
    if (store === undefined || tip === sessionId || (await store.getSessionTitle(tip)) !== null) return;
    await store.setSessionTitle(tip, await store.getNextTitleInLineage(title), { source: "llm" });
  } catch (cause) {
    log.warn(`The continuation of the session got no title: ${describeCause(cause)}`);
  }
}
