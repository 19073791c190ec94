// Texts of Cursor's transcripts: the user's own words among the context around them, and the older transcripts as plain text.
import { textLines } from "../kit/json-lines.ts";
import { joined, listOf, recordOf, textOf } from "../kit/values.ts";
import type { Reading, TranscriptMessage } from "../reader.ts";

const QUERY = /<user_query>([\s\S]*?)<\/user_query>/g;

/** The content of a user message without the context that Cursor puts around `<user_query>`. Content without that tag stays as it is. */
export function contentOfQuery(content: unknown, role: string): unknown {
  if (role !== "user" || !hasQuery(content)) return content;
  if (typeof content === "string") return queries(content);
  return listOf(content).map((item) => {
    const block = recordOf(item);
    return block?.type === "text" ? { type: "text", text: queries(textOf(block.text) ?? "") } : item;
  });
}

function hasQuery(content: unknown): boolean {
  if (typeof content === "string") return queries(content) !== "";
  return listOf(content).some((item) => queries(textOf(recordOf(item)?.text) ?? "") !== "");
}

function queries(text: string): string {
  return joined([...text.matchAll(QUERY)].map(([, query = ""]) => query.trim()));
}

type Section = "text" | "thinking" | "call" | "result";

/**
 * Messages of a text transcript. `user:` and `assistant:` stand alone on their line; an answer has sections that begin with `[Thinking]`,
 * `[Tool call] Name` and `[Tool result]`, of which the last two go on as long as lines are indented.
 */
export async function* textTranscript(path: string, reading: Reading): AsyncGenerator<TranscriptMessage> {
  let draft: Draft | undefined;
  let section: Section = "text";
  let calls = 0;
  const open: OpenCall[] = []; // calls without a result so far
  for await (const { line, text } of textLines(path, reading)) {
    const role = SPEAKER.exec(text)?.[1];
    if (role === "user" || role === "assistant") {
      if (draft !== undefined) yield* finished(draft, reading);
      draft = newDraft(role, line);
      section = "text";
      continue;
    }
    if (draft === undefined) continue; // nothing was said yet
    const marker = draft.role === "user" ? null : MARKER.exec(text);
    if (marker !== null) {
      const [, name = "", rest = ""] = marker;
      if (name === "Tool result") {
        yield* finished(draft, reading);
        const byName = open.findIndex((call) => call.name === rest);
        draft = newDraft("tool", line, open.splice(Math.max(byName, 0), 1)[0]);
        section = "result";
      } else {
        if (draft.role === "tool") {
          yield* finished(draft, reading);
          draft = newDraft("assistant", line);
        }
        section = name === "Thinking" ? "thinking" : "call";
        if (section === "thinking") draft.thinking.push(rest);
        else {
          calls += 1;
          const call = { id: `call-${calls}`, name: rest || "unknown", lines: [] };
          draft.calls.push(call);
          open.push(call);
        }
      }
      continue;
    }
    const isIndented = /^\s/.test(text);
    if (section === "thinking" && text.trim() !== "") draft.thinking.push(text.trim());
    else if (section === "call" && isIndented) draft.calls.at(-1)?.lines.push(text.trim());
    else if (section === "result" && (isIndented || text.trim() === "")) draft.lines.push(text.trim());
    else {
      if (draft.role === "tool") {
        yield* finished(draft, reading);
        draft = newDraft("assistant", line);
      }
      section = "text";
      draft.lines.push(text);
    }
  }
  if (draft !== undefined) yield* finished(draft, reading);
}
const SPEAKER = /^(user|assistant):$/;
const MARKER = /^\[(Thinking|Tool call|Tool result)\]\s*(.*)$/;

type OpenCall = { readonly id: string; readonly name: string; readonly lines: string[] };
type Draft = {
  readonly role: "user" | "assistant" | "tool";
  readonly line: number;
  readonly lines: string[];
  readonly thinking: string[];
  readonly calls: OpenCall[];
  /** Of a result: the call it belongs to. */
  readonly answers: OpenCall | undefined;
};

function newDraft(role: Draft["role"], line: number, answers?: OpenCall): Draft {
  return { role, line, lines: [], thinking: [], calls: [], answers };
}

function* finished(draft: Draft, reading: Reading): Generator<TranscriptMessage> {
  const { role, line, lines, thinking, calls, answers } = draft;
  const whole = lines.join("\n").trim();
  const text = role === "user" ? queries(whole) || whole : whole;
  const reasoning = reading.options.includeReasoning ? thinking.join("\n").trim() : "";
  if (role === "tool") yield { role, text, line, toolCallId: answers?.id, toolName: answers?.name };
  else if (text !== "" || calls.length > 0 || reasoning !== "")
    yield {
      role,
      text,
      line,
      toolCalls:
        calls.length === 0
          ? undefined
          : calls.map((call) => ({ id: call.id, name: call.name, arguments: argumentsOf(call.lines) })),
      reasoning: reasoning === "" ? undefined : reasoning,
    };
}

/** Arguments are written as `name: value`, one on each line; a line without a name goes on with the value before. */
function argumentsOf(lines: readonly string[]): string {
  const found: Record<string, string> = {};
  let last: string | undefined;
  for (const line of lines) {
    const [, name, value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === undefined) found[last ?? "input"] = joinedLines(found[last ?? "input"], line);
    else found[name] = value;
    last = name ?? last;
  }
  return JSON.stringify(found);
}

function joinedLines(before: string | undefined, line: string): string {
  return before === undefined ? line : `${before}\n${line}`;
}
