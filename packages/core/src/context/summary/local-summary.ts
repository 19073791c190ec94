// The handoff body written without a model: facts read off the turns, under the headings a model would use, and a statement
// of what is missing and where to find it.
import { codePointLength, pyStrip, takeCodePoints } from "../../lib/index.ts";
import { isResult, type Message, roleOf, toolCallsOf } from "../../message/index.ts";
import { isTaskList } from "../compressor/handoff.ts";
import { whereStored } from "../compressor/notices.ts";
import { parseArguments } from "../compressor/prune.ts";
import type { LeftOut, Redact, StoredMessages, SummaryFailure } from "../engine.ts";
import { estimateText, fitTokens, lastCodePoints, shortenSections } from "../tokens.ts";
import { contentText } from "./summarise.ts";

export type LocalHandoff = {
  /** Turns that no model has read. */
  readonly turns: readonly Message[];
  /** Kept word for word as far as `previousLimitTokens` allows. */
  readonly previousSummary?: string;
  readonly previousLimitTokens: number;
  /** Limit for the whole text while the previous summary is short. */
  readonly limitChars: number;
  /** Limit for the whole text, a previous summary of any length included. */
  readonly roomTokens: number;
  readonly failure: SummaryFailure;
  readonly leftOut: LeftOut;
  readonly redact: Redact;
  readonly stored?: StoredMessages;
};

const HEADING_AFTER_PREVIOUS = "# Turns compacted later, without a model";
const LEAST_CHARS = 600;
const LEAST_TOKENS = 150;
/** A previous summary uses up at most this much of `limitChars`. */
const MOST_SHARED_CHARS = 3_000;
const ACTIONS = 12;
const CALL_NAMES = 6;
const TROUBLES = 5;
const TROUBLE_CHARS = 500;
const FILES = 12;
const LAST_TURNS = 8;
const LAST_TURN_CHARS = 700;
const TEXT_LIMIT = 600;
const TEXT_HEAD = 420;
const TEXT_TAIL = 160;

export function localHandoff(handoff: LocalHandoff): string {
  const { previousSummary, redact } = handoff;
  const previous = previousSummary
    ? fitTokens(redact(previousSummary), handoff.previousLimitTokens, shortenSections)
    : undefined;
  const frame = previous === undefined ? "" : `${previous}\n\n${HEADING_AFTER_PREVIOUS}\n\n`;
  const end = `\n\n## Critical Context\n${redact(statement(handoff))}`;
  const limit =
    handoff.limitChars - Math.min(codePointLength(frame), MOST_SHARED_CHARS) - codePointLength(end);
  const room = handoff.roomTokens - estimateText(frame) - estimateText(end);
  // Redacted again as a whole: joining pieces can complete a secret that no single piece contained.
  const local = shortenSections(redact(sections(handoff)), Math.max(LEAST_CHARS, limit));
  return frame + fitTokens(local, Math.max(LEAST_TOKENS, room), shortenSections) + end;
}

/** All sections but the last, which is never shortened. */
function sections({ turns, redact }: LocalHandoff): string {
  const said = turns.map((turn) => ({ turn, text: pyStrip(redact(contentText(turn.content))) }));
  const lastUser = said.findLast(
    ({ turn, text }) => turn.role === "user" && text !== "" && !isTaskList(turn),
  );
  const asked = lastUser ? `User asked: ${JSON.stringify(short(lastUser.text))}` : "None.";
  const troubles = said.filter(({ turn, text }) => isResult(turn) && TROUBLE.test(text));
  const done = said.flatMap(action).slice(0, ACTIONS);
  const list = (items: readonly string[]): string => items.map((item) => `- ${item}`).join("\n") || "None.";
  return [
    ["Historical Task Snapshot", asked],
    ["Goal", "Not known: it has to be read from the task above and the messages that follow."],
    ["Constraints & Preferences", "Not known from here; MEMORY.md and USER.md hold what was noted."],
    ["Completed Actions", done.map((item, at) => `${at + 1}. ${item}`).join("\n") || "None."],
    ["Active State", "Not known; look at the files and processes themselves."],
    ["Historical In-Progress State", asked],
    [
      "Blocked",
      list(troubles.slice(-TROUBLES).map(({ text }) => oneLine(takeCodePoints(text, TROUBLE_CHARS)))),
    ],
    ["Key Decisions", "Not known."],
    ["Resolved Questions", "Not known."],
    ["Historical Pending User Asks", asked],
    ["Relevant Files", list(pathsIn(turns, FILES).map(redact))],
    ["Historical Remaining Work", "Not known."],
    ["Last Dropped Turns", list(said.slice(-LAST_TURNS).map(droppedTurn))],
  ]
    .map(([heading, text]) => `## ${heading}\n${text}`)
    .join("\n\n");
}

type Said = { readonly turn: Message; readonly text: string };

const TROUBLE = /error|failed|exception|traceback|timeout|fatal/i;

function action({ turn, text }: Said): string[] {
  if (isResult(turn)) return text === "" ? [] : [oneLine(short(text))];
  if (turn.role !== "assistant") return [];
  const names = toolCallsOf(turn).map(({ name }) => name);
  if (names.length > 0) return [`Called tool(s): ${names.slice(0, CALL_NAMES).join(", ")}`];
  return text === "" ? [] : [oneLine(short(text))];
}

function droppedTurn({ turn, text }: Said): string {
  const calls = toolCallsOf(turn).map(({ name }) => name);
  const said = text === "" && calls.length > 0 ? `called ${calls.join(", ")}` : oneLine(text);
  return takeCodePoints(`${roleOf(turn).toUpperCase()}: ${said || "(no text)"}`, LAST_TURN_CHARS);
}

function statement({ failure, stored, leftOut: { count, firstRowId, lastRowId } }: LocalHandoff): string {
  const rows = firstRowId === undefined ? "" : ` (rows ${firstRowId} to ${lastRowId ?? firstRowId})`;
  const messages = count === 1 ? "1 message" : `${count} messages`;
  return (
    `Summary generation was unavailable (${failure.kind}: ${failure.message}). ${messages}${rows} left the context without a summary; ` +
    `above is what could be read off them. ${whereStored(stored)}`
  );
}

function short(text: string): string {
  if (codePointLength(text) <= TEXT_LIMIT) return text;
  return `${takeCodePoints(text, TEXT_HEAD)} ... ${lastCodePoints(text, TEXT_TAIL)}`;
}

/** Headings and list marks inside a quoted text would look like ours. */
function oneLine(text: string): string {
  return pyStrip(text.replace(/\s+/g, " "));
}

// Files that the turns mention: named in the arguments of tool calls, or text that looks like a path.

const ARGUMENTS = ["path", "file_path", "output_path", "workdir"];
const READ_CHARS = 4_000;
const PATH_CHARS = 300;
// Two or more names joined by slashes, with a root or a file extension, so that neither "and/or" nor a URL matches.
const PATH_LIKE =
  /(?<![\w:/.~@-])(?:(?:~|\.{1,2})?(?:\/[\w.@+-]{1,120}){2,20}|[\w@+-][\w.@+-]{0,119}(?:\/[\w.@+-]{1,120}){0,20}\/[\w@+-]{1,120}\.[A-Za-z]\w{0,7})(?![\w/])/g;

/** The newest paths in the order they are mentioned, each once. */
export function pathsIn(turns: readonly Message[], limit: number): readonly string[] {
  const paths = new Set<string>();
  for (const turn of turns.toReversed()) {
    const inText = takeCodePoints(contentText(turn.content), READ_CHARS).match(PATH_LIKE) ?? [];
    for (const path of [...fromCalls(turn), ...inText].toReversed()) {
      if (paths.size >= limit) return [...paths].reverse();
      paths.add(takeCodePoints(path, PATH_CHARS));
    }
  }
  return [...paths].reverse();
}

function fromCalls(turn: Message): readonly string[] {
  return toolCallsOf(turn).flatMap((call) => {
    const given = parseArguments(call.arguments);
    return ARGUMENTS.flatMap((name) => {
      const value = given[name];
      return typeof value === "string" && value !== "" ? [value] : [];
    });
  });
}
