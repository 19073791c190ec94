// The header with which Open WebUI (seen with 0.10.2) signs who its user is: `X-OpenWebUI-User-Jwt`, sent instead of the plain user
// headers when FORWARD_USER_INFO_HEADER_JWT_SECRET is set there. HS256; claims sub, email, name, role, iss "open-webui", iat, exp; no aud.
// It lives 300 seconds (FORWARD_USER_INFO_HEADER_JWT_EXPIRES_SECONDS).
import { isUtf8 } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import { err, isRecord, ok, outsideJsonOr, type Result } from "@hermes-memory/core/internal/lib";

/** Clocks of two machines may differ by this much. */
const LEEWAY_SECONDS = 60;
/** Open WebUI's tokens have about 500 characters. */
const MAX_CHARS = 8_192;
const ISSUER = "open-webui";

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

/**
 * The user's id (`sub`), or why the token is not believed, to print after "because it". The signature is compared before anything in the
 * token is believed, its algorithm excepted.
 */
export function verifyUserJwt(
  token: string,
  secret: string,
  { now, audience = "", maxAgeHours = 0 }: JwtRules & { readonly now: Date },
): Result<string, string> {
  if (token.length > MAX_CHARS) return err(`has more than ${MAX_CHARS} characters`);
  const [header = "", body = "", signature = "", ...more] = token.split(".");
  const head = jsonOf(header);
  if (head === undefined || more.length > 0) return err("does not have the three parts of a JWT");
  if (head.alg !== "HS256") return err("is not signed with HS256");
  if (head.crit !== undefined) return err("demands extensions that this server does not know");
  const expected = createHmac("sha256", secret).update(`${header}.${body}`).digest();
  const given = Buffer.from(signature, "base64url");
  // A second spelling of the same bytes (padding, unused bits of the last letter) is refused too.
  const isSpelledOnce = given.toString("base64url") === signature;
  if (given.length !== expected.length || !timingSafeEqual(given, expected) || !isSpelledOnce)
    return err("is not signed with the secret of gateway.jwt_secret");
  const claims = jsonOf(body);
  if (claims === undefined) return err("has claims that are not JSON");
  const nowSeconds = now.getTime() / 1000;
  const { sub, iss, exp, nbf = 0, iat = nowSeconds, aud } = claims;
  if (iss !== ISSUER) return err(`was not issued by ${ISSUER}`);
  if (audience !== "" && ![aud].flat().includes(audience))
    return err("is not for the audience of gateway.jwt_audience");
  if (typeof sub !== "string" || sub === "") return err("names no user (sub)");
  if (!isTime(exp) || !isTime(nbf) || !isTime(iat))
    return err("has no time at which it expires (exp), or a time that is not a number");
  if (nowSeconds >= exp + LEEWAY_SECONDS) return err("has expired");
  if (nowSeconds < Math.max(nbf, iat) - LEEWAY_SECONDS)
    return err("is dated in the future; compare the clocks of both machines");
  if (maxAgeHours > 0 && exp - iat > maxAgeHours * 3_600 + LEEWAY_SECONDS)
    return err(`lives longer than the ${maxAgeHours} hours of gateway.jwt_max_age_hours`);
  return ok(sub);
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function jsonOf(part: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = Buffer.from(part, "base64url");
  const parsed = isUtf8(bytes) ? outsideJsonOr(bytes.toString("utf8"), undefined) : undefined;
  return isRecord(parsed) ? parsed : undefined;
}
