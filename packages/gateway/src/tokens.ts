// The tokens of the gateway: `<home>/gateway/tokens.json` (0600) has the hash of each, and `hermes token` makes and revokes them while
// a server runs. A file that exists but cannot be read lets nobody in. Programs of the owner use the local token, in plain text in
// `local-token` (0600): who can read the owner's files has the owner's rights. Nobody is let in without a token: a request says nothing
// that would prove that it comes from this machine and was not passed on by a reverse proxy on it.
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  type Clock,
  describeCause,
  err,
  errnoCode,
  HermesError,
  ok,
  parseOutsideJson,
  type Result,
  randomHex,
  tryWithFileLocks,
  withFileLocks,
  writeFileAtomic,
} from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { z } from "zod";
import { TOKEN_PREFIX, whyNoId } from "./identity.ts";
import type { Caller, GatewayProblem, TokenLimits, TokenPowers } from "./types.ts";
import { watched } from "./watched.ts";

/** A token without its secret. */
export type TokenSummary = TokenPowers & {
  readonly id: string;
  readonly name: string;
  /** ISO 8601, as the others. */
  readonly createdAt: string;
  readonly expiresAt?: string;
  /** To the hour. */
  readonly lastUsedAt?: string;
};

type NewToken = TokenPowers & {
  /** Default: `token-<id>`. No two tokens have the same. */
  readonly name?: string;
  readonly expiresAt?: Date;
};

type TokenFailure = {
  readonly kind: "name-taken" | "bad-name" | "bad-rights" | "unknown-token";
  readonly message: string;
};

export type Tokens = ReturnType<typeof openTokens>;

const SECRET_BYTES = 32;
const TOKEN = new RegExp(`^${TOKEN_PREFIX}[A-Za-z0-9_-]{43}$`);
const ID = /^[0-9a-f]{8}$/;
const NAME =
  /^[^\s\u0000-\u001f\u007f-\u009f](?:[^\u0000-\u001f\u007f-\u009f]{0,62}[^\s\u0000-\u001f\u007f-\u009f])?$/u;
const LOCK_WAIT_MS = 10_000;
/** A revoked token stops working after at most this long. */
const RECHECK_MS = 500;
const USE_INTERVAL_MS = 3_600_000;

type Entry = TokenSummary & { readonly sha256: string };
export function openTokens(deps: { readonly home: string; readonly clock: Clock; readonly log: Logger }) {
  const { home, clock, log } = deps;
  const path = join(home, "gateway", "tokens.json");
  const usePath = join(home, "gateway", "token-use.json");
  const lock = `${path}.lock`;
  /** When this process last wrote down that a token was used. */
  const noted = new Map<string, number>();

  const often = { everyMs: RECHECK_MS, nowMs: () => clock.now().getTime() };
  /** Undefined: the file is there and cannot be used. */
  const readEntries = (): readonly Entry[] | undefined => {
    try {
      return load(path);
    } catch (cause) {
      log.error("The gateway's tokens cannot be read; every request is refused.", { cause });
      return undefined;
    }
  };
  const entriesFile = watched(path, readEntries, often);
  const readLocal = (): LocalToken => {
    const read = readLocalToken(home);
    const { problem, isExposed } = read;
    if (problem !== undefined)
      log.error("The local token cannot be used; nobody is let in by it.", { path: read.path, problem });
    if (isExposed) {
      closeToOthers(read.path);
      log.warn(`The local token could be read by other users of this machine. ${REPLACE}`, {
        path: read.path,
      });
    }
    return read;
  };
  const localFile = watched(localTokenPath(home), readLocal, often);

  async function locked<T>(work: () => T): Promise<T> {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const done = await withFileLocks([lock], { timeoutMs: LOCK_WAIT_MS }, work);
    entriesFile.forget();
    localFile.forget();
    if (done.ok) return done.value;
    throw new HermesError(
      "locked",
      `Another process has kept ${path} locked for ${done.error.waitedMs} ms.`,
      { hint: "Try again when it has ended." },
    );
  }

  function change<T>(
    work: (entries: readonly Entry[]) => Result<{ entries: readonly Entry[]; value: T }, TokenFailure>,
  ): Promise<Result<T, TokenFailure>> {
    return locked(() => {
      const changed = work(load(path));
      if (!changed.ok) return changed;
      writeFileAtomic(path, fileOf(changed.value.entries), { forceMode: 0o600 });
      return ok(changed.value.value);
    });
  }

  /** Later and without waiting: if another process has the lock, the next use is noted instead. */
  function noteUse(id: string): void {
    const nowMs = clock.now().getTime();
    if (nowMs - (noted.get(id) ?? Number.NEGATIVE_INFINITY) < USE_INTERVAL_MS) return;
    noted.set(id, nowMs);
    setImmediate(() => {
      try {
        const written = tryWithFileLocks([`${usePath}.lock`], () => {
          const uses = { ...readUses(usePath), [id]: new Date(nowMs).toISOString() };
          const ids = entriesFile.current()?.map((entry) => entry.id);
          const kept = Object.entries(uses).filter(([each]) => ids?.includes(each) ?? true);
          writeFileAtomic(usePath, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`, {
            forceMode: 0o600,
          });
        });
        if (!written.ok) noted.delete(id);
      } catch (cause) {
        log.debug("The last use of a token could not be noted.", { cause });
      }
    });
  }

  return {
    /** Where they are kept. */
    path,
    /** The token is returned this once. Throws when the file is damaged or cannot be written. */
    create: ({ name, rights, limits, expiresAt }: NewToken) =>
      change((entries) => {
        const problem =
          nameProblem(name, entries) ?? (RIGHTS.safeParse(rights).success ? undefined : BAD_RIGHTS);
        if (problem !== undefined) return err(problem);
        let id = randomHex(4);
        while (entries.some((entry) => entry.id === id)) id = randomHex(4);
        const token = newSecret();
        const entry: Entry = {
          id,
          name: name ?? `token-${id}`,
          rights,
          limits,
          createdAt: clock.now().toISOString(),
          ...(expiresAt !== undefined && { expiresAt: expiresAt.toISOString() }),
          sha256: hashOf(token, limits).toString("hex"),
        };
        return ok({ entries: [...entries, entry], value: { id, name: entry.name, token } });
      }),

    /** Oldest first. Throws when the file is damaged. */
    list(): readonly TokenSummary[] {
      const uses = readUses(usePath);
      return load(path).map(({ sha256: _secret, ...entry }) => ({
        ...entry,
        ...(uses[entry.id] !== undefined && { lastUsedAt: uses[entry.id] }),
      }));
    },

    /** By id or name. A running server refuses it within a second. Throws as `create`. */
    revoke: (idOrName: string) =>
      change<TokenSummary>((entries) => {
        const found = entries.find(({ id, name }) => id === idOrName || name === idOrName);
        if (found === undefined) return err(unknownToken(idOrName));
        const { sha256: _secret, ...summary } = found;
        return ok({ entries: entries.filter((entry) => entry !== found), value: summary });
      }),

    /** The local token, made if there is none. `isNew`: replaces it, also in a running server, within a second. Throws when the file is damaged. */
    async local({ isNew = false }: { readonly isNew?: boolean } = {}): Promise<string> {
      const { token: known } = readLocalToken(home);
      if (known !== undefined && !isNew) return known;
      // Under the lock, so that two servers that start at the same time agree.
      return locked(() => {
        const { token, problem, path: file } = readLocalToken(home);
        if (token !== undefined && !isNew) return token;
        if (problem !== undefined && !isNew)
          throw new HermesError("tokens-unreadable", `${file} cannot be used: ${problem}.`, {
            hint: REPLACE,
          });
        const made = newSecret();
        writeFileAtomic(file, `${made}\n`, { forceMode: 0o600 });
        return made;
      });
    },

    /** `credential`: the text of the token, if the request has one. `isInPath`: it is in the address, where only the local token counts. */
    authenticate(
      credential: string | undefined,
      { isInPath } = { isInPath: false },
    ): Caller | GatewayProblem {
      const entries = entriesFile.current();
      if (entries === undefined) return UNREADABLE;
      if (credential === undefined) return TOKEN_REQUIRED;
      const { token: local } = localFile.current();
      if (local !== undefined && timingSafeEqual(hashOf(local), hashOf(credential))) return { kind: "local" };
      if (isInPath) return NOT_LOCAL;
      const found = matching(entries, credential);
      if (found === undefined) return BAD_TOKEN;
      if (found.expiresAt !== undefined && clock.now().getTime() >= Date.parse(found.expiresAt))
        return expired(found);
      noteUse(found.id);
      return { kind: "token", id: found.id, rights: found.rights, limits: found.limits };
    },
  };
}

/** Compares with every entry, so that the time tells nothing about which one was nearly right. */
function matching(entries: readonly Entry[], credential: string): Entry | undefined {
  let found: Entry | undefined;
  for (const entry of entries)
    if (timingSafeEqual(Buffer.from(entry.sha256, "hex"), hashOf(credential, entry.limits))) found = entry;
  return TOKEN.test(credential) ? found : undefined;
}

/** Version 0.3.0 knows no limits, and drops them when it writes the file. A limited token has another hash, so that it is refused then. */
function hashOf(token: string, limits?: TokenLimits): Buffer {
  return createHash("sha256")
    .update(limits === undefined ? token : `limited:${token}`)
    .digest();
}

function newSecret(): string {
  return TOKEN_PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
}

// ---- The local token ----

const REPLACE = "Make a new one with 'hermes token local --new'; programs that have the old one need it.";

type LocalToken = {
  readonly path: string;
  /** Undefined: there is none, or `problem`. */
  readonly token?: string;
  readonly problem?: string;
  /** Other users of this machine can read the file. */
  readonly isExposed: boolean;
};

function localTokenPath(home: string): string {
  return join(home, "gateway", "local-token");
}

export function readLocalToken(home: string): LocalToken {
  const path = localTokenPath(home);
  try {
    const token = readFileSync(path, "utf8").replace(/\r?\n$/, "");
    const isExposed = process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0;
    return TOKEN.test(token)
      ? { path, token, isExposed }
      : { path, problem: "it is not one line with a token", isExposed };
  } catch (cause) {
    const problem = errnoCode(cause) === "ENOENT" ? undefined : describeCause(cause);
    return { path, problem, isExposed: false };
  }
}

function closeToOthers(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch {
    // Not every file system has modes; the warning says what to do.
  }
}

// ---- Problems ----

const TOKEN_REQUIRED: GatewayProblem = {
  status: 401,
  code: "token-required",
  message: "This hermes-memory server needs one of its tokens, also from programs on its own machine.",
  hint: "Run 'hermes token local' on the server's machine and use the token that it prints (hm_...) as the API key, or put it into the base URL behind host and port: http://HOST:PORT/hm_.../v1. For other people, make tokens with 'hermes token create'.",
};

const NOT_LOCAL: GatewayProblem = {
  status: 401,
  code: "bad-token",
  message: "The token in the address is not the local token of this server.",
  hint: "Run 'hermes token local' on the server's machine: it prints the base URLs. Other tokens do not count in an address; send them as API key, or, beside a key of a model's vendor, as 'X-Hermes-Token'.",
};

const BAD_TOKEN: GatewayProblem = {
  status: 401,
  code: "bad-token",
  message: "This server does not know the token. It was revoked, or it belongs to another home.",
  hint: "See 'hermes token local' and 'hermes token list' on the server, or make another one with 'hermes token create'.",
};

const UNREADABLE: GatewayProblem = {
  status: 503,
  code: "tokens-unreadable",
  message: "The file with this server's tokens cannot be read, so nobody is let in.",
  hint: "Run 'hermes token list' on the server: it says what is wrong with the file.",
};

function expired({ name, expiresAt = "" }: Entry): GatewayProblem {
  return {
    status: 401,
    code: "token-expired",
    message: `The token '${name}' expired on ${expiresAt}.`,
    hint: "Make another one on the server with 'hermes token create'.",
  };
}

function unknownToken(asked: string): TokenFailure {
  return {
    kind: "unknown-token",
    message: `There is no token with the id or name '${asked}'. List them with 'hermes token list'.`,
  };
}

const BAD_RIGHTS: TokenFailure = {
  kind: "bad-rights",
  message: "The platform or the user's id is blank, too long, or has control characters.",
};

function nameProblem(name: string | undefined, entries: readonly Entry[]): TokenFailure | undefined {
  if (name === undefined) return undefined;
  if (!NAME.test(name) || !name.isWellFormed() || ID.test(name))
    return {
      kind: "bad-name",
      message:
        "A token's name has 1 to 64 characters on one line, and is not 8 hexadecimal digits like an id.",
    };
  const other = entries.find((entry) => entry.name === name);
  if (other === undefined) return undefined;
  const message = `The token ${other.id} already has the name '${name}'. Choose another name, or revoke it with 'hermes token revoke ${other.id}'.`;
  return { kind: "name-taken", message };
}

// ---- The file ----

function load(path: string): readonly Entry[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return [];
    throw unreadable(path, describeCause(cause));
  }
  const parsed = parseOutsideJson(text);
  if (!parsed.ok) throw unreadable(path, `it ${parsed.error.message}`);
  const file = z.object({ version: z.literal(1), tokens: z.array(z.unknown()) }).safeParse(parsed.value);
  if (!file.success) throw unreadable(path, "it is not a list of tokens that this version knows");
  return file.data.tokens.map((value, index) => {
    const entry = ENTRY.safeParse(value);
    if (!entry.success) throw unreadable(path, `token ${index + 1} in it is damaged`);
    return entry.data;
  });
}

function unreadable(path: string, why: string): HermesError {
  return new HermesError("tokens-unreadable", `${path} cannot be used: ${why}.`, {
    hint: "Restore the file from a backup, or move it away and make new tokens. Until then the gateway refuses every request.",
  });
}

function fileOf(entries: readonly Entry[]): string {
  const tokens = entries.map(({ createdAt, expiresAt, rights, limits, ...entry }) => ({
    ...entry,
    rights,
    limits,
    created_at: createdAt,
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  }));
  return `${JSON.stringify({ version: 1, tokens }, null, 2)}\n`;
}

const id = z.string().refine((text) => whyNoId(text) === undefined);
const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)));
const amount = z.number().min(0).optional();

const RIGHTS = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("owner") }),
  z.object({ kind: z.literal("admin") }),
  z.object({ kind: z.literal("names-users"), platform: id }),
  z.object({ kind: z.literal("user"), user: z.object({ platform: id, id }) }),
]);

/** Strict: a limit that cannot be read must not become none. */
const LIMITS = z.strictObject({
  models: z.array(z.string()).optional(),
  requests_per_day: amount,
  tokens_per_day: amount,
  cost_per_day: amount,
  max_users: amount,
});

const ENTRY = z
  .object({
    id: z.string().regex(ID),
    name: z.string(),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    rights: RIGHTS,
    limits: LIMITS.optional(),
    created_at: time,
    expires_at: time.optional(),
  })
  .transform(({ created_at: createdAt, expires_at: expiresAt, ...rest }): Entry => {
    return { ...rest, createdAt, ...(expiresAt !== undefined && { expiresAt }) };
  });

/** Not needed for letting anybody in, so a file that cannot be read has no uses. */
function readUses(path: string): Readonly<Record<string, string>> {
  try {
    return z.record(z.string().regex(ID), time).parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return {};
  }
}
