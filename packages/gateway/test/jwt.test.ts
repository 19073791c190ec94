import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JwtRules, jwtSecretOf, verifyUserJwt } from "../src/jwt.ts";

const SECRET = "a secret of at least 32 characters.";
const NOW = new Date("2026-11-17T12:00:00Z");
const SECONDS = NOW.getTime() / 1000;
/** The claims and their order are those of Open WebUI 0.10.2 (backend/open_webui/utils/headers.py). Written by hand. */
const CLAIMS = {
  sub: "5b0f",
  email: "alice@example.org",
  name: "Alice",
  role: "user",
  iss: "open-webui",
  iat: SECONDS,
  exp: SECONDS + 300,
};

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function signed(
  claims: unknown,
  { header = { alg: "HS256", typ: "JWT" } as unknown, secret = SECRET, hash = "sha256" } = {},
) {
  const text = `${part(header)}.${part(claims)}`;
  return `${text}.${createHmac(hash, secret).update(text).digest("base64url")}`;
}

function outcome(token: string, now = NOW): string {
  const found = verifyUserJwt(token, SECRET, { now });
  return found.ok ? found.value : `refused: it ${found.error}`;
}

describe("Open WebUI's signed user header", () => {
  it("names the user in sub", () => {
    expect(outcome(signed(CLAIMS))).toBe("5b0f");
    expect(outcome(signed({ ...CLAIMS, sub: "Jos\u00e9" }))).toBe("Jos\u00e9");
  });

  it.each([
    ["no algorithm", `${part({ alg: "none" })}.${part(CLAIMS)}.`],
    ["no algorithm, but a signature", signed(CLAIMS, { header: { alg: "none" } })],
    ["another algorithm", signed(CLAIMS, { header: { alg: "HS512" }, hash: "sha512" })],
    ["an algorithm in other letters", signed(CLAIMS, { header: { alg: "hs256" } })],
    ["another secret", signed(CLAIMS, { secret: "guess" })],
    ["no secret", signed(CLAIMS, { secret: "" })],
    ["extensions", signed(CLAIMS, { header: { alg: "HS256", crit: ["b64"], b64: false } })],
    ["another issuer", signed({ ...CLAIMS, iss: "someone" })],
    ["no issuer, like Open WebUI's own session tokens", signed({ id: "5b0f", exp: CLAIMS.exp })],
  ])("is not believed with %s", (_how, token) => {
    expect(outcome(token)).toMatch(/^refused: it (?:is|was|does|demands) /);
  });

  it("has an audience and a lifetime, where config asks for them", () => {
    const believed = (claims: object, rules: JwtRules): boolean =>
      verifyUserJwt(signed({ ...CLAIMS, ...claims }), SECRET, { now: NOW, ...rules }).ok;
    for (const [aud, isFor] of [
      ["memory", true],
      [["other", "memory"], true],
      ["other", false],
      [["memories"], false],
      [undefined, false],
      [null, false],
    ] as const) {
      expect(believed({ aud }, { audience: "memory" }), String(aud)).toBe(isFor);
      expect(believed({ aud }, {})).toBe(true);
    }
    const day = 24 * 3_600;
    const usual = { maxAgeHours: 24 };
    expect(believed({}, usual)).toBe(true);
    expect(believed({ exp: SECONDS + day }, usual)).toBe(true);
    for (const claims of [
      { exp: SECONDS + day + 120 },
      { iat: SECONDS - 2 * day, exp: SECONDS + 60 },
      { iat: undefined, exp: SECONDS + 2 * day },
    ]) {
      expect(believed(claims, usual)).toBe(false);
      expect(believed(claims, { maxAgeHours: 0 })).toBe(true);
    }
  });

  it.each([
    ["nothing", ""],
    ["one part", "abc"],
    ["four parts", `${signed(CLAIMS)}.x`],
    ["padding", `${signed(CLAIMS)}=`],
    ["a line break", `${signed(CLAIMS)}\n`],
    ["a header that is no object", signed(CLAIMS, { header: [] })],
    ["claims that are no object", signed("x")],
    ["no user", signed({ ...CLAIMS, sub: undefined })],
    ["an empty user", signed({ ...CLAIMS, sub: "" })],
    ["a number as user", signed({ ...CLAIMS, sub: 7 })],
    ["no end", signed({ ...CLAIMS, exp: undefined })],
    ["an end that is text", signed({ ...CLAIMS, exp: "later" })],
    ["a start that is text", signed({ ...CLAIMS, nbf: "now" })],
    ["deep claims", signed(JSON.parse(`${"[".repeat(4_000)}${"]".repeat(4_000)}`))],
    ["too many characters", signed({ ...CLAIMS, name: "x".repeat(9_000) })],
  ])("is refused with %s", (_how, token) => {
    expect(outcome(token)).toMatch(/^refused: it (?:has|does|names|is not signed) /);
  });

  it("holds from iat and nbf to exp, with a minute for clocks that differ", () => {
    const at = (seconds: number) => new Date((SECONDS + seconds) * 1000);
    expect(outcome(signed(CLAIMS), at(359))).toBe("5b0f");
    expect(outcome(signed(CLAIMS), at(360))).toBe("refused: it has expired");
    expect(outcome(signed(CLAIMS), at(-60))).toBe("5b0f");
    expect(outcome(signed(CLAIMS), at(-61))).toContain("dated in the future");
    expect(outcome(signed({ ...CLAIMS, nbf: SECONDS + 100 }), at(39))).toContain("dated in the future");
    expect(outcome(signed({ ...CLAIMS, nbf: SECONDS + 100 }), at(40))).toBe("5b0f");
  });

  it("is refused when any character of it is changed", () => {
    const token = signed(CLAIMS);
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(...letters), (at, letter) => {
        fc.pre(token[at] !== letter);
        expect(outcome(token.slice(0, at) + letter + token.slice(at + 1))).not.toBe("5b0f");
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("the secret of signed user headers", () => {
  it("is the setting, or the variable that it names", () => {
    expect(jwtSecretOf("", {})).toEqual({ kind: "off" });
    expect(jwtSecretOf("  ", {})).toEqual({ kind: "off" });
    expect(jwtSecretOf(" abc ", {})).toEqual({ kind: "secret", value: "abc" });
    expect(jwtSecretOf("$NAME", { NAME: "abc" })).toEqual({ kind: "secret", value: "abc" });
    expect(jwtSecretOf("\u0024{NAME}", { NAME: "abc" })).toEqual({ kind: "secret", value: "abc" });
    expect(jwtSecretOf("$1abc", { NAME: "abc" })).toEqual({ kind: "secret", value: "$1abc" });
  });

  it("is missing, and not off, when the variable is not set or blank", () => {
    expect(jwtSecretOf("$NAME", {})).toEqual({ kind: "missing", variable: "NAME" });
    expect(jwtSecretOf("$NAME", { NAME: " " })).toEqual({ kind: "missing", variable: "NAME" });
  });
});
