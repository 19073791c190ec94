// Masks secrets in text that leaves the process: logs, reports, summaries. Every step is linear in the text and gives the
// same result when it runs twice. A mask keeps the part that tells what kind of secret it was.

const MASK = "***";

// Prefixes stay visible; longer ones first where one begins another. Shapes as the vendors document them, with lower
// bounds below the real lengths, for keys cut off by a log.
const TOKEN_FAMILIES: readonly { readonly prefixes: readonly string[]; readonly body: string }[] = [
  {
    prefixes: ["sk-ant-", "sk-proj-", "sk-or-v1-", "sk-svcacct-", "sk-", "m0sk_", "glpat-", "gldt-", "glrt-"],
    body: "[A-Za-z0-9_-]{8,}",
  },
  {
    prefixes: [
      "xoxa-",
      "xoxb-",
      "xoxe-",
      "xoxp-",
      "xoxr-",
      "xoxs-",
      "xapp-",
      "pypi-",
      "GOCSPX-",
      "sq0atp-",
      "sq0csp-",
    ],
    body: "[A-Za-z0-9_-]{8,}",
  },
  { prefixes: ["AIza", "nvapi-", "tvly-", "dp.st."], body: "[A-Za-z0-9_.-]{12,}" },
  {
    prefixes: ["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_", "retaindb_", "mem0_", "m0-"],
    body: "[A-Za-z0-9]{10,}",
  },
  {
    prefixes: ["github_pat_", "lsv2_pt_", "lsv2_sk_", "dop_v1_", "lin_api_", "figd_", "hsk_", "sm_"],
    body: "[A-Za-z0-9_]{16,}",
  },
  {
    // Words follow these prefixes in ordinary names (`npm_config_cache`, `xai-grok-4-fast`), so separators end the body.
    prefixes: [
      "ghp_",
      "gho_",
      "ghu_",
      "ghs_",
      "ghr_",
      "hf_",
      "npm_",
      "gsk_",
      "r8_",
      "ntn_",
      "shpat_",
      "shpss_",
    ],
    body: "[A-Za-z0-9]{16,}",
  },
  { prefixes: ["pplx-", "xai-", "fc-", "key-", "dapi"], body: "[A-Za-z0-9]{30,}" },
  { prefixes: ["AKIA", "ASIA"], body: "[A-Z0-9]{16}(?![A-Za-z0-9])" },
  { prefixes: ["ya29.", "hvs.", "SG."], body: "[A-Za-z0-9_-]{8,}(?:\\.[A-Za-z0-9_-]+)?" },
];

// Where a token can begin; in JSON text also behind an escaped line end or tab.
const START = "(?:(?<![A-Za-z0-9])|(?<=\\\\[bfnrt]))";
const RUN_START = "(?:(?<![A-Za-z0-9_-])|(?<=\\\\[bfnrt]))";

const TOKEN = new RegExp(
  `${START}(?:${TOKEN_FAMILIES.map((family) => `(${alternatives(family.prefixes)})${family.body}`).join("|")})`,
  "g",
);
// Anchored to the start of a run of token characters; without that a long run would be tried from each position.
const WEB_TOKEN = new RegExp(
  `${RUN_START}eyJ[A-Za-z0-9_-]{6,}\\.[A-Za-z0-9_-]{4,}(?:\\.[A-Za-z0-9_-]*)?`,
  "g",
);
const BOT_TOKEN = /(?<![0-9])([0-9]{6,12}):AA[A-Za-z0-9_-]{28,}/g;
const DISCORD_TOKEN = new RegExp(
  `${RUN_START}[MNO][A-Za-z0-9_-]{22,30}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,}`,
  "g",
);
const WEBHOOK =
  /(hooks\.slack\.com\/(?:services|workflows)\/|discord(?:app)?\.com\/api\/webhooks\/)[A-Za-z0-9_/-]+/g;
const URL_PASSWORD = /(?<=:\/\/)([^\s/:@"'<>\\]{0,256}):([^\s/"'<>\\]{1,1024})@/g;
const URL_TOKEN = /(?<=:\/\/)([^\s/:@"'<>\\*]{16,512})@/g;
const AUTHORIZATION_HEAD = `((?:proxy-)?authorization\\\\?["']?[ \\t]{0,8}[:=][ \\t]{0,8}\\\\?["']?)`;
const ONE_WORD_SCHEME = "(?:bearer|basic|token|apikey|negotiate)[ \\t]+";
const AUTHORIZATION = new RegExp(`${AUTHORIZATION_HEAD}(${ONE_WORD_SCHEME})[^\\s"'\\\\]+`, "gi");
// Other schemes (Digest, AWS4-HMAC-SHA256) have parameters that are secret to the end of the line.
const OTHER_AUTHORIZATION = new RegExp(
  `${AUTHORIZATION_HEAD}(?!${ONE_WORD_SCHEME}\\*{3})([^\\s"'\\\\]+(?:[ \\t]+[^\\s"'\\\\]+)*)`,
  "gi",
);
const BEARER = /(?<![A-Za-z0-9])(bearer[ \t]+)([A-Za-z0-9._~+/=-]{8,})/gi;
const KEY_BLOCK_START = /-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----/g;

const MASKED_VALUE = new RegExp(
  `^(?:${alternatives([...TOKEN_FAMILIES.flatMap((family) => family.prefixes), "eyJ", "Bearer ", "Basic "])}|[0-9]{6,12}:)?\\*{3}$`,
);

export function redactSecrets(text: string): string {
  const withoutTokens = maskKeyBlocks(text)
    .replace(WEBHOOK, `$1${MASK}`)
    .replace(WEB_TOKEN, `eyJ${MASK}`)
    .replace(DISCORD_TOKEN, MASK)
    .replace(BOT_TOKEN, `$1:${MASK}`)
    .replace(TOKEN, maskToken);
  const withoutHeaders = withoutTokens
    .replace(URL_PASSWORD, `$1:${MASK}@`)
    .replace(URL_TOKEN, (whole, user: string) => (looksRandom(user) ? `${MASK}@` : whole))
    .replace(AUTHORIZATION, `$1$2${MASK}`)
    .replace(OTHER_AUTHORIZATION, maskAuthorization)
    .replace(BEARER, maskBearer);
  return maskNamedValues(withoutHeaders);
}

/** Also masks these literal values, such as those of `.env`, in the forms JSON and URLs give them. */
export function createRedactor(values: Iterable<string>): (text: string) => string {
  const literals = new Set<string>();
  for (const value of values) {
    if (value.length < 6 || value.includes(MASK) || ORDINARY_SETTING.test(value)) continue;
    literals.add(value).add(JSON.stringify(value).slice(1, -1));
    if (value.isWellFormed()) literals.add(encodeURIComponent(value));
  }
  if (literals.size === 0) return redactSecrets;
  const longestFirst = [...literals].sort((one, other) => other.length - one.length);
  const pattern = new RegExp(alternatives(longestFirst), "g");
  return (text) => redactSecrets(text.replace(pattern, MASK));
}

/** What lives in `.env` beside the secrets, and would black out ordinary text: switches, numbers, plain addresses. */
const ORDINARY_SETTING =
  /^(?:true|false|enabled|disabled|default|localhost|production|development|[0-9]{1,7}|https?:\/\/[^@?]*)$/i;

/** Characters by chance rather than words: a digit, upper case inside, or longer than words get. */
function looksRandom(text: string): boolean {
  if (/[0-9]/.test(text) || /[a-z][A-Z]/.test(text)) return true;
  return text.length >= 20 && !/[-_./]/.test(text);
}

function maskToken(whole: string, ...groups: unknown[]): string {
  const prefix = groups.find((group) => typeof group === "string") ?? "";
  return looksRandom(whole.slice(prefix.length)) ? prefix + MASK : whole; // `sk-learn-pipeline` is a word
}

function maskBearer(whole: string, scheme: string, token: string, at: number, text: string): string {
  const isMaskedAlready = text.startsWith(MASK, at + whole.length); // the public prefix of a masked key
  return looksRandom(token) && !isMaskedAlready ? scheme + MASK : whole;
}

function maskAuthorization(whole: string, head: string, value: string): string {
  const words = value.split(/[ \t]+/);
  const isProse =
    words.length > 1 && words.every((word) => /^[A-Za-z'.,-]+$/.test(word) && !looksRandom(word));
  const isJsonValue = /["'][ \t]*:[ \t]*$/.test(head) && /^(?:[[{]|-?[0-9]|true|false|null)/.test(value);
  return isProse || isJsonValue ? whole : head + MASK;
}

function maskKeyBlocks(text: string): string {
  let result = "";
  let at = 0;
  const nextEnd = nextOf(text, "-----END ");
  const nextQuote = nextOf(text, '"');
  for (const start of text.matchAll(KEY_BLOCK_START)) {
    if (start.index < at) continue;
    result += text.slice(at, start.index) + start[0] + MASK;
    // Cut off without an end: everything behind the start may be key, at most up to the quote that ends a JSON text.
    at = Math.min(nextEnd(start.index), nextQuote(start.index));
  }
  return result + text.slice(at);
}

/** Where the literal occurs next, or the text's length. Asked with growing positions, it reads the text once. */
function nextOf(text: string, literal: string): (from: number) => number {
  let found = -1;
  return (from) => {
    if (found < from) {
      const next = text.indexOf(literal, from);
      found = next === -1 ? text.length : next;
    }
    return found;
  };
}

// ---- name = value ----

const NAME =
  /(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]+)(\\?["']?)([ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8}|[ \t]{1,8}(?<=--[a-z-]{1,40}[ \t]{1,8}))/g;
const SECRET_WORD =
  /(?:password|passwd|passphrase|pwd|secret|credentials?|token|apikey|accesskey|privatekey|authkey)$/;
const KEY_OWNER =
  /^(?:api|access|secret|private|auth|signing|encryption|master|license|service|account|admin|deploy|ssh|app|shared|client|subscription)$/;
const PLAIN_KEY = /^(?:primary|foreign|cache|sort|public|partition|idempotency|group|index|row)$/;
/** `token_count`, `password_file`, `secret_name`: about a secret, not one. */
const ABOUT =
  /^(?:count|limit|length|size|type|id|ids|name|path|file|dir|url|uri|env|var|policy|ttl|expiry|expires|at|in|index|max|min|usage|budget|field|header|enabled|required|present|configured)$/;
const NO_SECRET =
  /^(?:true|false|null|none|undefined|yes|no|on|off|string|number|boolean|str|int|bool|bytes|object|any|unknown|required|optional|\$\{?[A-Za-z_][A-Za-z0-9_]*\}?|%[A-Za-z_]+%|<[A-Za-z _-]+>)$/i;
const HASH_OR_UUID =
  /^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

type Pair = {
  readonly name: string;
  readonly isQuotedName: boolean;
  readonly separator: string;
  readonly start: number;
};
type Value = {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly isQuoted: boolean;
};

function maskNamedValues(text: string): string {
  let result = "";
  let copied = 0;
  NAME.lastIndex = 0;
  for (let match = NAME.exec(text); match !== null; match = NAME.exec(text)) {
    const pair: Pair = {
      name: match[1] ?? "",
      isQuotedName: match[2] !== "",
      separator: match[3] ?? "",
      start: match.index,
    };
    const strength = nameStrength(pair.name);
    if (strength === "none") continue;
    const value = readValue(text, NAME.lastIndex, pair);
    if (isSecret(value, pair, strength, text)) {
      // A bare number in JSON becomes a text, or the line would no longer be JSON.
      const mask = pair.isQuotedName && !value.isQuoted && pair.separator.includes(":") ? `"${MASK}"` : MASK;
      result += text.slice(copied, value.start) + mask;
      copied = value.end;
    }
    NAME.lastIndex = Math.max(value.end, NAME.lastIndex);
  }
  return result + text.slice(copied);
}

function nameStrength(name: string): "strong" | "weak" | "none" {
  const parts = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[_.-]+/)
    .filter((part) => part !== "");
  if (ABOUT.test(parts.at(-1) ?? "")) return "none";
  if (parts.some((part) => SECRET_WORD.test(part))) return "strong";
  const key = parts.lastIndexOf("key");
  if (key === -1) return "none";
  const owner = parts[key - 1] ?? "";
  if (PLAIN_KEY.test(owner)) return "none";
  return KEY_OWNER.test(owner) || /^[A-Z0-9]+_(?:[A-Z0-9]+_)*KEY$/.test(name) ? "strong" : "weak";
}

function isSecret(value: Value, pair: Pair, strength: "strong" | "weak", text: string): boolean {
  const content = value.text;
  if (content === "" || MASKED_VALUE.test(content) || NO_SECRET.test(content)) return false;
  const isPassword = /pass|pwd|secret|credential/i.test(pair.name);
  if (!isPassword && /^[0-9.]{1,8}$/.test(content)) return false; // `max_token=4096` is a setting
  if (strength === "weak") return content.length >= 16 && looksRandom(content) && !HASH_OR_UUID.test(content);
  const isProse = !pair.isQuotedName && !value.isQuoted && /^[ \t]*:[ \t]+$/.test(pair.separator);
  return !isProse || /[^A-Za-z'-]/.test(content) || looksRandom(content) || fillsLine(value, pair, text);
}

/** `  password: hunter` alone on its line is a setting; within a sentence the same words are prose. */
function fillsLine(value: Value, pair: Pair, text: string): boolean {
  const before = text.slice(Math.max(0, pair.start - 80), pair.start);
  return (
    /(?:^|\n)[ \t]*(?:- |export )?["']?$/.test(before) &&
    /^[ \t;,]{0,8}(?:#|\r?\n|$)/.test(text.slice(value.end, value.end + 12))
  );
}

function readValue(text: string, at: number, pair: Pair): Value {
  const quote = /\\?["'`]/y;
  quote.lastIndex = at;
  const opening = quote.exec(text)?.[0];
  if (opening !== undefined) {
    const start = at + opening.length;
    const end = closingQuote(text, start, opening);
    return { text: text.slice(start, end), start, end, isQuoted: true };
  }
  if (pair.isQuotedName && /[[{]/.test(text.charAt(at)))
    return { text: "", start: at, end: at, isQuoted: false };
  const stop = pair.isQuotedName ? /[\s"'`\\,}\]]/ : /[\s"'`\\]/;
  let end = at;
  while (end < text.length && !stop.test(text.charAt(end)) && !startsNextPair(text, end)) end += 1;
  while (end > at && /[)\]},;.:!?]/.test(text.charAt(end - 1))) end -= 1; // punctuation of the sentence around it
  return { text: text.slice(at, end), start: at, end, isQuoted: false };
}

/** An unclosed quote ends with its line: rather too much is masked than half a secret left. */
function closingQuote(text: string, start: number, opening: string): number {
  for (let i = start; i < text.length; i += 1) {
    if (text[i] === "\n") return i;
    if (text.startsWith(opening, i)) return i;
    if (text[i] === "\\") i += 1;
  }
  return text.length;
}

/** `;`, `,` or `&` before another `name=` ends a value; elsewhere they belong to it. */
function startsNextPair(text: string, at: number): boolean {
  if (!/[;,&]/.test(text.charAt(at))) return false;
  const next = /[;,&][A-Za-z_][A-Za-z0-9_.-]{0,60}[=:]/y;
  next.lastIndex = at;
  return next.test(text);
}

function alternatives(literals: readonly string[]): string {
  return literals.map((literal) => literal.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&")).join("|");
}
