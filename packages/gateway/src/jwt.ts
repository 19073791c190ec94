// The header with which Open WebUI (seen with 0.10.2) signs who its user is: `X-OpenWebUI-User-Jwt`, sent instead of the plain user
// headers when FORWARD_USER_INFO_HEADER_JWT_SECRET is set there. HS256; claims sub, email, name, role, iss "open-webui", iat, exp; no aud.
// It lives 300 seconds (FORWARD_USER_INFO_HEADER_JWT_EXPIRES_SECONDS).
import { createHmac, timingSafeEqual } from "node:crypto";
import { err, isRecord, ok, outsideJsonOr, type Result } from "@hermes-memory/core/internal/lib";

/** Why a token was not believed, to print after "because it". */
export type JwtFailure = {
  readonly kind: "malformed" | "untrusted" | "expired" | "early";
  readonly why: string;
};

/** Clocks of two machines may differ by this much. */
const LEEWAY_SECONDS = 60;
/** Open WebUI's tokens have about 500 characters. */
const MAX_CHARS = 8_192;
const ISSUER = "open-webui";
const PART = /^[A-Za-z0-9_-]+$/;

/** The secret that config names. `missing`: config names a variable that is not set, so nothing can be believed. */
export type JwtSecret =
  | { readonly kind: "off" }
  | { readonly kind: "secret"; readonly value: string }
  | { readonly kind: "missing"; readonly variable: string };

/** `gateway.jwt_secret`: the secret itself, or `$NAME` or `${NAME}` for an environment variable. Trimmed, as Open WebUI trims its own. */
export function jwtSecretOf(setting: string, env: Readonly<Record<string, string | undefined>>): JwtSecret {
  const text = setting.trim();
  if (text === "") return { kind: "off" };
  const variable = /^\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})$/.exec(text);
  const name = variable?.[1] ?? variable?.[2];
  if (name === undefined) return { kind: "secret", value: text };
  const value = (env[name] ?? "").trim();
  return value === "" ? { kind: "missing", variable: name } : { kind: "secret", value };
}

export type JwtRules = {
  /** `aud` must be it, or contain it; "" or absent: no audience is asked for. */
  readonly audience?: string;
  /** From `iat` to `exp`; 0 or absent: any. */
  readonly maxAgeHours?: number;
};

/** The user's id (`sub`). The signature is compared before anything in the token is believed, its algorithm excepted. */
export function verifyUserJwt(
  token: string,
  secret: string,
  { now, ...rules }: JwtRules & { readonly now: Date },
): Result<string, JwtFailure> {
  if (token.length > MAX_CHARS) return malformed(`has more than ${MAX_CHARS} characters`);
  const parts = token.split(".");
  const [header = "", claims = "", signature = ""] = parts;
  if (parts.length !== 3 || ![header, claims, signature].every((part) => PART.test(part)))
    return malformed("does not have three parts in base64url");
  const head = jsonOf(header);
  if (head === undefined) return malformed("has a header that is not JSON");
  if (head.alg !== "HS256") return untrusted("is not signed with HS256");
  if (head.crit !== undefined) return untrusted("demands extensions that this server does not know");
  const expected = createHmac("sha256", secret).update(`${header}.${claims}`).digest();
  const given = Buffer.from(signature, "base64url");
  // A second spelling of the same bytes (unused bits of the last letter) is refused too.
  const isSpelledOnce = given.toString("base64url") === signature;
  if (given.length !== expected.length || !timingSafeEqual(given, expected) || !isSpelledOnce)
    return untrusted("is not signed with the secret of gateway.jwt_secret");
  return subjectOf(jsonOf(claims), now.getTime() / 1000, rules);
}

function subjectOf(
  claims: Readonly<Record<string, unknown>> | undefined,
  nowSeconds: number,
  { audience = "", maxAgeHours = 0 }: JwtRules,
): Result<string, JwtFailure> {
  if (claims === undefined) return malformed("has claims that are not JSON");
  const { sub, iss, exp, nbf, iat, aud } = claims;
  if (iss !== ISSUER) return untrusted(`was not issued by ${ISSUER}`);
  if (audience !== "" && ![aud].flat().includes(audience))
    return untrusted("is not for the audience of gateway.jwt_audience");
  if (typeof sub !== "string" || sub === "") return malformed("names no user (sub)");
  if (!isTime(exp)) return malformed("has no time at which it expires (exp)");
  for (const time of [nbf, iat])
    if (time !== undefined && !isTime(time)) return malformed("has a time that is not a number");
  if (nowSeconds >= exp + LEEWAY_SECONDS) return err({ kind: "expired", why: "has expired" });
  for (const time of [nbf, iat])
    if (isTime(time) && nowSeconds < time - LEEWAY_SECONDS)
      return err({ kind: "early", why: "is dated in the future; compare the clocks of both machines" });
  const lifetime = exp - (isTime(iat) ? iat : nowSeconds);
  if (maxAgeHours > 0 && lifetime > maxAgeHours * 3_600 + LEEWAY_SECONDS)
    return untrusted(`lives longer than the ${maxAgeHours} hours of gateway.jwt_max_age_hours`);
  return ok(sub);
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function jsonOf(part: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = Buffer.from(part, "base64url");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
  const parsed = outsideJsonOr(text, undefined);
  return isRecord(parsed) ? parsed : undefined;
}

function malformed(why: string): Result<never, JwtFailure> {
  return err({ kind: "malformed", why });
}

function untrusted(why: string): Result<never, JwtFailure> {
  return err({ kind: "untrusted", why });
}
