// Aider: the Markdown history .aider.chat.history.md, to which every launch adds one session.
import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { format, type Said } from "../declare.ts";
import { textLines } from "../kit/json-lines.ts";
import { textOf } from "../kit/values.ts";
import { unitsOf } from "../kit/walk.ts";
import type { Reading, TranscriptMessage } from "../reader.ts";

const HISTORY = ".aider.chat.history.md";
const HEADER = /^# aider chat started at (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\s*$/;
/** Commands that say nothing about the work. */
const SILENT_COMMAND = /^\/(?:add|drop|clear|exit|run)(?:\s|$)/;
const MODEL = /^(?:Main model|Model): (\S+)/;
const VERSION = /^Aider v(\S+)/;
const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
/** A long session is read in blocks of about this many characters. A fence counts only if it closes in its block. */
const MAX_BLOCK_CHARS = 8 * 1024 ** 2;

export const aider = format({
  source: "aider",
  title: "Aider",
  evidence: "S",
  // Histories lie in the projects, which only the user can name; --path takes any folder above them.
  roots: ({ home, env, cwd }) => {
    const named = textOf(env.AIDER_CHAT_HISTORY_FILE);
    const own = join(home, HISTORY);
    return named === undefined ? [own] : [...new Set([own, resolve(cwd, named)])];
  },
  units: unitsOf((path) => basename(path) === HISTORY, {
    folder: (path) => !["node_modules", ".git"].includes(basename(path)),
  }),
  recognises: ({ path, head }) =>
    basename(path) === HISTORY ||
    new TextDecoder()
      .decode(head.subarray(0, 4096))
      .split("\n")
      .some((line) => HEADER.test(line)),
  read: async function* ({ path }, reading) {
    const history = new History(await realpath(path), reading.options.tools === "full");
    for await (const block of launches(path, reading)) {
      const fenced = fencedLines(block);
      for (const line of block) yield* history.line(line, fenced.has(line.line));
    }
    yield* history.end();
  },
});

type Line = { readonly line: number; readonly text: string };

/** The lines of each launch, which begins with its header. */
async function* launches(path: string, reading: Reading): AsyncGenerator<readonly Line[]> {
  let block: Line[] = [];
  let chars = 0;
  for await (const { line, text } of textLines(path, reading)) {
    if (HEADER.test(text) || chars > MAX_BLOCK_CHARS) {
      yield block;
      block = [];
      chars = 0;
    }
    block.push({ line, text });
    chars += text.length;
  }
  yield block;
}

/**
 * Numbers of the lines in fences, with those that open and close them. Aider does not escape its own marks in fences, so a fence counts
 * only if it closes before the next launch: else an answer that was cut off would swallow the rest of its session.
 */
function fencedLines(block: readonly Line[]): ReadonlySet<number> {
  const fences = block.flatMap(({ line, text }) => {
    const [, mark = "", info = ""] = FENCE.exec(text) ?? [];
    return mark === "" ? [] : [{ line, mark, info: info.trim() }];
  });
  /** Marks of this length, by their character, have no end in the rest of the block: they are not searched again and again. */
  const endless: Record<string, number> = {};
  const fenced = new Set<number>();
  for (let at = 0; at < fences.length; at += 1) {
    const open = fences[at];
    if (open === undefined || open.mark.length >= (endless[open.mark.charAt(0)] ?? Infinity)) continue;
    if (open.mark.startsWith("`") && open.info.includes("`")) continue; // code within a line of text
    const end = closing(open.mark, at + 1);
    const close = fences[end];
    if (close === undefined) endless[open.mark.charAt(0)] = open.mark.length;
    else {
      for (let line = open.line; line <= close.line; line += 1) fenced.add(line);
      at = end;
    }
  }
  return fenced;

  function closing(mark: string, from: number): number {
    let at = from;
    while (at < fences.length && !(fences[at]?.info === "" && fences[at]?.mark.startsWith(mark))) at += 1;
    return at;
  }
}

/** Puts lines together to messages, as Aider's own splitter does outside of fences. */
class History {
  readonly #path: string;
  readonly #keepsOutput: boolean;
  /** How often each header was seen: two launches in one second have the same. */
  readonly #seen = new Map<string, number>();
  /** Aider has no ids. This one is no valid session id, so the importer makes a hash of it. */
  #nativeId = "";
  #hasUserText = false;
  /** Whether lines of the user end with two blanks, as Aider writes them. Undefined before the first. */
  #endsWithBlanks: boolean | undefined;
  #open:
    | { readonly role: TranscriptMessage["role"]; readonly line: number; readonly lines: string[] }
    | undefined;

  /** `keepsOutput`: also what Aider and its commands printed, most of which is noise. */
  constructor(path: string, keepsOutput: boolean) {
    this.#path = path;
    this.#keepsOutput = keepsOutput;
  }

  *line({ line, text }: Line, isFenced: boolean): Generator<Said> {
    if (HEADER.test(text)) {
      yield* this.#closed();
      return yield this.#session(text);
    }
    const isBlank = text.trim() === "";
    if (this.#nativeId === "") {
      if (isBlank) return;
      yield this.#session(""); // the beginning of the file was removed
    }
    if (isFenced) return yield* this.#add("assistant", line, text);
    if (isBlank) {
      if (this.#open?.role === "user") yield* this.#closed();
      if (this.#open?.role === "assistant") this.#open.lines.push("");
    } else if (this.#isUserLine(text)) {
      this.#hasUserText = true;
      const said = text.slice(5).replace(/ {2}$/, "");
      yield* this.#add("user", line, said === "<blank>" ? "" : said);
    } else if (text.startsWith("> ")) {
      const output = text.slice(2).trimEnd();
      if (!this.#hasUserText) yield* this.#launchFacts(output);
      if (this.#keepsOutput) yield* this.#add("tool", line, output);
      else yield* this.#closed();
    } else yield* this.#add("assistant", line, text);
  }

  end(): Generator<Said> {
    return this.#closed();
  }

  #session(header: string): Said {
    const [, date, time] = HEADER.exec(header) ?? [];
    const key = `${date ?? ""} ${time ?? ""}`.trim();
    const count = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.set(key, count);
    this.#hasUserText = false;
    this.#endsWithBlanks = undefined;
    const startedAt = Date.parse(`${date}T${time}`) / 1000; // without a zone, so local time
    this.#nativeId = `${this.#path}#${key}#${count}`;
    return {
      nativeId: this.#nativeId,
      cwd: dirname(this.#path),
      startedAt: Number.isNaN(startedAt) ? undefined : startedAt,
      hasSyntheticTimes: true,
    };
  }

  *#launchFacts(output: string): Generator<Said> {
    const model = MODEL.exec(output)?.[1];
    const cliVersion = VERSION.exec(output)?.[1];
    if (model !== undefined || cliVersion !== undefined)
      yield { nativeId: this.#nativeId, model, cliVersion };
  }

  /** A heading of the fourth level in an answer has no two blanks at its end. Editors may have removed them everywhere. */
  #isUserLine(text: string): boolean {
    if (!text.startsWith("#### ")) return text === "####" && this.#open?.role === "user";
    this.#endsWithBlanks ??= text.endsWith("  ");
    return !this.#endsWithBlanks || text.endsWith("  ");
  }

  *#add(role: TranscriptMessage["role"], line: number, text: string): Generator<Said> {
    if (this.#open?.role !== role) {
      yield* this.#closed();
      this.#open = { role, line, lines: [] };
    }
    this.#open?.lines.push(text);
  }

  *#closed(): Generator<Said> {
    if (this.#open === undefined) return;
    const { role, line, lines } = this.#open;
    this.#open = undefined;
    const text = lines.join("\n").trim();
    if (text !== "" && (role !== "user" || !SILENT_COMMAND.test(text))) yield { role, text, line };
  }
}
