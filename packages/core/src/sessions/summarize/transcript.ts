// A conversation as text for a model that sums it up. Every block begins with the id of its message, to be cited.
import { codePointLength, pyStrip, takeCodePoints } from "../../lib/index.ts";
import { contentText, isRefused, parseToolCalls, REFUSED_NOTE } from "../../message/index.ts";
import { redactSecrets, sanitizeContext } from "../../security/index.ts";
import type { MessageRow } from "../rows.ts";

export function formatTranscript(rows: readonly MessageRow[]): string {
  return rows.flatMap((row) => blocksOf(row).map((block) => `${mark(row.id)} ${block}`)).join("\n\n");
}

/** How a message is cited. */
export function mark(id: number): string {
  return `[#${id}]`;
}

const MAX_TOOL_CHARS = 500;
const KEPT_TOOL_CHARS = 250; // at each end

function blocksOf(row: MessageRow): string[] {
  const text = textOf(row);
  const said = text === "" ? [] : [text];
  switch (row.role) {
    case "tool":
      return said.map((output) => `[TOOL:${row.tool_name ?? "unknown"}]: ${shortened(output)}`);
    case "assistant": {
      const called = calledTools(row.tool_calls);
      const blocks = called.length === 0 ? said : [`[Called: ${called.join(", ")}]`, ...said];
      return blocks.map((block) => `[ASSISTANT]: ${block}`);
    }
    default:
      return said.map((block) => `[${row.role.toUpperCase()}]: ${block}`);
  }
}

/**
 * Without secrets, which are masked before anything is cut. Memory that was recalled into a message at the time is not part of what
 * was said.
 */
function textOf(row: MessageRow): string {
  if (isRefused(row)) return REFUSED_NOTE;
  const { role, content } = row;
  const text = content === null ? "" : redactSecrets(contentText(content));
  return role === "user" || role === "assistant" ? pyStrip(sanitizeContext(text)) : text;
}

function shortened(text: string): string {
  if (codePointLength(text) <= MAX_TOOL_CHARS) return text;
  const tail = [...text.slice(-2 * KEPT_TOOL_CHARS)].slice(-KEPT_TOOL_CHARS).join("");
  return `${takeCodePoints(text, KEPT_TOOL_CHARS)}\n...[truncated]...\n${tail}`;
}

/** A call without a name says nothing. */
function calledTools(calls: unknown): string[] {
  return parseToolCalls(calls).flatMap(({ name }) => (name === "unknown" ? [] : [name]));
}
