// Texts that look like credentials, put together at run time: no scanner that reads this repository finds one in it.

const PIECES = [
  "aB3d",
  "E6gH",
  "9jK2",
  "mN5p",
  "Q8sT",
  "1vW4",
  "yZ7b",
  "C0eF",
  "3hJ6",
  "kL9n",
  "P2rS",
  "5uX8",
];

/** Letters and digits as by chance; the same ones for the same length. */
export function chance(length: number): string {
  return PIECES.join("").repeat(9).slice(0, length);
}

const join = (...parts: readonly string[]): string => parts.join("");
const base64Url = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

export type Credential = { readonly text: string; readonly id: string; readonly label: string };

/** A text with one credential in it, by the name of its form; `id` without the `secret_` in front. */
export const CREDENTIALS: Readonly<Record<string, Credential>> = {
  Anthropic: {
    text: join("sk-", "ant-", "api03-", chance(90)),
    id: "anthropic_key",
    label: "an Anthropic API key",
  },
  "OpenAI, old": { text: join("sk", "-", chance(48)), id: "openai_key", label: "an OpenAI API key" },
  "OpenAI, project": { text: join("sk", "-proj-", chance(60)), id: "openai_key", label: "an OpenAI API key" },
  OpenRouter: {
    text: join("sk", "-or-v1-", chance(64)),
    id: "openrouter_key",
    label: "an OpenRouter API key",
  },
  "GitHub, classic": { text: join("gh", "p_", chance(36)), id: "github_token", label: "a GitHub token" },
  "GitHub, OAuth": { text: join("gh", "o_", chance(36)), id: "github_token", label: "a GitHub token" },
  "GitHub, fine-grained": {
    text: join("github", "_pat_", chance(22), "_", chance(59)),
    id: "github_token",
    label: "a GitHub token",
  },
  GitLab: { text: join("gl", "pat-", chance(20)), id: "gitlab_token", label: "a GitLab token" },
  "AWS access key": {
    text: join("AK", "IA", chance(40).toUpperCase().slice(0, 16)),
    id: "aws_key",
    label: "an AWS access key",
  },
  "AWS secret key": {
    text: join("aws_secret_access_key = ", chance(12), "/", chance(14), "/", chance(12)),
    id: "aws_secret_key",
    label: "an AWS secret key",
  },
  Slack: {
    text: join("xo", "xb-", "123456789012-1234567890123-", chance(24)),
    id: "slack_token",
    label: "a Slack token",
  },
  "Slack webhook": {
    text: join("https://hooks.slack.", "com/services/T01ABCDEF/B01ABCDEF/", chance(24)),
    id: "webhook_url",
    label: "a webhook address",
  },
  "Stripe, secret": { text: join("sk", "_live_", chance(24)), id: "stripe_key", label: "a Stripe key" },
  "Stripe, restricted": { text: join("rk", "_live_", chance(24)), id: "stripe_key", label: "a Stripe key" },
  "Stripe, webhook": { text: join("wh", "sec_", chance(32)), id: "stripe_key", label: "a Stripe key" },
  Google: { text: join("AI", "za", "Sy", chance(33)), id: "google_key", label: "a Google API key" },
  npm: { text: join("np", "m_", chance(36)), id: "npm_token", label: "an npm token" },
  "Hugging Face": {
    text: join("h", "f_", chance(34)),
    id: "huggingface_token",
    label: "a Hugging Face token",
  },
  SendGrid: {
    text: join("S", "G.", chance(22), ".", chance(43)),
    id: "sendgrid_key",
    label: "a SendGrid API key",
  },
  Twilio: {
    text: join("S", "K", "0123456789abcdef0123456789abcdef"),
    id: "twilio_key",
    label: "a Twilio API key",
  },
  Telegram: {
    text: join("123456789", ":AA", chance(33)),
    id: "telegram_token",
    label: "a Telegram bot token",
  },
  JWT: {
    text: join(
      base64Url({ alg: "HS256", typ: "JWT" }),
      ".",
      base64Url({ sub: "1234567890" }),
      ".",
      chance(43),
    ),
    id: "json_web_token",
    label: "a JSON web token",
  },
  "PEM, RSA": {
    text: join("-----BEGIN RSA ", "PRIVATE KEY-----\n", chance(64), "\n-----END RSA ", "PRIVATE KEY-----"),
    id: "private_key",
    label: "a private key",
  },
  "PEM, cut off": {
    text: join("-----BEGIN ", "OPENSSH PRIVATE KEY-----\n", chance(64)),
    id: "private_key",
    label: "a private key",
  },
  "URL password": {
    text: join("postgres://app:", chance(10), "@db.example.com/orders"),
    id: "url_password",
    label: "a password in an address",
  },
  "bearer header": {
    text: join("Authorization: Bearer ", chance(30)),
    id: "authorization",
    label: "an authorization header",
  },
  "basic header": {
    text: join("authorization: Basic ", Buffer.from(`ada:${chance(10)}`).toString("base64")),
    id: "authorization",
    label: "an authorization header",
  },
  "password = ...": { text: join("password = ", chance(16), "!"), id: "password", label: "a password" },
  "password: words": {
    text: join("The root password: ", "correct-horse-", "battery-staple"),
    id: "password",
    label: "a password",
  },
  "api_key: ...": { text: join("api_key: ", chance(20)), id: "named_value", label: "a secret value" },
  "API key: ...": { text: join("The API key: ", chance(24)), id: "named_value", label: "a secret value" },
  "environment line": {
    text: join("export SERVICE_TOKEN=", chance(32)),
    id: "named_value",
    label: "a secret value",
  },
  "Notion, old": { text: join("secret", "_", chance(43)), id: "notion_token", label: "a Notion token" },
  Notion: { text: join("nt", "n_", chance(46)), id: "notion_token", label: "a Notion token" },
  Heroku: { text: join("HR", "KU-", chance(36)), id: "heroku_key", label: "a Heroku API key" },
  HubSpot: {
    text: join("pat", "-na1-", "0a1b2c3d-4e5f-6071-8293-", "a4b5c6d7e8f9"),
    id: "hubspot_token",
    label: "a HubSpot token",
  },
  Mailchimp: {
    text: join("0123456789abcdef", "fedcba9876543210", "-us", "12"),
    id: "mailchimp_key",
    label: "a Mailchimp API key",
  },
  Terraform: {
    text: join(chance(14), ".atlas", "v1.", chance(60)),
    id: "terraform_token",
    label: "a Terraform token",
  },
  Netlify: { text: join("nf", "p_", chance(36)), id: "netlify_token", label: "a Netlify token" },
  Dynatrace: {
    text: join("dt0", "c01.", chance(24).toUpperCase(), ".", chance(64).toUpperCase()),
    id: "dynatrace_token",
    label: "a Dynatrace token",
  },
  Pulumi: {
    text: join("pu", "l-", "0123456789abcdef".repeat(3).slice(0, 40)),
    id: "pulumi_token",
    label: "a Pulumi token",
  },
  Buildkite: { text: join("bk", "ua_", chance(40)), id: "buildkite_token", label: "a Buildkite token" },
  "Azure signature": {
    text: join("https://x.blob.example/c?sv=2022-11-02&sig=", chance(43), "%3D"),
    id: "url_token",
    label: "a token in an address",
  },
  "curl -u": {
    text: join("curl -s -u ada:", chance(10), " https://h.example"),
    id: "password",
    label: "a password",
  },
  SMTP_PASS: { text: join("SMTP_PASS=", chance(20)), id: "password", label: "a password" },
  "X_API_KEY is ...": { text: join("X_API_KEY is ", chance(24)), id: "named_value", label: "a secret value" },
  "api key (...)": {
    text: join("the api key (", chance(24), ")"),
    id: "named_value",
    label: "a secret value",
  },
  "a table row": { text: join("| api_key | ", chance(24), " |"), id: "named_value", label: "a secret value" },
  "query string": {
    text: join("https://api.example.com/v1?access_token=", chance(24), "&page=2"),
    id: "named_value",
    label: "a secret value",
  },
};

/** A sentence that has a GitHub token in it, and the token. */
export const GITHUB_TOKEN = CREDENTIALS["GitHub, classic"]?.text ?? "";
