// Texts that pass between a provider and a conversation. A provider's text for a prompt is cut to its limit, scanned, and freed of fences
// and marks of chat templates, because recalled memory is untrusted input. The user's message for a provider is freed of the skill that a slash command put around it;
// a message that asks for nothing is not looked up at all.
import { codePointLength, pyStrip, takeCodePoints } from "../../lib/index.ts";
import { defused, disguisedThreats, maskStoredSecrets, scanThreats } from "../../security/index.ts";
import { unwrapRecall } from "../fence/recall-fence.ts";

type PromptText = {
  readonly text: string;
  readonly wasCut: boolean;
  readonly wasFenced: boolean;
  readonly blockedParagraphs: number;
  /** Number of credentials that were cut out of the text. */
  readonly maskedSecrets: number;
};

type PromptTextRules = {
  /** Config `memory.allow_secrets`: credentials stay in the text. */
  readonly allowSecrets?: boolean;
};

/**
 * `maxChars` limits the code points of the provider's text; notes in place of blocked paragraphs and secrets are not counted. A lone
 * surrogate becomes U+FFFD, because some model servers refuse a request with one.
 */
export function toPromptText(raw: string, maxChars: number, rules: PromptTextRules = {}): PromptText {
  const head = shortened(raw, maxChars);
  const unwrapped = unwrapRecall(head.toWellFormed());
  const cut = takeCodePoints(unwrapped.text, maxChars);
  const { text, blocked } = withoutThreats(cut);
  const masked = rules.allowSecrets ? { text, count: 0 } : maskStoredSecrets(text);
  return {
    text: defused(masked.text),
    wasCut: head !== raw || cut.length < unwrapped.text.length,
    wasFenced: unwrapped.wasFenced,
    blockedParagraphs: blocked,
    maskedSecrets: masked.count,
  };
}

/** Only whitespace, as Python defines it. */
export function isBlank(text: string): boolean {
  return pyStrip(text) === "";
}

/** For a fence and its note around the text. */
const FENCE_CHARS = 1_000;
const CLOSE_TAG = /<\/\s*memory-context\s*>\s*$/i;

/** The part of a text (which may have 100 MB) that can be used. A fenced text that is cut keeps its close tag, so that it stays fenced. */
export function shortened(raw: string, maxChars: number): string {
  const most = maxChars * 2 + FENCE_CHARS;
  if (raw.length <= most) return raw;
  const end = CLOSE_TAG.test(raw.slice(-64)) ? "</memory-context>" : "";
  // A copy, because a slice would keep the whole original text in memory.
  return structuredClone(raw.slice(0, most)) + end;
}

function withoutThreats(text: string): { readonly text: string; readonly blocked: number } {
  // Odd indexes are what is between the paragraphs and list items: recall is often one list, and one bad memory must not hide the others.
  const pieces = text.split(/(\n[^\S\n]*\n\s*|\n(?=- ))/);
  const blocked = new Set<number>();
  const block = (index: number, ids: readonly string[]): void => {
    pieces[index] = blocked.size < MAX_NOTES ? blockedNote(ids) : "";
    blocked.add(index);
  };
  for (const [index, piece] of pieces.entries()) {
    const ids = threatsIn(piece).map(({ id }) => id);
    if (ids.length > 0) block(index, ids);
  }
  // A payload may also be spread over several paragraphs. If there is still one after 20 rounds, the whole text is blocked.
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

function threatsIn(
  text: string,
): readonly { readonly id: string; readonly start: number; readonly end: number }[] {
  return [...scanThreats(text, "context"), ...disguisedThreats(text, { scope: "context" })];
}

const MAX_ROUNDS = 20;
/** Further blocked paragraphs get no note, because thousands of notes would fill the prompt. */
const MAX_NOTES = 20;
const MAX_NAMED = 5;

/** Must not match a threat pattern itself. */
function blockedNote(ids: readonly string[]): string {
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : "";
  const named = ids.slice(0, MAX_NAMED).join(", ");
  return `[BLOCKED: a paragraph of recalled memory was left out. Threat pattern(s): ${named}${more}.]`;
}

const BLOCKED = /\[BLOCKED: [^\]]*?(Threat pattern\(s\): [^\]]*)\.\]/g;

/** Why paragraphs of a text that `toPromptText` gave were left out, in their order. */
export function blockedReasons(text: string): readonly string[] {
  return [...text.matchAll(BLOCKED)].map(([, reason = ""]) => reason);
}

type PromptFinding = {
  readonly source: "provider";
  readonly chars: number;
  readonly outcome: "injected" | "refused";
  readonly reason?: string;
};

/** What a trace of recall says about the text of `MemoryManager.prefetchAll`. */
export function findingsIn(text: string): readonly PromptFinding[] {
  if (isBlank(text)) return [];
  const source = "provider";
  const refused = blockedReasons(text).map(
    (reason): PromptFinding => ({ source, chars: 0, outcome: "refused", reason }),
  );
  return [{ source, chars: codePointLength(text), outcome: "injected" }, ...refused];
}

// ---- Skills in a user's message ----
// A slash command sends a whole skill as the user's message; providers get only the part that the user typed.

const INVOKED = "[IMPORTANT: The user has invoked the ";
const BUNDLE = " skill bundle,";
const BUNDLE_INSTRUCTION = "\nUser instruction: ";
const BUNDLE_END = "\n\n[Loaded as part of the ";
const SINGLE = "The full skill content is loaded below.]";
const SINGLE_INSTRUCTION = "The user has provided the following instruction alongside the skill invocation: ";
const SINGLE_END = "\n\n[Runtime note:";

/** Null when the user typed nothing, and for a message that is not text. */
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

// ---- Messages that need no recall ----

const TRIVIAL: ReadonlySet<string> = new Set([
  ..."yes no ok okay sure thanks y n yep nope yeah nah hi hey hello yo sup continue proceed cool nice great done next lgtm k".split(
    " ",
  ),
  "thank you",
  "go ahead",
  "do it",
  "got it",
]);
/** A path such as `/etc/hosts` is not a command. */
const SLASH_COMMAND = /^\/[\w-]*(?=\s|$)/;

/** Empty, a slash command, or a bare word of agreement, thanks or greeting, with any punctuation around it. */
export function isTrivialPrompt(message: string): boolean {
  const text = pyStrip(message);
  if (text === "" || SLASH_COMMAND.test(text)) return true;
  const words = text
    .slice(0, MOST_TRIVIAL_CHARS)
    .toLowerCase()
    .replace(/[\p{P}\p{S}]+/gu, " ")
    .trim();
  return text.length < MOST_TRIVIAL_CHARS && TRIVIAL.has(words.replace(/\s+/g, " "));
}

const MOST_TRIVIAL_CHARS = 60;
