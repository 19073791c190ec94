// The threat scan: what a text that is about to enter the system prompt may not carry. Time is linear in the text.
import { classify } from "./alphabet.ts";
import { findInvisible, INVISIBLE_IDS, invisibleName } from "./invisible.ts";
import { findMatches, threatMatchers } from "./matcher.ts";
import { THREAT_PATTERNS, type ThreatScope } from "./patterns.ts";
import { mayMatch } from "./signs.ts";

export type { ThreatScope } from "./patterns.ts";

/** UTF-16 offsets of the first match: the one that ends first, with the leftmost start a match ending there can have. */
export type ThreatFinding = { readonly id: string; readonly start: number; readonly end: number };

export type ThreatScanOptions = {
  /** Ids that are never reported. */
  readonly allow?: readonly string[];
};

/** Ids of the patterns in reporting order. Invisible characters have ids of their own, see `isThreatId`. */
export const THREAT_IDS: readonly string[] = THREAT_PATTERNS.map((pattern) => pattern.id);

/** Pattern scopes that each set includes: a wider set never loses a finding of a narrower one. */
const SCOPES: ReadonlyMap<string, readonly ThreatScope[]> = new Map([
  ["all", ["all"]],
  ["context", ["all", "context"]],
  ["strict", ["all", "context", "strict"]],
]);

/** Invisible characters first, ascending, then patterns in the order of the table; each id once. */
export function scanThreats(
  text: string,
  scope: ThreatScope,
  options: ThreatScanOptions = {},
): ThreatFinding[] {
  const included = SCOPES.get(scope);
  if (included === undefined)
    throw new TypeError(`Unknown threat scope '${scope}'. Use one of: ${[...SCOPES.keys()].join(", ")}.`);
  if (text.length === 0) return [];
  const isAllowed = (id: string): boolean => options.allow?.includes(id) ?? false;
  const findings: ThreatFinding[] = isAscii(text)
    ? []
    : findInvisible(text).filter(({ id }) => !isAllowed(id));
  if (!mayMatch(text)) return findings;
  const classes = buffer(text.length);
  classify(text, classes);
  const { literals, matchers } = threatMatchers();
  const wanted = matchers.filter(({ id, scope: of }) => included.includes(of) && !isAllowed(id));
  findings.push(...findMatches(wanted, literals, classes));
  return findings;
}

/** What the writer of a refused text is told. */
export function threatMessage(finding: ThreatFinding): string {
  const name = invisibleName(finding.id);
  if (name !== undefined)
    return `Blocked: content contains invisible unicode character ${name} (possible injection).`;
  return (
    `Blocked: content matches threat pattern '${finding.id}'. Stored text becomes part of the system prompt, ` +
    "so it may not carry injection or exfiltration payloads. If it is harmless, reword it."
  );
}

/** True for ids that a scan can report; for checking allow-lists. */
export function isThreatId(id: string): boolean {
  return THREAT_IDS.includes(id) || INVISIBLE_IDS.includes(id);
}

function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

const KEPT_UNITS = 65_536; // covers every memory entry and most context files
let kept: Uint8Array | undefined;

// One buffer serves all ordinary scans: a scan never yields, so no two of them can meet in it.
function buffer(length: number): Uint8Array {
  if (length > KEPT_UNITS) return new Uint8Array(length);
  kept ??= new Uint8Array(KEPT_UNITS);
  return kept.subarray(0, length);
}
