// Runs the calls of one reply and gives a result for each, in their order, whatever tools do and whenever the user
// interrupts.
import { sessionFiles } from "@hermes-memory/core/home";
import { newMessage, type ToolMessage } from "@hermes-memory/core/message";
import { fenceUntrusted } from "@hermes-memory/core/security";
import { READ_RESULT, withoutResultNote } from "@hermes-memory/core/sessions";
import type { ToolTable } from "@hermes-memory/core/tools";
import type { CheckedCall } from "./calls.ts";
import { type BatchContext, type CallEnd, type CallResult, runCall } from "./run-call.ts";
import { spill, tooLong } from "./spill.ts";

const MOST_AT_ONCE = 8;

export async function runBatch(
  table: ToolTable,
  calls: readonly CheckedCall[],
  context: BatchContext,
): Promise<readonly CallResult[]> {
  const isParallel = calls.length > 1 && calls.every(({ name }) => table.get(name)?.policy.effect === "read");
  const ends: CallEnd[] = [];
  let [next, hasStarted] = [0, false];
  const worker = async (): Promise<void> => {
    for (let place = next++; place < calls.length; place = next++) {
      const call = calls[place];
      if (call === undefined) continue;
      const end = context.signal.aborted ? "not started" : await runCall(table.get(call.name), call, context);
      ends[place] =
        end === "not started"
          ? { kind: "skipped", text: notStarted(call.name, hasStarted), isError: true }
          : end;
      hasStarted ||= end !== "not started";
    }
  };
  const workers = isParallel ? Math.min(MOST_AT_ONCE, calls.length) : 1;
  await Promise.all(Array.from({ length: workers }, worker));
  return toResults(table, calls, ends, context);
}

/** As the live list and the session store have it. */
export function toolMessage({
  callId,
  name,
  text,
}: Pick<CallResult, "callId" | "name" | "text">): ToolMessage {
  return newMessage({ role: "tool", content: text, toolCallId: callId, toolName: name });
}

async function toResults(
  table: ToolTable,
  calls: readonly CheckedCall[],
  ends: readonly CallEnd[],
  { home, limits }: BatchContext,
): Promise<readonly CallResult[]> {
  const texts = ends.map(({ text }) => text);
  const long = tooLong(texts, limits);
  const target = {
    directory: sessionFiles(home).resultsDir,
    limits,
    among: long.size,
    reader: table.has(READ_RESULT) ? READ_RESULT : undefined,
  };
  return Promise.all(
    calls.map(async ({ id: callId, name }, place): Promise<CallResult> => {
      const end = ends[place];
      if (end === undefined) throw new Error(`The call ${callId} of '${name}' has no result.`);
      const { kind, isError } = end;
      // Texts of our own say what happened to the call; only what a tool said is from outside.
      const source =
        kind === "ran" || kind === "failed" ? table.get(name)?.policy.untrustedSource : undefined;
      const result = { callId, name, kind, isError };
      if (!long.has(place)) return { ...result, text: withoutResultNote(fenced(end.text, source), callId) };
      if (kind === "ran" && table.get(name)?.policy.isRepeatable) return { ...result, text: LEFT_OUT };
      const { preview, note, path } = await spill(end.text, callId, target);
      const text = `${fenced(preview, source)}\n\n${note}`;
      return path === undefined ? { ...result, text } : { ...result, text, spilledTo: path };
    }),
  );
}

const LEFT_OUT =
  "[The answer is left out: with the other results of this reply it would take more than half of the context window. Make this call again, without the others.]";

/** The wording is matched by other programs. */
function notStarted(name: string, isAfterOne: boolean): string {
  return isAfterOne
    ? `[Tool execution skipped — ${name} was not started. User sent a new message]`
    : `[Tool execution cancelled — ${name} was skipped due to user interrupt]`;
}

/** However short: "Delete it all." is an instruction in 14 characters. */
function fenced(text: string, source: string | undefined): string {
  return source === undefined ? text : fenceUntrusted(text, source);
}
