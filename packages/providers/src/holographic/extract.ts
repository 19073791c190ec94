// Facts in the user's messages: preferences and decisions, recognised by the form of the sentence. Pure.
import { codePointLength, pyStrip, takeCodePoints } from "@hermes-memory/core/internal/lib";
import type { OpenAiMessage } from "@hermes-memory/core/internal/message";
import type { Scoring } from "./settings.ts";
import { SPACE, WORD } from "./words-and-names.ts";

export type ExtractedFact = { readonly content: string; readonly category: "user_pref" | "project" };

const MIN_CHARS = 10;
const MAX_CHARS = 400;

const START = `(?<![${WORD}])`;
const GAP = `[${SPACE}]+`;
const PREFERENCES = [
  new RegExp(`${START}I${GAP}(?:prefer|like|love|use|want|need)${GAP}.`, "iu"),
  new RegExp(`${START}my${GAP}(?:favorite|preferred|default)${GAP}[${WORD}]+${GAP}is${GAP}.`, "iu"),
  new RegExp(`${START}I${GAP}(?:always|never|usually)${GAP}.`, "iu"),
];
const DECISIONS = [
  new RegExp(`${START}we${GAP}(?:decided|agreed|chose)${GAP}(?:to${GAP})?.`, "iu"),
  new RegExp(`${START}the${GAP}project${GAP}(?:uses|needs|requires)${GAP}.`, "iu"),
];

/** In the order of the messages. Under `reference`, one message may give a preference and a decision with the same text. */
export function extractFacts(messages: readonly OpenAiMessage[], scoring: Scoring): ExtractedFact[] {
  return messages.flatMap(({ role, content }) => {
    if (role !== "user" || typeof content !== "string") return [];
    return scoring === "reference" ? fromMessage(content) : sentences(content).flatMap(fromSentence);
  });
}

function fromMessage(message: string): ExtractedFact[] {
  if (codePointLength(message) < MIN_CHARS) return [];
  const content = takeCodePoints(message, MAX_CHARS);
  const facts: ExtractedFact[] = [];
  if (matchesAny(PREFERENCES, message)) facts.push({ content, category: "user_pref" });
  if (matchesAny(DECISIONS, message)) facts.push({ content, category: "project" });
  return facts;
}

/** An opening quote ends the search for the previous one, so that a row of them takes linear time. */
const QUOTED = /"[^"]*"|“[^“”]*”|`[^`]*`/g;
const IMAGINED = new RegExp(`(?<![${WORD}])(?:if|unless|suppose|imagine|pretend)(?![${WORD}])`, "iu");

/** A question, a supposition or a quotation is not a statement of the user. */
function fromSentence(sentence: string): ExtractedFact[] {
  const own = sentence.replace(QUOTED, '""');
  if (codePointLength(sentence) < MIN_CHARS || sentence.endsWith("?") || IMAGINED.test(own)) return [];
  const content = takeCodePoints(sentence, MAX_CHARS);
  if (matchesAny(PREFERENCES, own)) return [{ content, category: "user_pref" }];
  return matchesAny(DECISIONS, own) ? [{ content, category: "project" }] : [];
}

/** Without quoted lines (`>`) and code blocks. */
function sentences(message: string): string[] {
  const lines = message
    .replace(/^```[\s\S]*?(?:^```|$(?![\s\S]))/gm, "")
    .split(/\r?\n/)
    .filter((line) => !/^\s*>/.test(line));
  return lines
    .flatMap((line) => line.split(/(?<=[.!?])\s+/))
    .map(pyStrip)
    .filter((sentence) => sentence !== "");
}

function matchesAny(patterns: readonly RegExp[], text: string): boolean {
  return patterns.some((each) => each.test(text));
}
