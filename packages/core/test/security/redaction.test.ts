import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor, redactSecrets } from "../../src/security/redaction.ts";

const ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Random characters with at least one digit, as in every real key of this length. */
function random(length: number, alphabet = ALPHANUMERIC): fc.Arbitrary<string> {
  const body = fc.string({
    unit: fc.constantFrom(...alphabet),
    minLength: length - 1,
    maxLength: length + 11,
  });
  return fc.tuple(body, fc.constantFrom("1", "2", "7")).map(([text, digit]) => text + digit);
}

type Planted = { text: string; secret: string };

function prefixed(prefix: string, length = 24): fc.Arbitrary<Planted> {
  return random(length).map((body) => ({ text: prefix + body, secret: body }));
}
function inside(before: string, body: fc.Arbitrary<string>, after = ""): fc.Arbitrary<Planted> {
  return body.map((secret) => ({ text: before + secret + after, secret }));
}
// Without quotes and backslashes, which end an unquoted value.
const passwordText = random(8, `${ALPHANUMERIC}!#$%^*()_+=-[]{}|;:,./?~`).filter(
  (text) => !/^\$\{?\w+\}?$|^%\w+%$|[;,&]\w[\w.-]*[=:]|^[0-9.]+$/.test(text),
);

const KINDS: Record<string, fc.Arbitrary<Planted>> = {
  openai: prefixed("sk-"),
  "openai project": prefixed("sk-proj-", 40),
  anthropic: prefixed("sk-ant-api03-", 40),
  openrouter: prefixed("sk-or-v1-", 40),
  github: prefixed("ghp_", 36),
  "github fine-grained": prefixed("github_pat_", 60),
  gitlab: prefixed("glpat-", 20),
  slack: prefixed("xoxb-", 30),
  "slack app": prefixed("xapp-", 30),
  aws: inside(
    "AKIA",
    fc
      .string({ unit: fc.constantFrom(..."ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), minLength: 16, maxLength: 16 })
      .filter((text) => /[0-9]/.test(text)),
  ),
  google: prefixed("AIza", 35),
  "google oauth": prefixed("ya29.", 30),
  huggingface: prefixed("hf_", 34),
  npm: prefixed("npm_", 36),
  groq: prefixed("gsk_", 40),
  replicate: prefixed("r8_", 37),
  xai: prefixed("xai-", 60),
  perplexity: prefixed("pplx-", 48),
  stripe: prefixed("sk_live_", 24),
  mem0: prefixed("mem0_", 12),
  "mem0 platform": prefixed("m0-", 16),
  "mem0 self-hosted": inside("m0sk_", random(20, `${ALPHANUMERIC}_-`)),
  retaindb: prefixed("retaindb_", 12),
  supermemory: prefixed("sm_", 20),
  "supermemory with parts": inside("sm_", random(20, `${ALPHANUMERIC}_`)),
  sendgrid: fc
    .tuple(random(22), random(43))
    .map(([id, body]) => ({ text: `SG.${id}.${body}`, secret: body })),
  "web token": fc
    .tuple(random(20), random(30), random(40))
    .map(([head, body, signature]) => ({ text: `eyJ${head}.${body}.${signature}`, secret: body })),
  telegram: inside("123456789:AA", random(33, `${ALPHANUMERIC}_-`)),
  "slack webhook": inside("https://hooks.slack.com/services/T0001/B0001/", random(24)),
  bearer: inside("Bearer ", random(12, `${ALPHANUMERIC}._~+/-`)),
  "authorization header": inside("Authorization: Basic ", random(8, `${ALPHANUMERIC}+/=`)),
  "authorization without scheme": inside("authorization: ", random(6)),
  "authorization in JSON": inside('{"Authorization":"Bearer ', random(6), '"}'),
  "unknown scheme": inside("Authorization: Custom ", random(8)),
  "url password": inside("postgres://ada:", random(8, `${ALPHANUMERIC}!$%^*@:.-`), "@db.local/main"),
  "url user": inside("https://", random(20), "@git.local/x.git"),
  "url query": inside("https://x.local/?access_token=", random(8), "&page=2"),
  "environment line": inside("DB_PASSWORD=", passwordText),
  "exported key": inside("export SERVICE_API_KEY=", passwordText),
  "JSON password": fc
    .string({ minLength: 8 })
    .filter(
      (text) => /[0-9]/.test(text) && !/["\\]|^[\s0-9.]*$/.test(text) && !/^\$\{?\w+\}?$|^%\w+%$/.test(text),
    )
    .map((secret) => ({ text: JSON.stringify({ user: "ada", client_secret: secret }), secret })),
  "YAML password": inside("password: ", random(8)),
  "quoted token": inside("auth_token = '", random(8), "'"),
  "camel case": inside("apiKey: ", random(10)),
  "command line": inside("tool --api-key ", random(8), " run"),
  "connection string": inside("Server=db;Password=", random(8), ";Database=main"),
  "private key": fc.array(random(64), { minLength: 1, maxLength: 5 }).map((body) => ({
    text: `-----BEGIN RSA PRIVATE KEY-----\n${body.join("\n")}\n-----END RSA PRIVATE KEY-----`,
    secret: body.at(-1) ?? "",
  })),
  "private key cut off": inside("-----BEGIN OPENSSH PRIVATE KEY-----\n", random(64)),
};

describe("a planted secret never survives", () => {
  const around = fc.constantFrom(
    ["", ""],
    ["see ", " please"],
    ["\n", "\n"],
    ["(", ")"],
    ["x, ", ", y"],
    ["`", "`"],
  );
  for (const [kind, planted] of Object.entries(KINDS)) {
    it(kind, () => {
      fc.assert(
        fc.property(planted, around, ({ text, secret }, [before, after]) => {
          expect(redactSecrets(before + text + after)).not.toContain(secret);
        }),
      );
    });
  }
});

describe("redaction", () => {
  it("gives the same text when it runs twice, for secrets and for anything else", () => {
    const piece = fc.oneof(
      ...Object.values(KINDS).map((kind) => kind.map(({ text }) => text)),
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.constantFrom(...`password|token=|key: |"|'|\\| |\n|***|Bearer |=|://|@|-----`.split("|")),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const once = redactSecrets(pieces.join(""));
        expect(redactSecrets(once)).toBe(once);
      }),
      { numRuns: 2000 },
    );
  });

  it("finds a key behind an escaped line end in JSON text", () => {
    const key = "sk-ant-api03-AbC123dEf456gHi789";
    for (const blank of ["\n", "\t", "\r\n"])
      expect(redactSecrets(JSON.stringify({ log: `first line${blank}${key}` }))).not.toContain("AbC123");
  });

  it("keeps JSON readable", () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      ...Object.values(KINDS).map((kind) => kind.map((item) => item.text)),
    );
    const name = fc.constantFrom("password", "api_key", "token", "note", "Authorization", "max_tokens");
    fc.assert(
      fc.property(fc.dictionary(name, fc.oneof(value, fc.array(value, { maxLength: 3 }))), (object) => {
        JSON.parse(redactSecrets(JSON.stringify(object)));
        JSON.parse(redactSecrets(JSON.stringify(object, null, 2)));
      }),
      { numRuns: 500 },
    );
  });

  it("keeps a prefix that tells the kind of secret", () => {
    expect(redactSecrets("use sk-ant-api03-abcDEF123456 now")).toBe("use sk-ant-*** now");
    expect(redactSecrets("OPENAI_API_KEY=sk-proj-abcDEF123456")).toBe("OPENAI_API_KEY=sk-proj-***");
    expect(redactSecrets("Authorization: Bearer abc, status=200")).toBe(
      "Authorization: Bearer *** status=200",
    );
    expect(redactSecrets("https://ada:pa@ss@host/x")).toBe("https://ada:***@host/x");
    expect(redactSecrets("?api_key=abc&page=2")).toBe("?api_key=***&page=2");
    expect(redactSecrets('{"password":12345,"max_tokens":4096}')).toBe(
      '{"password":"***","max_tokens":4096}',
    );
  });

  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to a variable, as a shell script has it
  const reference = "password=${DB_PASSWORD}";

  it.each([
    "Send email summaries at end of day",
    "Password policy: minimum 12 characters",
    "Token authentication uses Authorization header",
    "Authorization: required for every call",
    "Bearer tokens are refused, bearer authentication is not.",
    "The secret: she likes tea. The key: patience.",
    "task-management-of-version-2 and risk-assessment-2024",
    "npm_config_registry, hf_transformers_cache, xai-grok-4-fast-reasoning, pplx-70b-online",
    "max_tokens: 4096, token_count=17, token_limit: 200000, total_tokens=123456",
    "primary_key=user_id, cache_key=0123456789abcdef0123456789abcdef",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "id 123e4567-e89b-42d3-a456-426614174000 and key=123e4567-e89b-42d3-a456-426614174000",
    `token=$TOKEN ${reference} api_key=<your-key> secret: null`,
    "password_file=/run/secrets/db, key_id: 7, token_type=bearer",
    "http://localhost:8080/a@b and mail ada@example.com about keyboards: black",
  ])("leaves ordinary text alone: %s", (text) => {
    expect(redactSecrets(text)).toBe(text);
  });

  it("takes time in proportion to the text, whatever the text", () => {
    const units = [
      ...`a|key|sk-|eyJ|password="|password=|key |authorization: |://a:|a.|--a |bearer |token=\\"`.split("|"),
      ..."token=;a|123456:AA".split("|"),
      `token${" ".repeat(500)}`,
      "-----BEGIN PRIVATE KEY-----",
      '-----BEGIN PRIVATE KEY-----"',
      "https://",
      "token: ",
      "\\",
      "'",
    ];
    for (const unit of units) {
      const text = unit.repeat(Math.ceil(1_000_000 / unit.length));
      const started = performance.now();
      redactSecrets(text);
      // Linear runs take up to 0.1 s; a quadratic step on a megabyte takes minutes.
      expect(performance.now() - started, unit).toBeLessThan(3000);
    }
  });
});

describe("a redactor for known values", () => {
  it("masks them as they are, in JSON and in URLs", () => {
    const secret = 'p"ss word/42';
    const redact = createRedactor([secret]);
    for (const text of [secret, JSON.stringify({ note: secret }), `?q=${encodeURIComponent(secret)}`]) {
      expect(redact(`x ${text} y`)).not.toMatch(/ss.*word/);
    }
  });

  it("masks any value that is long enough, however it is placed", () => {
    fc.assert(
      fc.property(random(8), fc.string(), fc.string(), (secret, before, after) => {
        const text = `${before}${secret}${after}`;
        expect(createRedactor([secret])(text)).not.toContain(secret);
      }),
    );
  });

  it("masks the longer of two values that begin alike, and everything redactSecrets does", () => {
    const redact = createRedactor(["orchid", "orchid-ten"]);
    expect(redact("see orchid-ten and ghp_0123456789abcdefghijABCDEFGHIJ")).toBe("see *** and ghp_***");
  });

  it("leaves settings alone that would black out ordinary text", () => {
    const redact = createRedactor(["true", "8080", "", "localhost", "http://localhost:8080/v1", "******"]);
    const text = "true: http://localhost:8080/v1 on port 8080, localhost ******";
    expect(redact(text)).toBe(text);
  });
});
