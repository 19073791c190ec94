// The formats of credentials, and finding them in a text that is about to be stored. Redaction masks every match, because a log may have
// cut a key short. The gate reports less: there a false positive costs one word in a log, here it costs the user a note that cannot
// be saved.

export type FoundSecret = {
  /** Without the `secret_` that finding ids begin with. */
  readonly id: string;
  /** With its article: "a GitHub token". */
  readonly label: string;
  /** UTF-16 offsets of the secret itself, without the name in front of it. */
  readonly start: number;
  readonly end: number;
};

/** From left to right, without overlaps: of two that overlap the more specific one stays. */
export function findSecrets(text: string): FoundSecret[] {
  if (!MAY_HOLD_SECRET.test(text)) return [];
  // The most specific formats first.
  const found = [
    ...keyBlocks(text).map(([start, end]) => ({ ...PRIVATE_KEY, start, end })),
    ...inFormats(text, EXACT_FORMATS),
    ...findTokens(text),
    ...inFormats(text, PLACED_FORMATS),
    ...[...namedValues(text)].flatMap((named) => namedSecret(named, text)),
    ...proseValues(text),
  ];
  return withoutOverlaps(found);
}

/** True for an id that `findSecrets` can report. */
export function isSecretFormat(id: string): boolean {
  const others = [PRIVATE_KEY, AWS_SECRET_KEY, NAMED_VALUE, PASSWORD];
  return [...TOKEN_FORMATS, ...EXACT_FORMATS, ...PLACED_FORMATS, ...others].some(
    (format) => format.id === id,
  );
}

/** Only the formats of the token table. */
export function findTokens(text: string): FoundSecret[] {
  const found: FoundSecret[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const row = match.slice(1).findIndex((prefix) => prefix !== undefined);
    const format = TOKEN_FORMATS[row];
    const body = match[0].slice(match[row + 1]?.length ?? 0);
    if (format === undefined || body.length < format.refuseFrom || !isRandom(body)) continue;
    found.push({
      id: format.id,
      label: format.label,
      start: match.index,
      end: match.index + match[0].length,
    });
  }
  return found;
}

/** From left to right. Of those that overlap, the first in the list stays. */
export function withoutOverlaps<T extends { readonly start: number; readonly end: number }>(
  list: readonly T[],
): T[] {
  const ordered = list
    .map((item, rank) => ({ item, rank }))
    .sort((one, other) => one.item.start - other.item.start || one.rank - other.rank);
  const kept: typeof ordered = [];
  for (const each of ordered) {
    const last = kept.at(-1);
    if (last === undefined || each.item.start >= last.item.end) kept.push(each);
    else if (each.rank < last.rank) kept[kept.length - 1] = each;
  }
  return kept.map(({ item }) => item);
}

function inFormats(text: string, formats: readonly Format[]): FoundSecret[] {
  return formats.flatMap(({ id, label, hint, pattern, secret: group = 0, isRefused }) => {
    if (hint !== undefined && !hint.test(text)) return [];
    return [...text.matchAll(pattern)].flatMap((match): FoundSecret[] => {
      const secret = match[group] ?? "";
      if (!isRefused(secret, match[1] ?? "")) return [];
      const start = match.index + match[0].lastIndexOf(secret);
      return [{ id, label, start, end: start + secret.length }];
    });
  });
}

/** Quick check: every format has a separator or a run without blanks. */
const MAY_HOLD_SECRET = /[=:]|\S{16}|-----BEGIN /;

/** Shorter values after a name are too often ordinary words. */
const FEWEST_NAMED_CHARS = 16;
const FEWEST_WEB_TOKEN_CHARS = 36;
const FEWEST_HEADER_CHARS = 12;

const PRIVATE_KEY = { id: "private_key", label: "a private key" };
const AWS_SECRET_KEY = { id: "aws_secret_key", label: "an AWS secret key" };
const PASSWORD = { id: "password", label: "a password" };
const NAMED_VALUE = { id: "named_value", label: "a secret value" };

// ---- Formats with a prefix. The prefix stays visible in a mask, because it tells the kind of secret ----

type TokenFormat = {
  /** Finding id of the gate, after `secret_`. */
  readonly id: string;
  /** With its article, for a sentence. */
  readonly label: string;
  /** Stay visible in a mask. Longer ones first where one is the start of another. */
  readonly prefixes: readonly string[];
  /** Regular expression for the part after the prefix, with a lower bound below the real length. */
  readonly body: string;
  readonly refuseFrom: number;
};

const WORD_LIKE = "[A-Za-z0-9_-]{8,}";
/** Words follow these prefixes in ordinary names (`npm_config_cache`, `xai-grok-4-fast`), so separators end the body. */
const ONE_RUN = "[A-Za-z0-9]{16,}";
const LONG_RUN = "[A-Za-z0-9]{30,}";
const UNDERSCORED = "[A-Za-z0-9_]{16,}";

const TOKEN_FORMATS: readonly TokenFormat[] = [
  token("anthropic_key", "an Anthropic API key", "sk-ant-", WORD_LIKE, 16),
  token("openrouter_key", "an OpenRouter API key", "sk-or-v1- sk-or-", WORD_LIKE, 16),
  token("openai_key", "an OpenAI API key", "sk-proj- sk-svcacct- sk-admin- sk-", WORD_LIKE, 16),
  token(
    "gitlab_token",
    "a GitLab token",
    "glpat- gldt- glrt- glptt- gloas- glcbt- glsoat- glimt- glft- glagent-",
    WORD_LIKE,
    16,
  ),
  token(
    "slack_token",
    "a Slack token",
    "xoxe.xoxb- xoxe.xoxp- xoxa- xoxb- xoxc- xoxd- xoxe- xoxp- xoxr- xoxs- xapp-",
    WORD_LIKE,
    16,
  ),
  token("pypi_token", "a PyPI token", "pypi-", WORD_LIKE, 32),
  token("google_client_secret", "a Google client secret", "GOCSPX-", WORD_LIKE, 16),
  token("square_token", "a Square token", "sq0atp- sq0csp-", WORD_LIKE, 16),
  token("hermes_token", "a token of the hermes gateway", "hm_", "[A-Za-z0-9_-]{40,}", 43),
  token("mem0_key", "a Mem0 API key", "m0sk_", WORD_LIKE, 16),
  token("mem0_key", "a Mem0 API key", "mem0_ m0-", "[A-Za-z0-9]{10,}", 16),
  token("google_key", "a Google API key", "AIza", "[A-Za-z0-9_.-]{12,}", 24),
  token("nvidia_key", "an NVIDIA API key", "nvapi-", "[A-Za-z0-9_.-]{12,}", 24),
  token("tavily_key", "a Tavily API key", "tvly-", "[A-Za-z0-9_.-]{12,}", 20),
  token("doppler_token", "a Doppler token", "dp.st. dp.pt. dp.ct.", "[A-Za-z0-9_.-]{12,}", 20),
  token("stripe_key", "a Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", "[A-Za-z0-9]{10,}", 16),
  token("retaindb_key", "a RetainDB key", "retaindb_", "[A-Za-z0-9]{10,}", 16),
  token("github_token", "a GitHub token", "github_pat_", UNDERSCORED, 20),
  token("github_token", "a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", ONE_RUN, 20),
  token("langsmith_key", "a LangSmith API key", "lsv2_pt_ lsv2_sk_", UNDERSCORED, 20),
  token("digitalocean_token", "a DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", UNDERSCORED, 32),
  token("linear_key", "a Linear API key", "lin_api_", UNDERSCORED, 24),
  token("figma_token", "a Figma token", "figd_", UNDERSCORED, 24),
  token("service_key", "an API key", "hsk_ sm_", UNDERSCORED, 24),
  token("docker_token", "a Docker token", "dckr_pat_", WORD_LIKE, 20),
  token("grafana_token", "a Grafana token", "glsa_ glc_", UNDERSCORED, 24),
  token("sentry_token", "a Sentry token", "sntrys_ sntryu_", "[A-Za-z0-9_=+/-]{16,}", 24),
  token("supabase_token", "a Supabase token", "sbp_ sb_secret_", UNDERSCORED, 20),
  token("huggingface_token", "a Hugging Face token", "hf_", ONE_RUN, 24),
  token("npm_token", "an npm token", "npm_", ONE_RUN, 30),
  token("groq_key", "a Groq API key", "gsk_", ONE_RUN, 24),
  token("replicate_token", "a Replicate token", "r8_", ONE_RUN, 24),
  token("notion_token", "a Notion token", "ntn_", ONE_RUN, 24),
  token("notion_token", "a Notion token", "secret_", "[A-Za-z0-9]{43}(?![A-Za-z0-9])", 43),
  token("heroku_key", "a Heroku API key", "HRKU-", "[A-Za-z0-9_-]{30,}", 30),
  token("hubspot_token", "a HubSpot token", "pat-na1- pat-na2- pat-eu1-", "[0-9A-Fa-f-]{36}", 36),
  token("netlify_token", "a Netlify token", "nfp_", LONG_RUN, 32),
  token(
    "dynatrace_token",
    "a Dynatrace token",
    "dt0c01. dt0s01. dt0s16.",
    "[A-Z0-9]{8,}\\.[A-Z0-9]{30,}",
    40,
  ),
  token("pulumi_token", "a Pulumi token", "pul-", "[0-9a-f]{40}(?![A-Za-z0-9])", 40),
  token("buildkite_token", "a Buildkite token", "bkua_", LONG_RUN, 32),
  token("shopify_token", "a Shopify token", "shpat_ shpss_ shpca_ shppa_", ONE_RUN, 24),
  token("perplexity_key", "a Perplexity API key", "pplx-", LONG_RUN, 30),
  token("xai_key", "an xAI API key", "xai-", LONG_RUN, 30),
  token("service_key", "an API key", "fc- key-", LONG_RUN, 32),
  token("databricks_token", "a Databricks token", "dapi", LONG_RUN, 32),
  token("postman_key", "a Postman API key", "PMAK-", "[A-Za-z0-9-]{30,}", 30),
  token("newrelic_key", "a New Relic key", "NRAK-", "[A-Z0-9]{24,}", 24),
  token("tailscale_key", "a Tailscale key", "tskey-", "[A-Za-z0-9-]{16,}", 20),
  token("atlassian_token", "an Atlassian token", "ATATT3x", "[A-Za-z0-9_=-]{20,}", 40),
  token("age_key", "an age secret key", "AGE-SECRET-KEY-1", "[A-Z0-9]{30,}", 40),
  token("aws_key", "an AWS access key", "AKIA ASIA", "[A-Z0-9]{16}(?![A-Za-z0-9])", 16),
  token("twilio_key", "a Twilio API key", "SK", "[0-9a-f]{32}(?![A-Za-z0-9])", 32),
  token("google_token", "a Google access token", "ya29.", "[A-Za-z0-9_-]{8,}(?:\\.[A-Za-z0-9_-]+)?", 24),
  token("vault_token", "a HashiCorp Vault token", "hvs. hvb.", "[A-Za-z0-9_-]{8,}(?:\\.[A-Za-z0-9_-]+)?", 20),
  token("sendgrid_key", "a SendGrid API key", "SG.", "[A-Za-z0-9_-]{8,}(?:\\.[A-Za-z0-9_-]+)?", 32),
];

function token(id: string, label: string, prefixes: string, body: string, refuseFrom: number): TokenFormat {
  return { id, label, prefixes: prefixes.split(" "), body, refuseFrom };
}

// A token begins after no letter or digit; in JSON text also after an escaped line end or tab.
const START = "(?:(?<![A-Za-z0-9])|(?<=\\\\[bfnrt]))";
const RUN_START = "(?:(?<![A-Za-z0-9_-])|(?<=\\\\[bfnrt]))";

/** One group for each row of the table, around the prefix. */
export const TOKEN = new RegExp(
  `${START}(?:${TOKEN_FORMATS.map(({ prefixes, body }) => `(${alternatives(prefixes)})${body}`).join("|")})`,
  "g",
);
// ---- Other formats ----

export const MASK = "***";

type Format = {
  readonly id: string;
  readonly label: string;
  /** A pattern that starts with any letters is slow; each has a part that few texts contain. */
  readonly hint?: RegExp;
  readonly pattern: RegExp;
  /** The group of the pattern that is the secret; default: the whole match. */
  readonly secret?: number;
  /** Whether the gate reports it; `head` is the first group. */
  readonly isRefused: (secret: string, head: string) => boolean;
  /** As `String.replace` takes it. */
  readonly mask: string | ((whole: string, ...groups: never[]) => string);
};

/** Formats that no ordinary text has. */
export const EXACT_FORMATS: readonly Format[] = [
  {
    ...exact("webhook_url", "a webhook address", `$1${MASK}`),
    pattern:
      /(hooks\.slack\.com\/(?:services|workflows)\/|discord(?:app)?\.com\/api\/webhooks\/)[A-Za-z0-9_/-]+/g,
    isRefused: (address) => address.split("/").some((part) => part.length >= 20 && isRandom(part)),
  },
  {
    ...exact("json_web_token", "a JSON web token", `eyJ${MASK}`),
    // Anchored to the start of a run of token characters; otherwise a long run would be tried from each position.
    pattern: new RegExp(`${RUN_START}eyJ[A-Za-z0-9_-]{6,}\\.[A-Za-z0-9_-]{4,}(?:\\.[A-Za-z0-9_-]*)?`, "g"),
    isRefused: (token) => token.length >= FEWEST_WEB_TOKEN_CHARS,
  },
  {
    ...exact("discord_token", "a Discord token", MASK),
    pattern: new RegExp(`${RUN_START}[MNO][A-Za-z0-9_-]{22,30}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,}`, "g"),
  },
  {
    ...exact("mailchimp_key", "a Mailchimp API key", `${MASK}$1`, /-us/),
    pattern: /(?<![0-9A-Za-z])[0-9a-f]{32}(-us[0-9]{1,2})(?![0-9A-Za-z])/g,
  },
  {
    ...exact("terraform_token", "a Terraform token", `${MASK}$1${MASK}`, /\.atlasv1\./),
    pattern:
      /(?<![0-9A-Za-z])[0-9A-Za-z]{10,20}(\.atlasv1\.)(?=[0-9A-Za-z_-]{0,512}[0-9])[0-9A-Za-z_-]{40,512}/g,
  },
  {
    ...exact("telegram_token", "a Telegram bot token", `$1:${MASK}`),
    pattern: /(?<![0-9])([0-9]{6,12}):AA[A-Za-z0-9_-]{28,}/g,
  },
];

function exact(id: string, label: string, mask: string, hint?: RegExp): Omit<Format, "pattern"> {
  return { id, label, mask, hint, isRefused: () => true };
}

const IN_ADDRESS = { id: "url_token", label: "a token in an address" };
const AUTHORIZATION = { id: "authorization", label: "an authorization header" };
const AUTHORIZATION_HEAD = `((?:proxy-)?authorization\\\\?["']?[ \\t]{0,8}[:=][ \\t]{0,8}\\\\?["']?)`;
const ONE_WORD_SCHEME = "(?:bearer|basic|token|apikey|negotiate)[ \\t]+";

/** Formats that their surroundings show: addresses, headers, a flag. */
export const PLACED_FORMATS: readonly Format[] = [
  {
    id: "url_password",
    label: "a password in an address",
    hint: /:\/\//,
    pattern: /(?<=:\/\/)([^\s/:@"'<>\\]{0,256}):([^\s/"'<>\\]{1,1024})@/g,
    secret: 2,
    isRefused: isUrlPassword,
    mask: `$1:${MASK}@`,
  },
  {
    ...IN_ADDRESS,
    hint: /:\/\//,
    pattern: /(?<=:\/\/)([^\s/:@"'<>\\*]{16,512})@/g,
    secret: 1,
    isRefused: (user) => user.length >= 20 && isRandom(user),
    mask: (whole: string, user: string) => (looksRandom(user) ? `${MASK}@` : whole),
  },
  {
    ...IN_ADDRESS, // the signature of an Azure address
    hint: /sig=/,
    pattern: /(?<=[?&]sig=)[A-Za-z0-9%+/=_-]{30,256}/g,
    isRefused: isRandom,
    mask: MASK,
  },
  {
    ...PASSWORD, // `curl -u user:password`
    hint: /curl/,
    pattern:
      /(?<![A-Za-z0-9])(curl[ \t](?:[^\n]{0,300}?[ \t])?(?:-u[ \t]{0,4}|--user[ \t=])["']?[^\s:"'$]{1,128}):([^\s"']{1,256})/g,
    secret: 2,
    isRefused: (password, head) => isUrlPassword(password, /[^\s"'=]*$/.exec(head)?.[0] ?? ""),
    mask: `$1:${MASK}`,
  },
  {
    ...AUTHORIZATION,
    hint: /authorization/i,
    pattern: new RegExp(`${AUTHORIZATION_HEAD}(${ONE_WORD_SCHEME})([^\\s"'\\\\]+)`, "gi"),
    secret: 3,
    isRefused: isHeaderValue,
    mask: `$1$2${MASK}`,
  },
  {
    ...AUTHORIZATION, // other schemes (Digest, AWS4-HMAC-SHA256) have parameters that are secret to the end of the line
    hint: /authorization/i,
    pattern: new RegExp(
      `${AUTHORIZATION_HEAD}(?!${ONE_WORD_SCHEME}\\*{3})([^\\s"'\\\\]+(?:[ \\t]+[^\\s"'\\\\]+)*)`,
      "gi",
    ),
    secret: 2,
    isRefused: (value) => /^\S+$/.test(value) && isHeaderValue(value),
    mask: maskAuthorization,
  },
  {
    ...AUTHORIZATION,
    hint: /bearer/i,
    pattern: /(?<![A-Za-z0-9])(bearer[ \t]+)([A-Za-z0-9._~+/=-]{8,})/gi,
    secret: 2,
    isRefused: (credentials) => credentials.length >= FEWEST_NAMED_CHARS && isHeaderValue(credentials),
    mask: maskBearer,
  },
];

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

export const KEY_BLOCK_START = /-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----/g;

/** True for random characters as opposed to words: a digit, upper case inside, or 20 characters without a separator. */
export function looksRandom(text: string): boolean {
  if (/[0-9]/.test(text) || /[a-z][A-Z]/.test(text)) return true;
  return text.length >= 20 && !/[-_./]/.test(text);
}

export function alternatives(literals: readonly string[]): string {
  return literals.map((literal) => literal.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&")).join("|");
}

// ---- Values in a sentence, below a heading or in a table ----

/** `API_KEY is ...`, `API key:` with the key on the next line, `api key (...)`, `| api_key | ... |` */
const PROSE_VALUE =
  /(?<![A-Za-z0-9])((?:api|access|secret|private|auth|signing|encryption|master|service|deploy|client)[_ -]?(?:key|token|secret)|token|secret|password|passphrase)["'`*]{0,3}(?:[ \t]{1,4}(?:is|was|equals)[ \t]{0,4}:?[ \t]{1,4}|[ \t]{0,4}[:=]?[ \t]{0,4}\(|[ \t]{0,8}[:=][*]{0,2}[ \t]{0,8}(?:\r?\n){1,2}[ \t>]{0,8}|[ \t]{0,24}\|[ \t]{0,24})["'`*]{0,3}([^\s"'`|()<>]{16,256})/gi;

function proseValues(text: string): FoundSecret[] {
  return [...text.matchAll(PROSE_VALUE)].flatMap((match): FoundSecret[] => {
    const [whole, name = "", rest = ""] = match;
    const value = rest.replace(/["'`)\]},;.:!?]+$/, "");
    if (value.length < FEWEST_NAMED_CHARS || !isProseValue(value, name)) return [];
    const start = match.index + whole.length - rest.length;
    const kind = /key|token|secret/i.test(name) ? NAMED_VALUE : PASSWORD;
    return [{ ...kind, start, end: start + value.length }];
  });
}

function isProseValue(value: string, name: string): boolean {
  if (!/[0-9]/.test(value) || !/[A-Za-z]/.test(value) || !isRandom(value) || isReference(value)) return false;
  return /key|password|passphrase/i.test(name)
    ? !value.includes("/") || !/\.\w{1,5}$/.test(value)
    : isKeyMaterial(value);
}

// ---- Telling secrets from ordinary values ----

function isRandom(text: string): boolean {
  return looksRandom(text) && !isPlaceholder(text) && !isMadeOfWords(text);
}

function isHeaderValue(text: string): boolean {
  return text.length >= FEWEST_HEADER_CHARS && !isReference(text) && isRandom(text);
}

function isUrlPassword(password: string, user: string): boolean {
  if (password.length < 4 || password.toLowerCase() === user.toLowerCase()) return false;
  if (/^[0-9]{1,5}(?:[?#]|$)/.test(password)) return false; // a port, with an e-mail address later in the URL
  return !isPlaceholder(password) && !/^[$%{<[(]/.test(password) && !USUAL_PASSWORD.test(password);
}

/** Passwords of examples and local databases. */
const USUAL_PASSWORD =
  /^(?:(?:my|your|the|some|db|user)?[-_]?(?:password|passwd|pass|pwd|secret|token)(?:[-_]?here)?|postgres|mysql|root|admin|guest|example|changeme|hidden|redacted|username?)$/i;

function namedSecret(named: NamedValue, text: string): FoundSecret[] {
  const { pair, value } = named;
  const content = value.text;
  const found = (kind: typeof PASSWORD): FoundSecret[] => [{ ...kind, start: value.start, end: value.end }];
  // Counts only ASCII: a sentence in a script without blanks is no value.
  if (content.replace(/[^!-~]/g, "").length < FEWEST_NAMED_CHARS || /\s/.test(content)) return [];
  if (isNoSecret(content) || isPlaceholder(content) || isReference(content)) return [];
  if (/(?:hash|hashes|digest|checksum|fingerprint|sum|salt)$/i.test(pair.name)) return [];
  if (/(?:password|passwd|passphrase|pwd|passcode)|[_.-]pass$/i.test(pair.name))
    return isPassword(content, pair.separator) ? found(PASSWORD) : [];
  const isClear = named.strength === "strong" || isOwnedKey(named, text);
  if (!isClear && (pair.name.toLowerCase() === "key" || !isKeyMaterial(content))) return [];
  if (!isRandom(content)) return [];
  return found(/aws_?secret/i.test(pair.name) ? AWS_SECRET_KEY : NAMED_VALUE);
}

/** People choose passwords, so words count too; but one word after a colon is the rest of a sentence, or a type. */
function isPassword(content: string, separator: string): boolean {
  if (separator.includes(":") && /^[A-Z]/.test(content) && isCamelCase(content)) return false;
  if (isMadeOfWords(content)) return !ABOUT_A_PASSWORD.test(content);
  return looksRandom(content) || !separator.includes(":");
}

/** `API key: ...`: the word before says that the key is secret. `Primary key: ...` says that it is not. */
function isOwnedKey({ pair }: NamedValue, text: string): boolean {
  const before = /([A-Za-z]+)[ \t-]$/.exec(text.slice(Math.max(0, pair.start - 40), pair.start))?.[1];
  return before !== undefined && KEY_OWNER.test(before.toLowerCase());
}

/** For a name that only ends in `key`: the value is no hash, id, path or fingerprint. */
function isKeyMaterial(content: string): boolean {
  return !HASH_OR_UUID.test(content) && !/^(?:0x)?[0-9a-f]+$|^(?:sha\d+|md5):|\/.*\.\w{1,5}$/i.test(content);
}

/** `correct-horse-battery-staple` may be a password; `kept-in-the-vault` says where one is kept. */
const ABOUT_A_PASSWORD =
  /(?:vault|keychain|keyring|1password|bitwarden|lastpass|keepass|manager|dotenv|stored|kept|saved|ask|see|rotat|managed|generated|required|optional|disabled|expired?|minimum|maximum|characters|length|policy|reset|forgot|secrets?[-_./])/i;

/** Says where a value is kept, how it is read or which type it has, instead of the value. */
function isReference(text: string): boolean {
  return REFERENCE.test(text) || VARIABLE.test(text) || MEMBER.test(text);
}

const REFERENCE =
  /^(?:\$[A-Za-z_{(]|%[A-Za-z_]|[<[{(]|[/~]|\.{1,2}\/|[A-Za-z]:\\|(?:vault|env|file|arn|keychain|ssm|ref|secret|secretRef|urn):|!\w+$|[A-Za-z_][\w.]*[([<]|process\.|os\.|import\.meta\.|env\.|secrets\.|config\.|settings\.|self\.|this\.)|:\/\/|\]\(|\$\{|\{\{|getenv|environ/i;
/** `DATABASE_PASSWORD` */
const VARIABLE = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/;
/** `handler.password`, `options?.apiKey`, `index_url_user_password` */
const MEMBER =
  /^[A-Za-z_$]+(?:(?:\?\.|[._])[A-Za-z_$]+)+$(?<=key|token|secret|password|passwd|pwd|credentials?)/i;

/** To be filled in by the reader: `xxxxxxxx`, `...`, `your-key-here`. */
function isPlaceholder(text: string): boolean {
  return (
    /^[xX0*.#?_\u2022\u2026-]+$/.test(text) ||
    /^(?:your|example|sample|dummy|placeholder|change-?me|replace|insert|redacted|removed|todo|xxx|\*\*\*|\.\.\.)/i.test(
      text,
    ) ||
    /(?:\.\.\.|\u2026|\*\*\*|xxxx)$/i.test(text) ||
    /EXAMPLE(?:KEY)?$/.test(text) // as in AWS's manuals
  );
}

/** Words, short numbers and versions joined by separators: a name such as `prod-db-credentials-v2`. */
function isMadeOfWords(text: string): boolean {
  const pieces = text.split(/[-_./:@+=~,]+/).filter((piece) => piece !== "");
  return (
    (pieces.length > 1 || isCamelCase(text)) &&
    pieces.every((piece) => WORD.test(piece) || isCamelCase(piece))
  );
}

const WORD =
  /^(?:[A-Za-z]|[A-Z]?[a-z]{2,20}|[A-Z]{2,20}|[0-9]{1,8}|[A-Za-z]{1,12}[0-9]{1,3}|ed25519|[0-9]{1,3}[a-z]{1,8}|v[0-9]{1,4})$/;

/** `getSecretFromVault`: words of four letters or more on average. Random letters change case more often. */
function isCamelCase(piece: string): boolean {
  if (!/^[A-Z]?[a-z]+(?:[A-Z][a-z]+)+$/.test(piece)) return false;
  const words = piece.match(/[A-Z]?[a-z]+/g)?.length ?? 0;
  return piece.length / words >= 4;
}

// ---- Private keys ----

/** Start and end of each block that holds a key. The BEGIN and END lines alone, as in a manual, are no block. */
function keyBlocks(text: string): (readonly [number, number])[] {
  const blocks: (readonly [number, number])[] = [];
  let end = -1; // of the current block; searched again only once passed, so that the text is read once
  for (const start of text.matchAll(KEY_BLOCK_START)) {
    if (start.index < (blocks.at(-1)?.[1] ?? 0)) continue;
    const from = start.index + start[0].length;
    if (end < from) {
      const next = text.indexOf("-----END ", from);
      end = next === -1 ? text.length : next;
    }
    const body = text.slice(from, Math.min(end, from + LONGEST_KEY_HEAD)).match(/[A-Za-z0-9+/=]{12,}/)?.[0];
    if (body !== undefined && looksRandom(body) && !isPlaceholder(body)) blocks.push([start.index, end]);
  }
  return blocks;
}

/** A key begins right after the first line and headers such as `Proc-Type`. */
const LONGEST_KEY_HEAD = 1024;

// ---- `name = value` where the name says that the value is a secret: settings, JSON, flags, query strings ----

const MASKED_VALUE = new RegExp(
  `^(?:${alternatives([...TOKEN_FORMATS.flatMap(({ prefixes }) => prefixes), "eyJ", "Bearer ", "Basic "])}|[0-9]{6,12}:)?\\*{3}$`,
);

const NAME =
  /(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]+)(\\?["']?)([ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8}|[ \t]{1,8}(?<=--[a-z-]{1,40}[ \t]{1,8}))/g;
const SECRET_WORD =
  /(?:password|passwd|passphrase|pwd|secret|credentials?|token|apikey|accesskey|privatekey|authkey)$/;
/** In every name that `nameStrength` calls strong or weak; most texts have none of it, and `NAME` is slow. */
const IN_SECRET_NAME = /pass|pwd|secret|credential|token|key/i;
const KEY_OWNER =
  /^(?:api|access|secret|private|auth|signing|encryption|master|license|service|account|admin|deploy|ssh|app|shared|client|subscription)$/;
const PLAIN_KEY = /^(?:primary|foreign|cache|sort|public|partition|idempotency|group|index|row)$/;
/** `token_count`, `password_file`, `secret_name`: the value is about a secret. */
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
type NameStrength = "strong" | "weak";
export type NamedValue = { readonly pair: Pair; readonly value: Value; readonly strength: NameStrength };

/** Every `name = value` whose name may be that of a secret, from left to right. */
export function* namedValues(text: string): Generator<NamedValue> {
  if (!IN_SECRET_NAME.test(text)) return;
  const names = new RegExp(NAME); // a copy, because lastIndex is state
  for (let match = names.exec(text); match !== null; match = names.exec(text)) {
    const pair: Pair = {
      name: match[1] ?? "",
      isQuotedName: match[2] !== "",
      separator: match[3] ?? "",
      start: match.index,
    };
    const strength = nameStrength(pair.name);
    if (strength === "none") continue;
    const value = readValue(text, names.lastIndex, pair);
    yield { pair, value, strength };
    names.lastIndex = Math.max(value.end, names.lastIndex);
  }
}

function nameStrength(name: string): NameStrength | "none" {
  const parts = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[_.-]+/)
    .filter((part) => part !== "");
  if (ABOUT.test(parts.at(-1) ?? "")) return "none";
  if (parts.some((part) => SECRET_WORD.test(part))) return "strong";
  if (parts.length > 1 && parts.at(-1) === "pass") return "strong"; // `SMTP_PASS`
  const key = parts.lastIndexOf("key");
  if (key === -1) return "none";
  const owner = parts[key - 1] ?? "";
  if (PLAIN_KEY.test(owner)) return "none";
  return KEY_OWNER.test(owner) || /^[A-Z0-9]+_(?:[A-Z0-9]+_)*KEY$/.test(name) ? "strong" : "weak";
}

/** True for an empty value, a mask, a switch, a type or a variable. */
function isNoSecret(content: string): boolean {
  return content === "" || MASKED_VALUE.test(content) || NO_SECRET.test(content);
}

/** Whether redaction masks the value. */
export function isSecretValue({ pair, value, strength }: NamedValue, text: string): boolean {
  const content = value.text;
  if (isNoSecret(content)) return false;
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
  while (end > at && /[)\]},;.:!?]/.test(text.charAt(end - 1))) end -= 1; // punctuation of the sentence
  return { text: text.slice(at, end), start: at, end, isQuoted: false };
}

/** An unclosed quote ends with its line: masking too much is better than leaving half a secret. */
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
