// The replies of the scripted model. Fixed rules: look at the newest message, call the tool that a model would call, and make the
// answer from the tool's result. Pure.
import {
  type Json,
  jsonIn,
  recordOf,
  type ScriptedReply,
  type WireMessage,
  type WireRequest,
} from "./scripted-server.ts";

export const MODELS = {
  chat: "scripted-model",
  titles: "scripted-titles",
  summaries: "scripted-summaries",
} as const;

export function scriptedReply(request: WireRequest): ScriptedReply {
  if (request.model === MODELS.titles) return text(titleFor(said(request)));
  if (request.model === MODELS.summaries) return text(summaryOf(said(request)));
  const last = request.messages.at(-1);
  const before = request.messages.at(-2);
  if (last?.role === "tool") return afterTool(before?.calls[0]?.name ?? "", jsonIn(last.text) ?? {});
  return isReview(request) ? review(request.messages) : answer(said(request));
}

/** The request of a background review: the conversation, and one more message that says what may be done. */
export function isReview({ messages }: Pick<WireRequest, "messages">): boolean {
  return messages.some(({ role, text: asked }) => role === "user" && REVIEW_SIGN.test(asked));
}

const REVIEW_SIGN = /\[Only the memory and skill tools may be called now/;

export const USER_ENTRY = "Wants short answers: reads them on a phone beside the kiln";

/** Saves a preference when the user's last message states one. */
function review(messages: readonly WireMessage[]): ScriptedReply {
  const talked = messages.findLast(({ role, text: asked }) => role === "user" && !REVIEW_SIGN.test(asked));
  if (!/short answers/i.test(talked?.text ?? "")) return text("Nothing to save.");
  return call("memory", { action: "add", target: "user", content: USER_ENTRY });
}

const HELP =
  "I am a script, not a model. I understand: 'Remember that ...', 'What did we say about ...?', and pasted firing logs.";

function answer(asked: string): ScriptedReply {
  const [, fact] = /\bremember(?: that|:)?\s+(.+?)\.?\s*$/is.exec(asked) ?? [];
  if (fact !== undefined) return call("memory", { action: "add", target: "memory", content: sentence(fact) });
  const [, topic] = /what did we say about (.+?)\?/is.exec(asked) ?? [];
  if (topic !== undefined) return call("session_search", { query: topic });
  const [, wanted] = /what did (.+?) say, word for word/is.exec(asked) ?? [];
  if (wanted !== undefined) return call("lcm_grep", { query: `"${wanted}"`, role: "user" });
  const [, log] = /^firing log (\d+)/i.exec(asked) ?? [];
  if (log !== undefined) return text(`Log ${log} peaks at ${peakIn(asked)} degrees.`);
  if (/crawled/i.test(asked)) return text("Then wipe the bisque with a damp sponge before glazing.");
  return text(/short answers/i.test(asked) ? "Short it is." : HELP);
}

function afterTool(name: string, result: Json): ScriptedReply {
  // A hit can be a stored tool call; the text of a message makes the better answer.
  const first = resultsIn(result).find(({ snippet }) => !String(snippet).trimStart().startsWith("[{"));
  switch (name) {
    case "memory":
      return text(result.success === true ? "Noted." : `That was refused: ${String(result.error)}`);
    case "session_search":
      return text(first ? `We said: ${plain(String(first.snippet))}` : "I find nothing about it.");
    case "lcm_grep": {
      // The question itself is a hit too; only a compacted message has to be fetched.
      const hit = resultsIn(result).find(({ covered_by }) => typeof covered_by === "string");
      return hit ? call("lcm_expand", { store_id: Number(hit.store_id) }) : text("It is not there.");
    }
    case "lcm_expand":
      return text(`It begins: ${String(result.content).split("\n", 1)[0]}`);
    default:
      return text("Done.");
  }
}

function titleFor(asked: string): string {
  if (/firing log/i.test(asked)) return "Firing logs of the Vesuvius kiln";
  return /crawled/i.test(asked) ? "The glaze that crawled" : "Kiln and glaze notes";
}

function summaryOf(part: string): string {
  const logs = [...new Set([...part.matchAll(/Firing log (\d+) of/g)].map(([, log]) => log))];
  const peaks = [...part.matchAll(/Log (\d+) peaks at (\d+) degrees/g)].map(
    ([, log, peak]) => `log ${log}: ${peak}`,
  );
  return `The user pasted firing logs ${logs.join(", ")} of the Vesuvius kiln. Peaks in degrees: ${peaks.join(", ") || "none"}.`;
}

function peakIn(log: string): number {
  return Math.max(0, ...[...log.matchAll(/(\d+) degrees/g)].map(([, degrees]) => Number(degrees)));
}

function said({ messages }: WireRequest): string {
  return messages.findLast(({ role }) => role === "user")?.text ?? "";
}

function resultsIn({ results }: Json): readonly Json[] {
  return Array.isArray(results) ? results.map(recordOf) : [];
}

/** Without the marks around the matching words. */
function plain(snippet: string): string {
  return snippet.replace(/>>>|<<</g, "");
}

function sentence(fact: string): string {
  return `${fact.charAt(0).toUpperCase()}${fact.slice(1)}`;
}

function text(answered: string): ScriptedReply {
  return { kind: "text", text: answered };
}

function call(name: string, args: (ScriptedReply & { kind: "call" })["arguments"]): ScriptedReply {
  return { kind: "call", name, arguments: args };
}
