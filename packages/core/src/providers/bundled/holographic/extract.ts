// Facts in what a user wrote: preferences and decisions, by the form of the sentence.
import { codePointLength, pyStrip, takeCodePoints } from "../../../lib/index.ts";
import type { OpenAiMessage } from "../../../message/index.ts";
import type { Scoring } from "./settings.ts";
import { SPACE, WORD } from "./words-and-names.ts";

export type ExtractedFact = { readonly content: string; readonly category: "user_pref" | "project" };

const LEAST_CHARS = 10;
const MOST_CHARS = 400;

const PREFERENCES = [
  pattern("I _ (?:prefer|like|love|use|want|need) _ ."),
  pattern(`my _ (?:favorite|preferred|default) _ [${WORD}]+ _ is _ .`),
  pattern("I _ (?:always|never|usually) _ ."),
];
const DECISIONS = [
  pattern("we _ (?:decided|agreed|chose) _ (?:to _ )?."),
  pattern("the _ project _ (?:uses|needs|requires) _ ."),
];

/** In order; the first of two with the same text counts. */
export function extractFacts(messages: readonly OpenAiMessage[], scoring: Scoring): ExtractedFact[] {
  return messages.flatMap(({ role, content }) => {
    if (role !== "user" || typeof content !== "string") return [];
    return scoring === "reference" ? fromMessage(content) : sentences(content).flatMap(fromSentence);
  });
}

function fromMessage(message: string): ExtractedFact[] {
  if (codePointLength(message) < LEAST_CHARS) return [];
  const content = takeCodePoints(message, MOST_CHARS);
  const facts: ExtractedFact[] = [];
  if (matchesAny(PREFERENCES, message)) facts.push({ content, category: "user_pref" });
  if (matchesAny(DECISIONS, message)) facts.push({ content, category: "project" });
  return facts;
}

/** An opening mark ends the search for the one before it, so that a row of them costs no more than its length. */
const QUOTED = /"[^"]*"|“[^“”]*”|`[^`]*`/g;
const IMAGINED = new RegExp(`(?<![${WORD}])(?:if|unless|suppose|imagine|pretend)(?![${WORD}])`, "iu");

/** What is asked, imagined or quoted is not what the user holds. */
function fromSentence(sentence: string): ExtractedFact[] {
  const own = sentence.replace(QUOTED, '""');
  if (codePointLength(sentence) < LEAST_CHARS || sentence.endsWith("?") || IMAGINED.test(own)) return [];
  const content = takeCodePoints(sentence, MOST_CHARS);
  if (matchesAny(PREFERENCES, own)) return [{ content, category: "user_pref" }];
  return matchesAny(DECISIONS, own) ? [{ content, category: "project" }] : [];
}

/** Lines that quote somebody and blocks of code are left out. */
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

/** `_` with blanks around it stands for whitespace. */
function pattern(form: string): RegExp {
  return new RegExp(`(?<![${WORD}])${form.replaceAll(" _ ", `[${SPACE}]+`)}`, "iu");
}

function matchesAny(patterns: readonly RegExp[], text: string): boolean {
  return patterns.some((each) => each.test(text));
}
