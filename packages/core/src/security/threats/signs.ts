// A first look at short texts: most notes hold no word any pattern needs, and then no automaton has to be built or run.

/**
 * For every pattern, all the words of one place in its shape: without any of them it cannot match. The rarest place was
 * chosen; a test compares this list with the table.
 */
export const SIGNS: readonly string[] = [
  "instructions",
  "override",
  "disregard",
  "restrictions",
  "limits",
  "rules",
  "<!--",
  "display",
  "translate",
  "tell",
  "now",
  "pretend",
  "prompt",
  "without",
  "updated",
  "upgraded",
  "patched",
  "yourself",
  "register",
  "heartbeat",
  "beacon",
  "check",
  "pull",
  "network",
  "must",
  "liner",
  "disk",
  "unset",
  "praxis",
  "cobalt",
  "sliver",
  "havoc",
  "mythic",
  "metasploit",
  "brainworm",
  "c2",
  "command",
  "curl",
  "wget",
  ".env",
  "credentials",
  ".netrc",
  ".pgpass",
  ".npmrc",
  ".pypirc",
  "://",
  "conversation",
  "chat",
  "previous",
  "full",
  "entire",
  "authorized_keys",
  "/.ssh",
  "agents.md",
  "claude.md",
  ".cursorrules",
  ".clinerules",
  ".hermes/",
  "api",
  "token",
  "secret",
  "password",
];

/** Longer texts go straight to the scan, whose own first pass is faster per character. */
const SHORT = 4096;

const SIGN = new RegExp(SIGNS.map((sign) => sign.replace(/[.$]/g, "\\$&")).join("|"), "i");
// Python reads these as i, s and k; the expression above does not.
const ODD_LETTER = /[\u0130\u0131\u017f\u212a]/;

/** False only when no pattern of the table can match. */
export function mayMatch(text: string): boolean {
  return text.length > SHORT || SIGN.test(text) || ODD_LETTER.test(text);
}
