// The formats of an export: for each, how sessions become files.
import type { ExportedSession } from "@hermes-memory/core/internal/sessions";
import { counted } from "../printing.ts";
import { type ShownMessage, shownMessages, type Written } from "./exported-message.ts";
import type { StagedOutput } from "./staged-output.ts";

export type Format = {
  /** Of a file with all sessions. Undefined for a format that needs a folder. */
  readonly extension?: string;
  /** Of that file, when a folder is given. */
  readonly fileName: string;
  readonly write: (
    sessions: AsyncIterable<ExportedSession>,
    output: StagedOutput,
    /** `all`: also turns that were taken back. */
    options: { readonly all: boolean; readonly sessionsFile: string },
  ) => Promise<Written>;
};

export const FORMATS: Readonly<Record<"markdown" | "jsonl" | "chatgpt", Format>> = {
  markdown: { fileName: "index.md", write: writeMarkdown },
  jsonl: {
    extension: ".jsonl",
    fileName: "sessions.jsonl",
    write: oneFile("", "", (session, all) => {
      // Turns that a compaction replaced are part of the conversation.
      const kept = session.messages.filter(({ active, compacted }) => all || active !== 0 || compacted === 1);
      return { messages: kept.length, texts: jsonLine({ ...session, messages: kept }) };
    }),
  },
  chatgpt: {
    extension: ".json",
    fileName: "conversations.json",
    write: oneFile("[", "\n]\n", (session, all, index) => {
      const shown = shownMessages(session, { all });
      const text = JSON.stringify(chatGptConversation(session, shown));
      return { messages: shown.length, texts: [index === 0 ? "\n" : ",\n", text] };
    }),
  },
};

function oneFile(
  begin: string,
  end: string,
  textsOf: (
    session: ExportedSession,
    all: boolean,
    index: number,
  ) => { readonly messages: number; readonly texts: Iterable<string> },
): Format["write"] {
  return async (sessions, output, { all, sessionsFile }) => {
    const file = await output.open(sessionsFile);
    let count = 0;
    let written = 0;
    await file.write(begin);
    for await (const session of sessions) {
      const { messages, texts } = textsOf(session, all, count);
      for (const text of texts) await file.write(text);
      count += 1;
      written += messages;
    }
    await file.write(end);
    await file.close();
    return { sessions: count, messages: written };
  };
}

/** Message by message, because a long conversation does not fit into one string. */
function* jsonLine({ messages, ...session }: ExportedSession): Generator<string> {
  yield `${JSON.stringify(session).slice(0, -1)},"messages":[`;
  for (const [index, message] of messages.entries())
    yield `${index === 0 ? "" : ","}${JSON.stringify(message)}`;
  yield "]}\n";
}

// ---- ChatGPT ----

type Node = {
  readonly id: string;
  readonly parent: string | null;
  readonly children: string[];
  readonly message: object | null;
};

/**
 * A tool call is a message of its own in this format, to the tool as recipient. Turns that were taken back are a side branch of the
 * message before them.
 */
function chatGptConversation(session: ExportedSession, messages: readonly ShownMessage[]): object {
  const root: Node = { id: `${session.id}-root`, parent: null, children: [], message: null };
  const nodes: Node[] = [root];
  let activeTip = root;
  let last = root;
  for (const message of messages) {
    let above = message.isActive ? activeTip : last;
    for (const one of messagesOf(session, message)) {
      const node: Node = { id: one.id, parent: above.id, children: [], message: one };
      above.children.push(node.id);
      nodes.push(node);
      above = node;
    }
    last = above;
    if (message.isActive) activeTip = above;
  }
  return {
    title: session.title ?? "",
    create_time: session.started_at,
    update_time: messages.reduce(
      (latest, { at }) => Math.max(latest, at),
      session.ended_at ?? session.started_at,
    ),
    mapping: Object.fromEntries(nodes.map((node) => [node.id, node])),
    current_node: activeTip.id,
    conversation_id: session.id,
    default_model_slug: session.model,
    id: session.id,
  };
}

function messagesOf(session: ExportedSession, message: ShownMessage): ({ readonly id: string } & object)[] {
  const { id, role, text, at, calls, toolName } = message;
  const name = `${session.id}-${id}`;
  const metadata = role === "assistant" && session.model !== null ? { model_slug: session.model } : {};
  const whole = (key: string, recipient: string, content: string) => ({
    id: key,
    author: { role, name: role === "tool" ? (toolName ?? null) : null, metadata: {} },
    create_time: at,
    update_time: null,
    content: { content_type: "text", parts: [content] },
    status: "finished_successfully",
    end_turn: recipient === "all",
    weight: 1,
    metadata,
    recipient,
  });
  return [
    ...(text !== "" || calls.length === 0 ? [whole(name, "all", text)] : []),
    ...calls.map((call, index) => whole(`${name}-call-${index + 1}`, call.name, call.arguments)),
  ];
}

// ---- Markdown ----

// One session as a Markdown file. Texts are quoted line by line and tool output is in code blocks, so nothing in them can end a block,
// start a heading of the file or hide what follows. HTML in texts is shown as text, also by programs that would run it.

/** A file per session, in a folder per month, and an index. */
async function writeMarkdown(
  sessions: AsyncIterable<ExportedSession>,
  output: StagedOutput,
  { all }: { readonly all: boolean },
): Promise<Written> {
  const taken = new Set<string>();
  const index = await output.open("index.md");
  let count = 0;
  let messages = 0;
  await index.write("# Conversations\n\nThe most recently active first.\n\n");
  for await (const session of sessions) {
    const shown = shownMessages(session, { all });
    const name = freeName(markdownName(session), taken);
    const file = await output.open(name);
    for (const piece of markdownSession(session, shown)) await file.write(piece);
    await file.close();
    const link = name.split("/").map(encodeURIComponent).join("/");
    await index.write(
      `- ${isoTime(session.started_at).slice(0, 10)} [${headingText(session.title ?? session.id)}](${link}), ${session.source}, ${counted(shown.length, "message")}\n`,
    );
    count += 1;
    messages += shown.length;
  }
  await index.close();
  return { sessions: count, messages };
}

/** Ids may differ only in characters that a file name cannot have. */
function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let number = 2; taken.has(free.toLowerCase()); number += 1)
    free = name.replace(/\.md$/, `-${number}.md`);
  taken.add(free.toLowerCase());
  return free;
}

const LINE_END = /\r\n|\r|\n/;

/** In pieces, because a long conversation does not fit into one string. */
export function* markdownSession(
  session: ExportedSession,
  messages: readonly ShownMessage[],
): Generator<string> {
  const facts: readonly (readonly [string, unknown])[] = [
    ["id", session.id],
    ["title", session.title],
    ["source", session.source],
    ["model", session.model],
    ["user", session.user_id],
    ["folder", session.cwd],
    ["parent", session.parent_session_id],
    ["started", isoTime(session.started_at)],
    ["ended", session.ended_at === null ? null : isoTime(session.ended_at)],
    ["messages", messages.length],
  ];
  // Texts as JSON, which every YAML reader understands whatever they hold. Some programs show it as a part of the text, with its HTML.
  const asJson = (value: unknown): string => JSON.stringify(value).replaceAll("<", "\\u003c");
  const known = facts.filter(([, value]) => value !== null && value !== undefined);
  yield `---\n${known.map(([name, value]) => `${name}: ${asJson(value)}\n`).join("")}---\n\n`;
  yield `# ${headingText(session.title ?? session.id)}\n`;
  for (const [at, message] of messages.entries()) yield messageBlock(at + 1, message);
}

function messageBlock(number: number, message: ShownMessage): string {
  const { role, at, text, calls, toolName, isActive } = message;
  const who = role === "tool" && toolName !== undefined ? `tool ${headingText(toolName)}` : headingText(role);
  const head = `\n## ${number}. ${who}, ${isoTime(at)}${isActive ? "" : " (taken back)"}\n`;
  const body = role === "tool" ? folded("Result", text) : quoted(text);
  const made = calls.map((call) => folded(`Call: ${htmlText(call.name)}`, indentedJson(call.arguments)));
  return head + body + made.join("");
}

function quoted(text: string): string {
  if (text === "") return "";
  return `\n${[...shownLines(text)].map((line) => (line === "" ? ">" : `> ${line}`)).join("\n")}\n`;
}

const CODE_BEGIN = /^([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)((`{3,})[^`]*|(~{3,}).*)$/;
const CODE_END = /^[ \t]*(`{3,}|~{3,})[ \t]*$/;

/**
 * Code blocks keep their lines. Their fences are moved to the start of a line, where they end lists and are fences for every renderer:
 * text that is taken for code here is code there.
 */
function* shownLines(text: string): Generator<string> {
  let fence = "";
  let paragraph: string[] = [];
  const endParagraph = (): readonly string[] => {
    const isPaired = paragraph.every(hasPairedTicks);
    const shown = paragraph.map((line) => withoutHtml(line, isPaired));
    paragraph = [];
    return shown;
  };
  for (const line of text.split(LINE_END)) {
    if (fence !== "") {
      const isEnd = CODE_END.exec(line)?.[1]?.startsWith(fence) ?? false;
      yield isEnd ? line.trimStart() : line;
      if (isEnd) fence = "";
      continue;
    }
    const [, before = "", begin, ticks, tildes] = CODE_BEGIN.exec(line) ?? [];
    const isBlank = /^[ \t]*$/.test(line);
    if (begin === undefined && !isBlank) paragraph.push(line);
    else yield* endParagraph();
    if (isBlank) yield line;
    if (begin === undefined) continue;
    if (before.trim() !== "") yield before;
    yield begin;
    fence = ticks ?? tildes ?? "";
  }
  yield* endParagraph();
}

/** Code within the line is then code for every renderer, whichever lines or cells of the paragraph it reads together. */
function hasPairedTicks(line: string): boolean {
  const ticks = line.match(/`+/g) ?? [];
  if (ticks.length === 0) return true;
  return ticks.length % 2 === 0 && ticks.every((run) => run === "`") && !/\\`|\|/.test(line);
}

/** Where a link may lead: to a page or a file, so to nothing that runs. */
const SAFE_TARGET = String.raw`\s*(?:https?://|mailto:|[#/.?]|[^\s():&\\%]+(?:[)\s/?#]|$))`;
const UNSAFE_LINK = new RegExp(String.raw`\]([(:])(?!${SAFE_TARGET})`, "gi");

function withoutHtml(line: string, isPaired: boolean): string {
  const pieces = isPaired ? line.split(/(`[^`]+`)/) : [line]; // odd indexes are code
  return pieces
    .map((piece, at) =>
      at % 2 === 1 ? piece : piece.replace(/<(?=[a-z/!?])/gi, "&lt;").replace(UNSAFE_LINK, "]\\$1"),
    )
    .join("");
}

/** Closed until the reader opens it. The fence is longer than any in the text. */
function folded(summary: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const lines = text.split(LINE_END).join("\n");
  return `\n<details><summary>${summary}</summary>\n\n${fence}text\n${lines}\n${fence}\n\n</details>\n`;
}

function indentedJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** On one line, and without a meaning in Markdown. */
function headingText(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.replace(/[\\`*_[\]<>#|~]/g, "\\$&");
}

function htmlText(text: string): string {
  return text.replace(/\s+/g, " ").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** A time that no calendar has, as other programs may store, is given as its number. */
function isoTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString();
}

/** `2026-11/2026-11-03-kiln-glaze-<id>.md`: the id keeps two sessions with one title apart. */
function markdownName({ id, title, started_at: startedAt }: ExportedSession): string {
  const day = /^\d{4}-\d{2}-\d{2}/.exec(isoTime(startedAt))?.[0] ?? "undated";
  const words = [fileWords(title ?? "", 40), fileWords(id, 80)].filter((part) => part !== "");
  return `${day === "undated" ? day : day.slice(0, 7)}/${[day, ...words].join("-")}.md`;
}

/** File systems take names of 255 bytes; the day, the title, the id and a number have to fit. */
const PART_BYTES = 110;

/** Letters and digits that every file system takes. */
function fileWords(text: string, limit: number): string {
  const words = text
    .normalize("NFC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .slice(0, limit)
    .toWellFormed();
  const fitting = Buffer.from(words).subarray(0, PART_BYTES).toString("utf8");
  return fitting.replace(/\ufffd+$/, "").replace(/^-+|-+$/g, ""); // a character that was cut in two
}
