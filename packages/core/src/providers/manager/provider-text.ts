// What a provider says, made fit for a prompt: cut to its share, its fences taken off, dangerous paragraphs taken out.
// Memory is untrusted input: somebody else may have written what a provider recalls.
import { pyStrip, takeCodePoints } from "../../lib/index.ts";
import { disguisedThreats, maskStoredSecrets, scanThreats } from "../../security/index.ts";
import { unwrapRecall } from "../fence/block.ts";

type PromptText = {
  readonly text: string;
  readonly wasCut: boolean;
  readonly wasFenced: boolean;
  readonly blockedParagraphs: number;
  /** Credentials that were cut out of the text around them. */
  readonly maskedSecrets: number;
};

type PromptTextRules = {
  /** Config `memory.allow_secrets`: credentials stay in the text. */
  readonly allowSecrets?: boolean;
};

/**
 * `maxChars` counts code points of the provider's own text; the notes that stand for blocked paragraphs and secrets come on top. Half a surrogate
 * pair becomes U+FFFD: some model servers refuse a request that has one.
 */
export function toPromptText(raw: string, maxChars: number, rules: PromptTextRules = {}): PromptText {
  const head = shortened(raw, maxChars);
  const unwrapped = unwrapRecall(head.toWellFormed());
  const cut = takeCodePoints(unwrapped.text, maxChars);
  const { text, blocked } = withoutThreats(cut);
  const masked = rules.allowSecrets ? { text, count: 0 } : maskStoredSecrets(text);
  return {
    text: masked.text,
    wasCut: head !== raw || cut.length < unwrapped.text.length,
    wasFenced: unwrapped.wasFenced,
    blockedParagraphs: blocked,
    maskedSecrets: masked.count,
  };
}

// Written out, because `trim` takes U+FEFF for a blank and U+0085 for none.
const NOT_BLANK = /[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

/** Nothing but whitespace in Python's sense. Quick also for texts of many megabytes. */
export function isBlank(text: string): boolean {
  return !NOT_BLANK.test(text);
}

/** Room for a fence and its note around the text. */
const FENCE_CHARS = 1_000;
const CLOSE_TAG = /<\/\s*memory-context\s*>\s*$/i;

/** Only the part that can matter of a text that may be 100 MB long; a block that is cut keeps its end, so that it counts as one. */
export function shortened(raw: string, maxChars: number): string {
  const most = maxChars * 2 + FENCE_CHARS;
  if (raw.length <= most) return raw;
  const end = CLOSE_TAG.test(raw.slice(-64)) ? "</memory-context>" : "";
  return apart(raw.slice(0, most)) + end;
}

/** A copy: a slice would keep the whole text it was cut from in memory for as long as the conversation has it. */
function apart(slice: string): string {
  return structuredClone(slice);
}

function withoutThreats(text: string): { readonly text: string; readonly blocked: number } {
  // Odd places hold the blank lines between the paragraphs.
  const pieces = text.split(/(\n[^\S\n]*\n\s*)/);
  const blocked = new Set<number>();
  const block = (index: number, ids: readonly string[]): void => {
    pieces[index] = blocked.size < MAX_NOTES ? blockedNote(ids) : "";
    blocked.add(index);
  };
  for (const [index, piece] of pieces.entries()) {
    const ids = threatsIn(piece).map(({ id }) => id);
    if (ids.length > 0) block(index, ids);
  }
  // A payload may also be spread over paragraphs. Text that has one again and again was made to, and goes whole.
  for (let round = 0; ; round += 1) {
    const [finding] = threatsIn(pieces.join(""));
    if (finding === undefined) break;
    if (round === MAX_ROUNDS) return { text: blockedNote([finding.id]), blocked: blocked.size + 1 };
    let start = 0;
    let changed = false;
    for (const [index, piece] of pieces.entries()) {
      const end = start + piece.length;
      const touches = start < finding.end && end > finding.start;
      if (touches && index % 2 === 0 && piece !== "" && !blocked.has(index)) {
        block(index, [finding.id]);
        changed = true;
      }
      start = end;
    }
    if (!changed) return { text: blockedNote([finding.id]), blocked: blocked.size + 1 };
  }
  return { text: pieces.join(""), blocked: blocked.size };
}

/** Plain and disguised ones. */
function threatsIn(
  text: string,
): readonly { readonly id: string; readonly start: number; readonly end: number }[] {
  return [...scanThreats(text, "context"), ...disguisedThreats(text, { scope: "context" })];
}

const MAX_ROUNDS = 20;
/** Further blocked paragraphs go without a note: a note is longer than many a paragraph, and thousands would fill the prompt. */
const MAX_NOTES = 20;
const MAX_NAMED = 5;

/** Matches no threat pattern itself. */
function blockedNote(ids: readonly string[]): string {
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : "";
  const named = ids.slice(0, MAX_NAMED).join(", ");
  return `[BLOCKED: a paragraph of recalled memory was left out. Threat pattern(s): ${named}${more}.]`;
}

// ----
// A slash command that invokes a skill sends the whole skill as the user's message. Providers get what the user typed.

const INVOKED = "[IMPORTANT: The user has invoked the ";
const BUNDLE = " skill bundle,";
const BUNDLE_INSTRUCTION = "\nUser instruction: ";
const BUNDLE_END = "\n\n[Loaded as part of the ";
const SINGLE = "The full skill content is loaded below.]";
const SINGLE_INSTRUCTION = "The user has provided the following instruction alongside the skill invocation: ";
const SINGLE_END = "\n\n[Runtime note:";

/** Null when nothing of it is the user's own, and for anything that is not text. */
export function withoutSkillScaffolding(message: unknown): string | null {
  if (typeof message !== "string") return null;
  if (!message.startsWith(INVOKED)) return message;
  if (message.includes(BUNDLE)) {
    return between(message, message.indexOf(BUNDLE_INSTRUCTION), BUNDLE_INSTRUCTION, BUNDLE_END);
  }
  if (message.includes(SINGLE)) {
    return between(message, message.lastIndexOf(SINGLE_INSTRUCTION), SINGLE_INSTRUCTION, SINGLE_END);
  }
  return null;
}

function between(message: string, markerAt: number, marker: string, end: string): string | null {
  if (markerAt < 0) return null;
  const start = markerAt + marker.length;
  const endAt = message.indexOf(end, start);
  const typed = pyStrip(message.slice(start, endAt < 0 ? undefined : endAt));
  return typed === "" ? null : typed;
}
