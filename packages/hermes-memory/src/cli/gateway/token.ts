// `hermes token`: who may use the gateway. The token itself is alone on stdout; what to do with it goes to stderr.
import { describeCause, systemClock, withoutUndefined } from "@hermes-memory/core/internal/lib";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import {
  openTokens,
  parseUserRef,
  readLocalToken,
  type TokenLimits,
  type TokenRights,
  type TokenSummary,
  type Tokens,
  urlHost,
} from "@hermes-memory/gateway/internal";
import {
  type CommandBody,
  type CommandContext,
  type CommandInput,
  failureOf,
  unwrap,
  usageFailure,
} from "../command.ts";
import { confirmed } from "../confirm.ts";
import { localTime, printable } from "../printing.ts";

export const create: CommandBody = async ({ flags }, context) => {
  const rights = rightsOf(flags);
  const limits = limitsOf(flags);
  const expiresAt = flags.expires === undefined ? undefined : timeOf(String(flags.expires), new Date());
  const tokens = tokensOf(context);
  const name = flags.name === undefined ? undefined : String(flags.name);
  const made = unwrap(await tokens.create({ name, rights, limits, expiresAt }));
  return {
    json: {
      success: true,
      id: made.id,
      name: made.name,
      token: made.token,
      rights: rightsJson(rights),
      limits: limits ?? null,
      expires_at: expiresAt?.toISOString() ?? null,
    },
    lines: [made.token],
    notes: [
      `Token '${printable(made.name)}' (${made.id}) acts for ${whom(rights)}${expiresAt === undefined ? "" : ` until ${localTime(expiresAt.toISOString())}`}.`,
      "Copy it now: only its hash is kept. Programs send it as their API key ('Authorization: Bearer', 'x-api-key'),",
      "or, beside a key of their own for a model's vendor, as 'X-Hermes-Token'.",
      ...(limits === undefined ? [] : [`It is limited: ${limitsText(limits)}.`]),
    ],
  };
};

export const list: CommandBody = (_input, context) => {
  const tokens = tokensOf(context).list();
  const { path: file, problem } = readLocalToken(context.home.home);
  const now = new Date();
  const rows = tokens.map((token) => ({
    id: token.id,
    name: token.name,
    acts_for: whom(token.rights),
    made: token.createdAt,
    used: token.lastUsedAt ?? "never",
    expires: expiry(token, now),
    limits: limitsText(token.limits),
  }));
  return {
    json: { tokens: tokens.map((token) => tokenJson(token, now)) },
    shown: rows,
    notes: [
      ...(tokens.length === 0 ? ["No tokens, except the local one of your own programs."] : []),
      problem === undefined
        ? "'hermes token local' prints the local token."
        : `The local token lets nobody in: ${printable(file)} cannot be used: ${problem}. Replace it: hermes token local --new`,
    ],
  };
};

export const local: CommandBody = async ({ flags }, context) => {
  const token = await tokensOf(context).local({ isNew: flags.new === true });
  const { host, port } = (await context.memory.config()).gateway;
  const urls = baseUrls(`http://${urlHost(host)}:${port}`, token);
  return {
    json: { token, path: readLocalToken(context.home.home).path, base_urls: urls },
    lines: [token],
    notes: [
      "The API key of your own programs, with your rights; 'Authorization: Bearer', 'x-api-key' and 'X-Hermes-Token' take it.",
      "For a client in which only the base URL can be changed:",
      `  OpenAI    ${urls.openai}`,
      `  Anthropic ${urls.anthropic}`,
      `  MCP       ${urls.mcp}`,
      `Host and port are those of config.yaml; 'hermes serve' prints others if it uses others.`,
      ...(flags.new === true ? ["The token before it is refused from now on."] : []),
    ],
  };
};

/** With the token in them. */
export function baseUrls(
  url: string,
  token: string,
): { readonly openai: string; readonly anthropic: string; readonly mcp: string } {
  return { openai: `${url}/${token}/v1`, anthropic: `${url}/${token}`, mcp: `${url}/${token}/mcp` };
}

export const revoke: CommandBody = async (input, context) => {
  const tokens = tokensOf(context);
  const asked = input.args.token ?? "";
  const all = tokens.list();
  const found = all.find(({ id, name }) => id === asked || name === asked);
  if (found === undefined)
    throw failureOf({
      kind: "unknown-token",
      message: `There is no token with the id or name '${asked}'. List them with 'hermes token list'.`,
    } as { message: string });
  const token = tokenJson(found, new Date());
  await confirmed(
    {
      list: [`  ${found.id}  ${printable(found.name)}  ${whom(found.rights)}`],
      question: "Revoke this token? Programs that use it are refused from then on.",
      json: { token },
      isShort: true,
      untouched: "Nothing was revoked",
    },
    input,
    context,
  );
  unwrap(await tokens.revoke(found.id));
  return {
    json: {
      success: true,
      message: `Revoked '${found.name}' (${found.id}).`,
      token,
      tokens_left: all.length - 1,
    },
  };
};

export const path: CommandBody = (_input, context) => {
  const { path: file } = tokensOf(context);
  return { json: { path: file } };
};

function tokensOf({ home }: CommandContext): Tokens {
  return openTokens({ home: home.home, clock: systemClock, log: silentLogger });
}

function rightsOf(flags: CommandInput["flags"]): TokenRights {
  const chosen = ["owner", "user", "names-users", "admin"].filter((name) => flags[name] !== undefined);
  if (chosen.length > 1)
    throw usageFailure(`Give one of --${chosen.join(" and --")}: a token acts for one or the other.`);
  if (flags.platform !== undefined && flags["names-users"] !== true)
    throw usageFailure(
      "--platform is the platform of the users that a program names, so it needs --names-users.",
    );
  switch (chosen[0]) {
    case "user":
      try {
        return { kind: "user", user: parseUserRef(String(flags.user), "--user") };
      } catch (cause) {
        throw usageFailure(describeCause(cause));
      }
    case "names-users":
      if (flags.platform === undefined)
        throw usageFailure("--names-users needs --platform: the name its program's users are kept under.", {
          hint: "For Open WebUI: --platform open-webui",
        });
      return { kind: "names-users", platform: String(flags.platform) };
    case "admin":
      return { kind: "admin" };
    default:
      return { kind: "owner" };
  }
}

/** Undefined without any: 0.3.0 can use such a token too. */
function limitsOf(flags: CommandInput["flags"]): TokenLimits | undefined {
  const { models, "cost-per-day": cost, "max-users": users } = flags;
  const names = models === undefined ? undefined : String(models).split(",");
  if (names?.some((name) => !/^(?:\*|[^*\s]+\*?)$/.test(name)))
    throw usageFailure("--models takes names with commas between them, such as 'gpt-5-mini,claude-*'.");
  if (cost !== undefined && !(Number(cost) > 0 && Number.isFinite(Number(cost))))
    throw usageFailure(`--cost-per-day takes an amount in US dollars above 0, not '${String(cost)}'.`);
  if (users !== undefined && flags["names-users"] !== true)
    throw usageFailure("--max-users limits the users that a program names, so it needs --names-users.");
  const limits = withoutUndefined({
    models: names,
    requests_per_day: flags["requests-per-day"],
    tokens_per_day: flags["tokens-per-day"],
    cost_per_day: cost === undefined ? undefined : Number(cost),
    max_users: users,
  }) as TokenLimits;
  return Object.keys(limits).length === 0 ? undefined : limits;
}

function limitsText(limits: TokenLimits = {}): string {
  const all = Object.entries(limits).map(([name, value]) => `${name.replaceAll("_", " ")}: ${String(value)}`);
  return printable(all.join(", "));
}

const UNIT_HOURS: Readonly<Record<string, number>> = { h: 1, d: 24, w: 168 };
/** Ten years. */
const MAX_HOURS = 87_660;

/** `12h`, `30d`, `52w`, or a date: its beginning, in local time. */
function timeOf(text: string, now: Date): Date {
  const [, count, unit = ""] = /^(\d{1,6})([hdw])$/.exec(text) ?? [];
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  const hours = Number(count) * (UNIT_HOURS[unit] ?? 0);
  const time =
    count !== undefined
      ? new Date(now.getTime() + hours * 3_600_000)
      : new Date(Number(year), Number(month) - 1, Number(day));
  const isDate =
    year === undefined || (time.getMonth() === Number(month) - 1 && time.getDate() === Number(day));
  if (Number.isNaN(time.getTime()) || !isDate)
    throw usageFailure(`--expires takes 12h, 30d, 52w or a date such as 2027-01-31, not '${text}'.`);
  if (time.getTime() <= now.getTime()) throw usageFailure(`--expires ${text} is not in the future.`);
  if (time.getTime() - now.getTime() > MAX_HOURS * 3_600_000)
    throw usageFailure(
      "--expires is at most ten years ahead. Leave it out for a token that does not expire.",
    );
  return time;
}

function whom(rights: TokenRights): string {
  switch (rights.kind) {
    case "owner":
      return "the owner";
    case "admin":
      return "everybody (admin)";
    case "user":
      return `${printable(rights.user.platform)}:${printable(rights.user.id)}`;
    case "names-users":
      return `users of ${printable(rights.platform)}`;
  }
}

function expiry({ expiresAt }: TokenSummary, now: Date): string {
  if (expiresAt === undefined) return "";
  return `${Date.parse(expiresAt) <= now.getTime() ? "expired " : ""}${localTime(expiresAt)}`;
}

function tokenJson(token: TokenSummary, now: Date) {
  return {
    id: token.id,
    name: token.name,
    rights: rightsJson(token.rights),
    limits: token.limits ?? null,
    created_at: token.createdAt,
    last_used_at: token.lastUsedAt ?? null,
    expires_at: token.expiresAt ?? null,
    is_expired: token.expiresAt !== undefined && Date.parse(token.expiresAt) <= now.getTime(),
  };
}

function rightsJson({ user, ...rights }: TokenRights & { readonly user?: object }): object {
  return { ...rights, ...user };
}
