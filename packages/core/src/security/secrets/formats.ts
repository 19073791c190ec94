// The formats of credentials, for redaction and for the second gate. Redaction masks every match of `body`, because a log may have cut
// a key short; the gate requires `refuseFrom` characters, so that no note is refused for a word that only begins like a key.

export type TokenFormat = {
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

export const TOKEN_FORMATS: readonly TokenFormat[] = [
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
// Anchored to the start of a run of token characters; otherwise a long run would be tried from each position.
export const WEB_TOKEN = new RegExp(
  `${RUN_START}eyJ[A-Za-z0-9_-]{6,}\\.[A-Za-z0-9_-]{4,}(?:\\.[A-Za-z0-9_-]*)?`,
  "g",
);
export const BOT_TOKEN = /(?<![0-9])([0-9]{6,12}):AA[A-Za-z0-9_-]{28,}/g;
export const DISCORD_TOKEN = new RegExp(
  `${RUN_START}[MNO][A-Za-z0-9_-]{22,30}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,}`,
  "g",
);
export const MAILCHIMP_KEY = /(?<![0-9A-Za-z])[0-9a-f]{32}(-us[0-9]{1,2})(?![0-9A-Za-z])/g;
export const TERRAFORM_TOKEN =
  /(?<![0-9A-Za-z])[0-9A-Za-z]{10,20}(\.atlasv1\.)(?=[0-9A-Za-z_-]{0,512}[0-9])[0-9A-Za-z_-]{40,512}/g;
/** The signature of an Azure address. */
export const URL_SIGNATURE = /(?<=[?&]sig=)[A-Za-z0-9%+/=_-]{30,256}/g;
/** `curl -u user:password` */
export const CURL_PASSWORD =
  /(?<![A-Za-z0-9])(curl[ \t](?:[^\n]{0,300}?[ \t])?(?:-u[ \t]{0,4}|--user[ \t=])["']?)([^\s:"'$]{1,128}):([^\s"']{1,256})/g;
export const WEBHOOK =
  /(hooks\.slack\.com\/(?:services|workflows)\/|discord(?:app)?\.com\/api\/webhooks\/)[A-Za-z0-9_/-]+/g;
export const URL_PASSWORD = /(?<=:\/\/)([^\s/:@"'<>\\]{0,256}):([^\s/"'<>\\]{1,1024})@/g;
export const URL_TOKEN = /(?<=:\/\/)([^\s/:@"'<>\\*]{16,512})@/g;
const AUTHORIZATION_HEAD = `((?:proxy-)?authorization\\\\?["']?[ \\t]{0,8}[:=][ \\t]{0,8}\\\\?["']?)`;
const ONE_WORD_SCHEME = "(?:bearer|basic|token|apikey|negotiate)[ \\t]+";
export const AUTHORIZATION = new RegExp(`${AUTHORIZATION_HEAD}(${ONE_WORD_SCHEME})([^\\s"'\\\\]+)`, "gi");
/** Other schemes (Digest, AWS4-HMAC-SHA256) have parameters that are secret to the end of the line. */
export const OTHER_AUTHORIZATION = new RegExp(
  `${AUTHORIZATION_HEAD}(?!${ONE_WORD_SCHEME}\\*{3})([^\\s"'\\\\]+(?:[ \\t]+[^\\s"'\\\\]+)*)`,
  "gi",
);
export const BEARER = /(?<![A-Za-z0-9])(bearer[ \t]+)([A-Za-z0-9._~+/=-]{8,})/gi;
export const KEY_BLOCK_START = /-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----/g;

/** True for random characters as opposed to words: a digit, upper case inside, or 20 characters without a separator. */
export function looksRandom(text: string): boolean {
  if (/[0-9]/.test(text) || /[a-z][A-Z]/.test(text)) return true;
  return text.length >= 20 && !/[-_./]/.test(text);
}

export function alternatives(literals: readonly string[]): string {
  return literals.map((literal) => literal.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&")).join("|");
}
