// Compaction when somebody asks for it. Like a turn it works on a session that is ours and up to date.
import { type CompressCommand, compressFeedback } from "@hermes-memory/core/context";
import type { AgentCore } from "../core.ts";
import { compactSession } from "../session/compaction.ts";
import { type Hold, whileReserved } from "../session/reserve.ts";
import type { CompressChoices, CompressReport } from "../surface.ts";

export function compressNow(
  core: AgentCore,
  command: CompressCommand,
  choices: CompressChoices,
  signal: AbortSignal,
): Promise<CompressReport> {
  return whileReserved(core, (hold) => compress(core, { command, choices, hold, signal }));
}

type Asked = {
  readonly command: CompressCommand;
  readonly choices: CompressChoices;
  readonly hold: Hold;
  readonly signal: AbortSignal;
};

async function compress(core: AgentCore, { command, choices, hold, signal }: Asked): Promise<CompressReport> {
  const { transcript, todo, prompt } = core.parts;
  try {
    if (hold.kind === "busy" || hold.kind === "gone") return asItWas(core, "busy", hold.message);
    if (transcript.messages.length === 0) return asItWas(core, "unchanged");
    todo.hydrate(transcript.messages);
    await core.ensureRow();
    await prompt.ensure(core.sessionId, true);
    const report = await compactSession(core, {
      lease: core.lease,
      force: true,
      signal,
      ...choices,
      ...(command.kind === "focus" ? { focusTopic: command.topic } : {}),
      ...(command.kind === "partial" ? { keep: command.keep } : {}),
    });
    const { kind, notices, sessionId } = report;
    const feedback = compressFeedback(
      { messages: report.messagesBefore, tokens: report.tokensBefore },
      { messages: report.messagesAfter, tokens: report.tokensAfter },
    );
    return { kind, notices, sessionId, feedback };
  } catch (cause) {
    if (!signal.aborted) throw cause;
    return asItWas(core, "aborted");
  }
}

function asItWas(core: AgentCore, kind: "busy" | "unchanged" | "aborted", why?: string): CompressReport {
  const figures = { messages: core.parts.transcript.messages.length, tokens: 0 };
  return {
    kind,
    feedback: compressFeedback(figures, figures),
    notices: why === undefined ? [] : [why],
    sessionId: core.sessionId,
  };
}
