// What ByteRover found, as text for a prompt or a tool result. Pure.
import { codePointLength, isRecord, pyStrip, takeCodePoints } from "../../../lib/index.ts";
import { fitChars } from "../../kit/budget.ts";
import { ANSWER_MIN_CHARS, TOOL_RESULT_MAX_CHARS } from "./limits.ts";
import { type BrvData, firstText } from "./reply.ts";

const HEADING = "## ByteRover Context";
/** brv 3.14 ends every answer of `query` with this, also an empty one. */
const FOOTER = /\s*---\s*Source: ByteRover Knowledge Base\s*$/;
/** And begins one that found nothing with this; it counts as completed. */
const NOTHING_FOUND = "**Summary**: No matching knowledge found";

/** Search hits under one heading, "" when there are none. */
export function searchRecall(data: BrvData, maxChars: number): string {
  const results = Array.isArray(data.results) ? data.results : [];
  return recall(results.flatMap(hitText).join("\n\n"), maxChars);
}

/** The model's answer under the same heading, "" when there is none. */
export function queryRecall(data: BrvData, maxChars: number): string {
  return recall(answerText(data), maxChars);
}

/** The model's answer for the `brv_query` tool. */
export function toolAnswer(data: BrvData): string {
  const answer = answerText(data);
  if (codePointLength(answer) < ANSWER_MIN_CHARS) return "No relevant memories found.";
  const head = takeCodePoints(answer, TOOL_RESULT_MAX_CHARS);
  return head.length < answer.length ? `${head}\n\n[... truncated]` : answer;
}

function recall(text: string, maxChars: number): string {
  return codePointLength(text) > ANSWER_MIN_CHARS ? fitChars(`${HEADING}\n${text}`, maxChars) : "";
}

function answerText(data: BrvData): string {
  const text = pyStrip((firstText(data.result, data.content) ?? "").replace(FOOTER, ""));
  return text.startsWith(NOTHING_FOUND) ? "" : text;
}

function hitText(hit: unknown): string[] {
  if (!isRecord(hit)) return [];
  const excerpt = pyStrip(firstText(hit.excerpt) ?? "");
  if (excerpt === "") return [];
  const title = firstText(hit.title);
  const path = firstText(hit.path);
  const label = [title === undefined ? [] : `**${title}**`, path === undefined ? [] : `(${path})`].flat();
  return [label.length === 0 ? excerpt : `${label.join(" ")}\n${excerpt}`];
}
