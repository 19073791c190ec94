// Writes the summary of a node: by a model if one answers, otherwise as an excerpt of the sources.
import { codePointLength, pyStrip } from "../../lib/index.ts";
import type { SummaryFailure } from "../engine.ts";
import { type Focus, providerNotes, type SummaryModels, withEllipsis } from "../summary/summarise.ts";
import { cutMiddle, estimateText, fairLimit, fitTokens, shortenSections } from "../tokens.ts";

export type NodeText = {
  readonly text: string;
  readonly tokens: number;
  readonly method: "model" | "extract";
  /** Why it is only an excerpt, or why the first model did not write it. */
  readonly failure?: SummaryFailure;
};

export type NodeSource = {
  readonly kind: "messages" | "summaries";
  readonly texts: readonly string[];
  readonly sourceTokens: number;
  readonly providerText?: string;
};

type WriterOptions = {
  readonly models: SummaryModels;
  /** Length of a summary, in estimated tokens. */
  readonly summaryTokens: number;
  /** The smallest window of the models that may be asked, in estimated tokens. */
  readonly windowTokens: number;
  /** Tokens the models count for each token we estimate. */
  readonly factor: number;
  readonly focus: Focus | undefined;
  readonly signal: AbortSignal | undefined;
};

/** More calls would keep the user waiting. The other parts get an excerpt now and a model's summary at a later compaction. */
const MOST_CALLS = 100;
/** Summaries are independent, and models answer several requests at once. */
const AT_ONCE = 4;
/** Maximum output, as a multiple of the length asked for; and the multiple that is kept. */
const OUTPUT_FACTOR = 1.3;
const LONGEST_ANSWER = 2;
/** A short part needs only a short note. */
const LEAST_SUMMARY_TOKENS = 100;
const USABLE_SHARE = 0.85;
const LEAST_SOURCE_TOKENS = 300;
/** Characters per token, in the script with the fewest tokens. */
const MOST_CHARS = 4;
/** When a server counts more tokens than we estimate, the text is shortened to this share and sent again, at most this often. */
const SMALLER = 0.6;
const MOST_SMALLER = 4;

const NOTHING_SAID = "Lists of earlier parts, each of which is there on its own.";
const TOO_MANY: SummaryFailure = {
  kind: "cooldown",
  message: `More than ${MOST_CALLS} summaries at once; the others follow at the next compaction.`,
};

export class NodeWriter {
  readonly #options: WriterOptions;
  #callsLeft = MOST_CALLS;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** In the order of the list. Rejects only when the signal is aborted. */
  async writeAll(list: readonly NodeSource[]): Promise<readonly NodeText[]> {
    const written: NodeText[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      for (let at = next++; at < list.length; at = next++) {
        const item = list[at];
        if (item) written[at] = await this.write(item);
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, list.length) }, work));
    return written;
  }

  async write(item: NodeSource): Promise<NodeText> {
    if (item.texts.length === 0) return toNodeText(NOTHING_SAID, "model");
    const budgetTokens = this.#budget(item);
    const answer = await this.#ask(item, budgetTokens);
    if ("text" in answer) return answer;
    const extract = item.kind === "messages" ? extractOf : extractOfSummaries;
    const longest = extract(item.texts, budgetTokens * MOST_CHARS);
    const text = fitTokens(longest, budgetTokens, (_, chars) => extract(item.texts, chars));
    return { ...toNodeText(text, "extract"), failure: answer.failure };
  }

  /** False when no model may be asked now. */
  get isReady(): boolean {
    return this.#callsLeft > 0 && this.#options.models.available().ok;
  }

  async #ask(
    item: NodeSource,
    budgetTokens: number,
  ): Promise<NodeText | { readonly failure: SummaryFailure }> {
    const { models, focus, signal, factor } = this.#options;
    const available = models.available();
    if (!available.ok) return { failure: available.error };
    if (this.#callsLeft <= 0) return { failure: TOO_MANY };
    const room = this.#room(item, budgetTokens);
    if (room < LEAST_SOURCE_TOKENS) return { failure: tooSmall(this.#options.windowTokens) };
    const { kind, providerText } = item;
    const whole = item.texts.join("\n\n");
    const first = Math.min(room, estimateText(whole));
    const asked = Math.trunc(budgetTokens * factor);
    const maxOutputTokens = Math.trunc(budgetTokens * OUTPUT_FACTOR * factor);
    let failure: SummaryFailure | undefined;
    for (const model of available.value) {
      let refused: SummaryFailure | undefined;
      for (let again = 0, share = 1; again <= MOST_SMALLER; again += 1, share *= SMALLER) {
        this.#callsLeft -= 1;
        const text = fitTokens(whole, Math.trunc(first * share), cutMiddle);
        const prompt = nodePrompt({ kind, text, budgetTokens: asked, focus, providerText });
        const answer = await models.ask(model, { prompt, maxOutputTokens, signal });
        if (answer.ok) {
          const kept = fitTokens(answer.value, LONGEST_ANSWER * budgetTokens, shortenSections);
          return { ...toNodeText(kept, "model"), failure };
        }
        refused = answer.error;
        if (refused.kind !== "too_long") break;
      }
      failure ??= refused;
    }
    return { failure: failure ?? TOO_MANY };
  }

  #budget({ sourceTokens }: NodeSource): number {
    const wanted = Math.max(LEAST_SUMMARY_TOKENS, Math.trunc(sourceTokens / 2));
    return Math.min(this.#options.summaryTokens, wanted);
  }

  /** Tokens of the window that remain for the source text. */
  #room({ providerText }: NodeSource, budgetTokens: number): number {
    const words = estimateText(promptOverhead()) + estimateText(this.#options.focus?.topic ?? "");
    const output = Math.trunc(budgetTokens * OUTPUT_FACTOR);
    const notes = estimateText(providerText ?? "");
    return Math.trunc(this.#options.windowTokens * USABLE_SHARE) - words - output - notes;
  }
}

function toNodeText(given: string, method: NodeText["method"]): NodeText {
  // Programs that share the database stop reading at a NUL, and it cannot store half a surrogate pair.
  const text = pyStrip(given.replaceAll("\0", " ").toWellFormed());
  return { text, tokens: estimateText(text), method };
}

function tooSmall(windowTokens: number): SummaryFailure {
  return {
    kind: "failed",
    message: `The window of ${windowTokens} tokens is too small to summarise a part of this conversation.`,
  };
}

// Excerpts: the beginnings of the source texts, as much as fits. The same messages always give the same text.

const STATEMENT = "Summary generation was unavailable; these are excerpts.";
const LINE_CHARS = 240;
/** A shorter line says nothing, so some lines are left out instead. */
const LEAST_LINE_CHARS = 60;

/** `texts`: one per message. */
export function extractOf(texts: readonly string[], limitChars: number): string {
  const lines = texts.map((text) => pyStrip(text.replace(/\s+/g, " "))).filter((line) => line !== "");
  const room = Math.max(0, limitChars - codePointLength(STATEMENT) - 1);
  const fitting = Math.max(1, Math.floor(room / (LEAST_LINE_CHARS + 3)));
  const shown = lines.length <= fitting ? lines : withGap(lines, fitting - 1);
  const short = shown.map((line) => withEllipsis(line, LINE_CHARS));
  const limit = fairLimit(short.map(codePointLength), room - 3 * short.length);
  return [
    STATEMENT,
    ...short.map((line) => `- ${withEllipsis(line, Math.max(LEAST_LINE_CHARS, limit))}`),
  ].join("\n");
}

/** All summaries share the room. */
export function extractOfSummaries(summaries: readonly string[], limitChars: number): string {
  const bare = summaries.map((text) =>
    text.startsWith(STATEMENT) ? pyStrip(text.slice(STATEMENT.length)) : text,
  );
  const room = limitChars - codePointLength(STATEMENT) - 2 * bare.length;
  const limit = Math.max(LEAST_LINE_CHARS, fairLimit(bare.map(codePointLength), room));
  return [STATEMENT, ...bare.map((text) => cutMiddle(text, limit))].join("\n\n");
}

/** The first and the last lines, with a line between them that says how many are missing. */
function withGap(lines: readonly string[], count: number): readonly string[] {
  const head = Math.ceil(count / 2);
  const tail = Math.max(0, count - head);
  const left = lines.length - head - tail;
  return [...lines.slice(0, head), `(${left} more messages)`, ...lines.slice(lines.length - tail)];
}

// The prompt: one part of a conversation, or several summaries, become one summary.

type NodeRequest = {
  readonly kind: "messages" | "summaries";
  /** Blocks joined by blank lines, oldest first. */
  readonly text: string;
  readonly budgetTokens: number;
  readonly focus?: Focus;
  /** Notes of the memory providers. */
  readonly providerText?: string;
};

function nodePrompt({ kind, text, budgetTokens, focus, providerText }: NodeRequest): string {
  return [
    kind === "messages" ? OF_MESSAGES : OF_SUMMARIES,
    `${kind === "messages" ? "MESSAGES" : "SUMMARIES"}:\n${text}`,
    ...providerNotes(providerText),
    `${RULES} Use at most about ${budgetTokens} tokens.`,
    ...(focus === undefined ? [] : [focusBlock(focus)]),
  ].join("\n\n");
}

/** The wording without any source text, to measure its tokens. */
function promptOverhead(): string {
  const focus: Focus = { kind: "named", topic: "" };
  return nodePrompt({ kind: "summaries", text: "", budgetTokens: 10_000, focus });
}

const OF_MESSAGES =
  "Below is one part of a longer conversation between a user and an assistant who works with tools. Write a note that stands for this part. The messages themselves are kept and can be read again, so the note has two purposes: whoever reads it knows what happened, and can tell whether it is worth looking up the details.";

const OF_SUMMARIES =
  "Below are notes about neighbouring parts of one conversation, in order. Write one note that stands for all of them. The notes themselves are kept and can be read again, so the new one has two purposes: whoever reads it knows what happened, and can tell whether it is worth looking up the details.";

const RULES =
  "Say what the user wanted, what was done and how it ended, what was decided and why, and what stayed open. Name files, commands, people, dates, numbers and error messages as they were written, because they are what somebody will search for. " +
  "Where something was corrected or taken back later, only the last state counts. Write in the language of the user, in short plain paragraphs or list items without headings. " +
  "Leave passwords, keys and other secrets out and put [REDACTED] in their place. Answer with the note alone.";

function focusBlock({ kind, topic }: Focus): string {
  const order =
    kind === "named"
      ? "Give this topic most of the room where the text is about it."
      : "The user wrote this last; keep what it depends on.";
  return `FOCUS TOPIC: "${topic}"\n${order}`;
}
