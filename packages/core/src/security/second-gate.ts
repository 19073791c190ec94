// The second gate: what the threat patterns alone let through. It looks at the text as a model reads it (look-alike letters,
// hidden characters) and for credentials. `scanThreats` stays as it is; every write and every recall asks both.
import { readDigitsAsLetters, SPOKEN } from "./fold/digits-for-letters.ts";
import { type FoldedText, originalSpan, readings } from "./fold/fold.ts";
import {
  type FoundSecret,
  findSecrets,
  findTokens,
  SECRET_FORMAT_IDS,
  withoutOverlaps,
} from "./secrets/find.ts";
import { isThreatId, scanThreats, THREAT_IDS, type ThreatScope } from "./threats/scan.ts";

export type GateFinding = {
  readonly id: string;
  readonly kind: "disguised" | "secret";
  /** What it looks like, for a sentence: "a GitHub token". Never part of the text. */
  readonly label: string;
  /** UTF-16 offsets in the text that was given. */
  readonly start: number;
  readonly end: number;
};

export type GateOptions = {
  /** Of the patterns that are tried on the folded text; `strict` unless given. */
  readonly scope?: ThreatScope;
  /** Ids that are never reported: those of this gate, and those of threat patterns, which then may be disguised too. */
  readonly allow?: readonly string[];
  /** The user has said that secrets may be stored. */
  readonly allowSecrets?: boolean;
};

const DISGUISED = "disguised_";
const SECRET = "secret_";
/** The one threat pattern that is about a secret. */
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

/** Only what is disguised: for text that is read, where secrets are masked instead. */
export function disguisedThreats(text: string, options: GateOptions = {}): GateFinding[] {
  return secondGate(text, { ...options, allowSecrets: true });
}

const LEFT_OUT = "[secret left out]";

/** Takes out every secret the gate would refuse, and nothing else. */
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

/** The remark without the secrets of these texts, which it may repeat without the words that give them away. */
export function withoutSecretsOf(texts: readonly string[], remark: string): string {
  let rest = remark;
  for (const text of texts)
    for (const { start, end } of secretsIn(text, readings(text)))
      rest = rest.replaceAll(text.slice(start, end), LEFT_OUT);
  return rest;
}

/** What the writer of a refused text is told. Says nothing about overriding: the reader may be a model. */
export function gateMessage(findings: readonly GateFinding[]): string {
  const [first] = findings;
  if (first === undefined) throw new Error("A message was asked for without a finding.");
  if (first.kind === "secret") {
    const labels = findings.filter(({ kind }) => kind === "secret").map(({ label }) => label);
    return `Blocked: content looks like ${listed([...new Set(labels)])}; store where it is kept, not the value.`;
  }
  if (!first.id.startsWith(DISGUISED))
    return `Blocked: content contains ${first.label}, which people cannot see and models can read. Remove the invisible characters.`;
  return (
    `Blocked: content matches threat pattern '${first.id.slice(DISGUISED.length)}' when its look-alike and hidden characters are ` +
    "read as plain letters. If it is harmless, write it in plain letters and other words."
  );
}

/** True when every finding is one that `allowSecrets` would let through. */
export function areSecretIds(ids: readonly string[]): boolean {
  return ids.length > 0 && ids.every(isSecretId);
}

function isSecretId(id: string): boolean {
  return id.startsWith(SECRET) || id === SECRET_PATTERN || id === DISGUISED + SECRET_PATTERN;
}

/** Threat patterns that are let through together with secrets. */
export const SECRET_THREAT_IDS: readonly string[] = [SECRET_PATTERN];

/** True for ids that either scan can report; for checking allow-lists. */
export function isFindingId(id: string): boolean {
  if (isThreatId(id) || Object.values(HIDDEN).some((hidden) => hidden.id === id)) return true;
  if (id.startsWith(SECRET)) return SECRET_FORMAT_IDS.includes(id.slice(SECRET.length));
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
  const scan = (read: string, place: FoldedText | undefined, isMeant: (id: string) => boolean): void => {
    for (const { id, start, end } of scanThreats(read, scope, { allow })) {
      if (found.has(id) || !isMeant(id)) continue;
      const isSecret = id === SECRET_PATTERN;
      const label = isSecret ? "a secret value" : `the threat pattern '${id}' in disguise`;
      const span = place === undefined ? { start, end } : originalSpan(place, start, end);
      found.set(id, { id: DISGUISED + id, kind: isSecret ? "secret" : "disguised", label, ...span });
    }
  };
  for (const each of folded) scan(each.text, each, () => true);
  for (const each of [undefined, ...folded]) {
    const read = readDigitsAsLetters(each?.text ?? text);
    if (read !== undefined) scan(read, each, (id) => SPOKEN.has(id));
  }
  // The first gate tells about what is plain.
  const plain = new Set(found.size === 0 ? [] : scanThreats(text, scope).map(({ id }) => id));
  return [...[...found].filter(([id]) => !plain.has(id)).map(([, finding]) => finding), ...hidden];
}

/** From left to right. */
function secretsIn(text: string, folded: readonly FoldedText[]): GateFinding[] {
  const found = findSecrets(text);
  const elsewhere = folded.flatMap((each) => placed(findSecrets(each.text), each));
  const unescaped = leftOut(text, MARKDOWN_ESCAPE);
  const joined = leftOut(text, LINE_END_IN_A_RUN);
  const all = [
    ...found,
    ...elsewhere,
    ...(unescaped === undefined ? [] : placed(findTokens(unescaped.text), unescaped)),
    ...(joined === undefined ? [] : placed(findTokens(joined.text), joined).filter(isOneToken(text))),
  ];
  return (all.length === found.length ? all : withoutOverlaps(all)).map(toFinding);
}

function placed(secrets: readonly FoundSecret[], folded: Pick<FoldedText, "offsets">): FoundSecret[] {
  return secrets.map((secret) => ({ ...secret, ...originalSpan(folded, secret.start, secret.end) }));
}

/** `ghp\\_...`: Markdown needs no such backslash to be read, and a token has none. */
const MARKDOWN_ESCAPE = /\\(?=[_.~-])/g;
const LINE_END_IN_A_RUN = /(?<=[A-Za-z0-9_-])\r?\n(?=[A-Za-z0-9_-])/g;

/** Of a token that goes over a line end: one line end only, and no word behind it, which would be the next sentence. */
function isOneToken(text: string): (secret: FoundSecret) => boolean {
  return ({ start, end }) => {
    const [, second, third] = text.slice(start, end).split(/\r?\n/);
    return second !== undefined && third === undefined && !/^(?:[A-Za-z]?[a-z]*|[A-Z]+)$/.test(second);
  };
}

/** The text without these pieces, and where the rest comes from; undefined when it has none of them. */
function leftOut(text: string, pieces: RegExp): Pick<FoldedText, "text" | "offsets"> | undefined {
  const offsets = new Uint32Array(text.length + 1);
  let rest = "";
  let copied = 0;
  const copy = (end: number): void => {
    for (let at = copied; at < end; at += 1) offsets[rest.length + at - copied] = at;
    rest += text.slice(copied, end);
  };
  for (const match of text.matchAll(pieces)) {
    copy(match.index);
    copied = match.index + match[0].length;
  }
  if (copied === 0) return undefined;
  copy(text.length);
  offsets[rest.length] = text.length;
  return { text: rest, offsets: offsets.subarray(0, rest.length + 1) };
}

function toFinding({ id, label, start, end }: FoundSecret): GateFinding {
  return { id: SECRET + id, kind: "secret", label, start, end };
}

function listed(labels: readonly string[]): string {
  return labels.length < 2 ? labels.join("") : `${labels.slice(0, -1).join(", ")} and ${labels.at(-1)}`;
}
