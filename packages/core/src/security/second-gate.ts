// The second gate: finds what the threat patterns miss. It scans the text as a model reads it (look-alike letters, hidden characters,
// markup) and looks for credentials. Every write and every recall passes both `scanThreats` and this gate.
import {
  type FoldedText,
  markupReadings,
  type OffsetText,
  originalSpan,
  PLAIN_LANGUAGE_PATTERNS,
  readDigitsAsLetters,
  readings,
  readOtherwise,
} from "./folded-text.ts";
import { type FoundSecret, findSecrets, findTokens, isSecretFormat, withoutOverlaps } from "./secrets.ts";
import type { ThreatScope } from "./threats/patterns.ts";
import { isThreatId, scanThreats, THREAT_IDS } from "./threats/threat-scan.ts";

/** A credential or disguised text that the second gate found. */
export type GateFinding = {
  readonly id: string;
  readonly kind: "disguised" | "secret";
  /** The kind of finding, for a sentence: "a GitHub token". Never part of the text. */
  readonly label: string;
  /** UTF-16 offsets in the original text. */
  readonly start: number;
  readonly end: number;
};

/** What the second gate looks for, and what it lets through. */
export type GateOptions = {
  /** Scope of the patterns that are tried on the folded text; default `strict`. */
  readonly scope?: ThreatScope;
  /** Ids that are never reported: ids of this gate, and ids of threat patterns, which are then ignored in disguise too. */
  readonly allow?: readonly string[];
  /** The user allows secrets to be stored. */
  readonly allowSecrets?: boolean;
};

const DISGUISED = "disguised_";
const SECRET = "secret_";
/** The only threat pattern that is about a secret. */
const SECRET_PATTERN = "hardcoded_secret";

const HIDDEN = {
  tags: { id: "hidden_tag_characters", label: "hidden text in tag characters" },
  selectors: { id: "hidden_variation_selectors", label: "hidden data in variation selectors" },
} as const;

/** Disguised threats first, each id once; then every secret, from left to right. */
export function secondGate(text: string, options: GateOptions = {}): GateFinding[] {
  const { allow = [], allowSecrets = false } = options;
  const folded = readings(text);
  const findings = [...disguised(text, folded, options), ...(allowSecrets ? [] : secretsIn(text, folded))];
  return findings.filter(({ id, kind }) => !allow.includes(id) && !(kind === "secret" && allowSecrets));
}

/** Each id once, in order. */
export function findingIds(findings: readonly GateFinding[]): string[] {
  return [...new Set(findings.map(({ id }) => id))];
}

/** Only disguised threats, for text that is read: there secrets are masked instead of refused. */
export function disguisedThreats(text: string, options: GateOptions = {}): GateFinding[] {
  return secondGate(text, { ...options, allowSecrets: true });
}

const LEFT_OUT = "[secret left out]";

/** Replaces every secret the gate would refuse, and nothing else. */
export function maskStoredSecrets(text: string): { readonly text: string; readonly count: number } {
  const secrets = secretsIn(text, readings(text));
  let masked = "";
  let copied = 0;
  for (const { start, end } of secrets) {
    masked += text.slice(copied, start) + LEFT_OUT;
    copied = end;
  }
  return { text: masked + text.slice(copied), count: secrets.length };
}

/** Removes the secrets of these texts from a remark, which may repeat one without the name that identifies it as a secret. */
export function withoutSecretsOf(texts: readonly string[], remark: string): string {
  let rest = remark;
  for (const text of texts)
    for (const { start, end } of secretsIn(text, readings(text)))
      rest = rest.replaceAll(text.slice(start, end), LEFT_OUT);
  return rest;
}

/** The error for the writer of a refused text. Does not mention how to allow it: the reader may be a model. */
export function gateMessage(findings: readonly GateFinding[]): string {
  const [first] = findings;
  if (first === undefined) throw new Error("gateMessage needs at least one finding.");
  if (first.kind === "secret") {
    const labels = findings.filter(({ kind }) => kind === "secret").map(({ label }) => label);
    return `Blocked: content looks like ${listed([...new Set(labels)])}; store where it is kept, not the value.`;
  }
  if (!first.id.startsWith(DISGUISED))
    return `Blocked: content contains ${first.label}, which people cannot see and models can read. Remove the invisible characters.`;
  return (
    `Blocked: content matches threat pattern '${first.id.slice(DISGUISED.length)}' when its look-alike letters, hidden characters and ` +
    "markup are read as plain text. If it is harmless, write it in plain letters and other words."
  );
}

/** True when `allowSecrets` would let every finding through. */
export function areSecretIds(ids: readonly string[]): boolean {
  return ids.length > 0 && ids.every(isSecretId);
}

function isSecretId(id: string): boolean {
  return id.startsWith(SECRET) || id === SECRET_PATTERN || id === DISGUISED + SECRET_PATTERN;
}

/** Threat patterns that `allowSecrets` lets through too. */
export const SECRET_THREAT_IDS: readonly string[] = [SECRET_PATTERN];

/** True for ids that either scan can report; checks allow-lists. */
export function isFindingId(id: string): boolean {
  if (isThreatId(id) || Object.values(HIDDEN).some((hidden) => hidden.id === id)) return true;
  if (id.startsWith(SECRET)) return isSecretFormat(id.slice(SECRET.length));
  return id.startsWith(DISGUISED) && THREAT_IDS.includes(id.slice(DISGUISED.length));
}

function disguised(
  text: string,
  folded: readonly FoldedText[],
  { scope = "strict", allow = [] }: GateOptions,
): GateFinding[] {
  const hidden = (["tags", "selectors"] as const).flatMap((kind): GateFinding[] => {
    const first = folded[0]?.hidden.find((each) => each.kind === kind);
    return first ? [{ ...HIDDEN[kind], kind: "disguised", start: first.start, end: first.end }] : [];
  });
  const found = new Map<string, GateFinding>();
  const scan = (read: string, places: readonly OffsetText[], isMeant: (id: string) => boolean): void => {
    for (const { id, start, end } of scanThreats(read, scope, { allow })) {
      if (found.has(id) || !isMeant(id)) continue;
      const isSecret = id === SECRET_PATTERN;
      const label = isSecret ? "a secret value" : `the threat pattern '${id}' in disguise`;
      const span = places.reduce((at, place) => originalSpan(place, at.start, at.end), { start, end });
      found.set(id, { id: DISGUISED + id, kind: isSecret ? "secret" : "disguised", label, ...span });
    }
  };
  const isLanguage = (id: string): boolean => PLAIN_LANGUAGE_PATTERNS.has(id);
  for (const each of folded) scan(each.text, [each], () => true);
  for (const places of [[], ...folded.map((each) => [each])]) {
    const read = places[0]?.text ?? text;
    const rendered = markupReadings(read).map((each) => ({ read: each.text, places: [each, ...places] }));
    for (const each of rendered) scan(each.read, each.places, isLanguage);
    for (const each of [{ read, places }, ...rendered]) {
      const plain = readDigitsAsLetters(each.read);
      if (plain !== undefined) scan(plain, each.places, isLanguage);
    }
  }
  // The first gate already reports threats that are not disguised.
  const plain = new Set(found.size === 0 ? [] : scanThreats(text, scope).map(({ id }) => id));
  return [...[...found].filter(([id]) => !plain.has(id)).map(([, finding]) => finding), ...hidden];
}

/** From left to right. */
function secretsIn(text: string, folded: readonly FoldedText[]): GateFinding[] {
  const found = findSecrets(text);
  const elsewhere = folded.flatMap((each) => placed(findSecrets(each.text), each));
  const unescaped = readOtherwise(text, MARKDOWN_ESCAPE, () => "");
  const joined = readOtherwise(text, LINE_END_IN_A_RUN, () => "");
  const all = [
    ...found,
    ...elsewhere,
    ...(unescaped === undefined ? [] : placed(findTokens(unescaped.text), unescaped)),
    ...(joined === undefined ? [] : placed(findTokens(joined.text), joined).filter(isOneToken(text))),
  ];
  return (all.length === found.length ? all : withoutOverlaps(all)).map(toFinding);
}

function placed(secrets: readonly FoundSecret[], folded: OffsetText): FoundSecret[] {
  return secrets.map((secret) => ({ ...secret, ...originalSpan(folded, secret.start, secret.end) }));
}

/** `ghp\\_...`: a Markdown escape, which is no part of the token. */
const MARKDOWN_ESCAPE = /\\(?=[_.~-])/g;
const LINE_END_IN_A_RUN = /(?<=[A-Za-z0-9_-])\r?\n(?=[A-Za-z0-9_-])/g;

/** For a token that spans a line end: only one line end, and after it no word, which would be the next sentence. */
function isOneToken(text: string): (secret: FoundSecret) => boolean {
  return ({ start, end }) => {
    const [, second, third] = text.slice(start, end).split(/\r?\n/);
    return second !== undefined && third === undefined && !/^(?:[A-Za-z]?[a-z]*|[A-Z]+)$/.test(second);
  };
}

function toFinding({ id, label, start, end }: FoundSecret): GateFinding {
  return { id: SECRET + id, kind: "secret", label, start, end };
}

function listed(labels: readonly string[]): string {
  return labels.length < 2 ? labels.join("") : `${labels.slice(0, -1).join(", ")} and ${labels.at(-1)}`;
}
