// Where a call goes: the base URL from the settings, the path and the query; and the secrets that the settings put into headers.
import { err, ok, type Result } from "@hermes-memory/core/internal/lib";

/** One path segment that holds any text. */
export function segment(text: string): string {
  // Addresses cannot express these segments: `.` and `%2E` mean the folder itself, and an empty one names the whole list (a DELETE of
  // it would erase everything). Encoded twice, or as a blank, they are an id that no server has.
  if (text === "") return "%20";
  if (text === "." || text === "..") return text.replaceAll(".", "%252E");
  return encodeURIComponent(text.toWellFormed());
}

export type Base = {
  /** Without user and password. */
  readonly url: URL;
  readonly authorization?: string;
  readonly secrets: readonly string[];
};

export function parseBase(text: string): Result<Base, string> {
  const url = URL.parse(text.trim());
  if (url === null) return err("it is no web address. It has to look like https://host/path");
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return err("it has to begin with http:// or https://");
  if (url.search !== "" || url.hash !== "") return err("it may not contain ? or #");
  const { username, password } = url;
  if (username === "" && password === "") return ok({ url, secrets: [] });
  url.username = "";
  url.password = "";
  const pair = `${decoded(username)}:${decoded(password)}`;
  const authorization = `Basic ${Buffer.from(pair).toString("base64")}`;
  return ok({ url, authorization, secrets: [password, username, ...secretsIn(authorization)] });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export function addressOf(base: URL, path: string, query: Query = {}): URL {
  const url = new URL(`${base.origin}${base.pathname.replace(/\/+$/, "")}/${path.replace(/^\/+/, "")}`);
  for (const [name, value] of Object.entries(query)) {
    const values = Array.isArray(value) ? value : value === undefined ? [] : [value];
    for (const each of values) url.searchParams.append(name, String(each));
  }
  return url;
}

/** `Bearer <key>` is masked whole and as the key alone, `Basic <base64>` also as the password in it. */
export function secretsIn(value: string): readonly string[] {
  const words = value.trim().split(/\s+/);
  const credentials = words.length > 1 ? words.slice(1) : [];
  const basic = /^basic$/i.test(words[0] ?? "") ? Buffer.from(words[1] ?? "", "base64").toString() : "";
  return [value.trim(), ...credentials, basic, basic.slice(basic.indexOf(":") + 1)];
}
