import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { openTokens, readLocalToken } from "../src/tokens.ts";
import type { Caller, GatewayProblem, TokenRights } from "../src/types.ts";

function newHome() {
  const home = tempDirectory();
  let now = Date.parse("2026-11-17T12:00:00Z");
  const clock = { now: () => new Date(now) };
  const tokens = openTokens({ home, clock, log: silentLogger });
  const made = async (
    rights: TokenRights = { kind: "owner" },
    more: { name?: string; expiresAt?: Date } = {},
  ) => {
    const created = await tokens.create({ rights, ...more });
    if (!created.ok) throw new Error(created.error.message);
    return created.value;
  };
  const wait = (ms: number) => {
    now += ms;
  };
  return { home, clock, tokens, made, wait };
}

function codeOf(answer: Caller | GatewayProblem): string {
  return "status" in answer ? `${answer.status} ${answer.code}` : answer.kind;
}

describe("the tokens of the gateway", () => {
  it("are random, and only their hash is stored, in a file of the owner", async () => {
    const { tokens, made } = newHome();
    const [a, b] = [await made(), await made()];
    expect(a.token).toMatch(/^hm_[A-Za-z0-9_-]{43}$/);
    expect(b.token).not.toBe(a.token);
    const text = readFileSync(tokens.path, "utf8");
    for (const { token } of [a, b]) expect(text).not.toContain(token.slice(3));
    if (process.platform !== "win32") expect(statSync(tokens.path).mode & 0o777).toBe(0o600);
    expect(JSON.stringify(tokens.list())).not.toMatch(/sha256|[0-9a-f]{64}/);
  });

  it("that are limited lose their rights with their limits, as in a file that 0.3.0 wrote", async () => {
    const { home, clock, tokens } = newHome();
    const limits = { models: ["gpt-*"], requests_per_day: 5, cost_per_day: 0.5, max_users: 0 };
    const made = await tokens.create({ rights: { kind: "owner" }, limits });
    if (!made.ok) throw new Error(made.error.message);
    const { token } = made.value;
    const again = () => openTokens({ home, clock, log: silentLogger }).authenticate(token);
    expect(again()).toMatchObject({ kind: "token", limits });
    expect(tokens.list()).toMatchObject([{ limits }]);
    const file = JSON.parse(readFileSync(tokens.path, "utf8")) as { tokens: Record<string, unknown>[] };
    const rewrite = (change: Record<string, unknown>): void =>
      writeFileSync(tokens.path, JSON.stringify({ ...file, tokens: [{ ...file.tokens[0], ...change }] }));
    rewrite({ limits: undefined });
    expect(codeOf(again())).toBe("401 bad-token");
    for (const wrong of [{ models: "gpt" }, { requests_per_day: "5" }, { tokens: 1 }, [], null]) {
      rewrite({ limits: wrong });
      expect(codeOf(again()), JSON.stringify(wrong)).toBe("503 tokens-unreadable");
    }
  });

  it.each([
    { kind: "owner" },
    { kind: "admin" },
    { kind: "names-users", platform: "open-webui" },
    { kind: "user", user: { platform: "api", id: "a:b" } },
  ] as TokenRights[])("have rights that survive a restart: %j", async (rights) => {
    const { home, clock, made } = newHome();
    const { token, id } = await made(rights);
    const again = openTokens({ home, clock, log: silentLogger });
    expect(again.authenticate(token)).toEqual({ kind: "token", id, rights });
    // In an address, only the local token counts.
    expect(codeOf(again.authenticate(token, { isInPath: true }))).toBe("401 bad-token");
    expect(codeOf(again.authenticate(undefined))).toBe("401 token-required");
  });

  it("are refused when they are nearly right", async () => {
    const { tokens, made } = newHome();
    const { token } = await made();
    const wrong = [
      "",
      " ",
      "hm_",
      token.slice(0, -1),
      `${token}a`,
      token.toUpperCase(),
      token.slice(3),
      `${token} `,
      `${token}\n`,
    ];
    for (const text of wrong) expect(codeOf(tokens.authenticate(text)), text).toBe("401 bad-token");
  });

  it("stop working within a second after another process revoked them, and new ones work", async () => {
    const { home, clock, tokens, made, wait } = newHome();
    const first = await made({ kind: "owner" }, { name: "laptop" });
    expect(codeOf(tokens.authenticate(first.token))).toBe("token");
    const other = openTokens({ home, clock, log: silentLogger });
    const second = await other.create({ rights: { kind: "admin" } });
    expect(await other.revoke("laptop")).toMatchObject({ ok: true, value: { id: first.id } });
    wait(1_000);
    expect(codeOf(tokens.authenticate(first.token))).toBe("401 bad-token");
    expect(codeOf(tokens.authenticate(second.ok ? second.value.token : ""))).toBe("token");
  });

  it("say that they have expired, and still keep the server closed", async () => {
    const { tokens, made, clock, wait } = newHome();
    const { token } = await made(
      { kind: "owner" },
      { name: "short", expiresAt: new Date(clock.now().getTime() + 60_000) },
    );
    expect(codeOf(tokens.authenticate(token))).toBe("token");
    wait(60_000);
    const answer = tokens.authenticate(token);
    expect(codeOf(answer)).toBe("401 token-expired");
    expect("message" in answer && answer.message).toContain("'short' expired on 2026-11-17T12:01:00.000Z");
    expect(codeOf(tokens.authenticate(undefined))).toBe("401 token-required");
  });

  it.each([
    ["not JSON", "{"],
    ["empty", ""],
    ["another version", '{"version":2,"tokens":[]}'],
    ["no list", '{"version":1}'],
    [
      "a token without a hash",
      '{"version":1,"tokens":[{"id":"1f9a3c07","name":"x","rights":{"kind":"owner"},"created_at":"2026-01-01T00:00:00Z"}]}',
    ],
    [
      "unknown rights",
      `{"version":1,"tokens":[{"id":"1f9a3c07","name":"x","sha256":"${"0".repeat(64)}","rights":{"kind":"root"},"created_at":"2026-01-01T00:00:00Z"}]}`,
    ],
  ])("let nobody in when their file is damaged: %s", async (_how, text) => {
    const { tokens, made, wait } = newHome();
    const { token } = await made();
    const sound = readFileSync(tokens.path, "utf8");
    writeFileSync(tokens.path, text);
    wait(1_000);
    for (const credential of [undefined, token])
      expect(codeOf(tokens.authenticate(credential))).toBe("503 tokens-unreadable");
    expect(() => tokens.list()).toThrow(/cannot be used/);
    await expect(tokens.create({ rights: { kind: "owner" } })).rejects.toThrow(/cannot be used/);
    expect(readFileSync(tokens.path, "utf8")).toBe(text);
    writeFileSync(tokens.path, sound);
    wait(1_000);
    expect(codeOf(tokens.authenticate(token))).toBe("token");
  });

  it("let nobody in when their file cannot be opened", () => {
    const { home, tokens } = newHome();
    mkdirSync(tokens.path, { recursive: true }); // a folder in its place: also root cannot read it
    expect(codeOf(tokens.authenticate(undefined))).toBe("503 tokens-unreadable");
    const other = newHome();
    writeFileSync(join(other.home, "gateway"), "");
    expect(codeOf(other.tokens.authenticate(undefined))).toBe("503 tokens-unreadable");
    expect(home).not.toBe(other.home);
  });

  it("have names that tell them apart", async () => {
    const { tokens, made } = newHome();
    const { id } = await made({ kind: "owner" }, { name: "laptop" });
    expect(await tokens.create({ name: "laptop", rights: { kind: "owner" } })).toMatchObject({
      error: { kind: "name-taken" },
    });
    for (const name of ["", " x", "x ", "a\nb", "x".repeat(65), "1f9a3c07", "\u001b[2J"])
      expect(await tokens.create({ name, rights: { kind: "owner" } }), name).toMatchObject({
        error: { kind: "bad-name" },
      });
    expect(
      await tokens.create({ rights: { kind: "user", user: { platform: "api", id: "a\0" } } }),
    ).toMatchObject({
      error: { kind: "bad-rights" },
    });
    expect(await tokens.revoke("nobody")).toMatchObject({ error: { kind: "unknown-token" } });
    expect(tokens.list().map((token) => token.id)).toEqual([id]);
  });

  it("are all kept when many are made at once", async () => {
    const { home, clock, tokens, made } = newHome();
    const other = openTokens({ home, clock, log: silentLogger });
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        at % 2 === 0 ? made() : other.create({ rights: { kind: "admin" } }),
      ),
    );
    expect(all).toHaveLength(20);
    expect(new Set(tokens.list().map(({ id }) => id)).size).toBe(20);
  });

  it("remember when they were last used, to the hour, without touching their own file", async () => {
    const { tokens, made, wait } = newHome();
    const { token } = await made();
    const before = readFileSync(tokens.path);
    const use = async () => {
      tokens.authenticate(token);
      await new Promise((resolve) => setImmediate(resolve));
      return tokens.list()[0]?.lastUsedAt;
    };
    expect(tokens.list()[0]?.lastUsedAt).toBeUndefined();
    expect(await use()).toBe("2026-11-17T12:00:00.000Z");
    wait(1_800_000);
    expect(await use()).toBe("2026-11-17T12:00:00.000Z");
    wait(1_800_000);
    expect(await use()).toBe("2026-11-17T13:00:00.000Z");
    expect(readFileSync(tokens.path)).toEqual(before);
  });
});

describe("the local token", () => {
  const isPosix = process.platform !== "win32";

  it("is made once, is the owner's file, and has the owner's rights in a header or an address, beside other tokens", async () => {
    const { home, tokens, made, clock } = newHome();
    const other = openTokens({ home, clock, log: silentLogger });
    const [token, ...same] = await Promise.all([tokens.local(), other.local(), tokens.local()]);
    expect(token).toMatch(/^hm_[A-Za-z0-9_-]{43}$/);
    expect(new Set(same)).toEqual(new Set([token]));
    const { path } = readLocalToken(home);
    expect(readFileSync(path, "utf8")).toBe(`${token}\n`);
    if (isPosix)
      expect([path, dirname(path)].map((each) => statSync(each).mode & 0o777)).toEqual([0o600, 0o700]);
    await made();
    expect(tokens.list()).toHaveLength(1);
    for (const isInPath of [false, true]) {
      expect(tokens.authenticate(token, { isInPath })).toEqual({ kind: "local" });
      for (const wrong of [`${token}a`, token.slice(0, -1), "hm_", ""])
        expect(codeOf(tokens.authenticate(wrong, { isInPath })), wrong).toBe("401 bad-token");
    }
  });

  it("is replaced on request, and a running server notices within a second; deleted, it lets nobody in", async () => {
    const { home, tokens, clock, wait } = newHome();
    const old = await tokens.local();
    expect(codeOf(tokens.authenticate(old))).toBe("local");
    const next = await openTokens({ home, clock, log: silentLogger }).local({ isNew: true });
    wait(1_000);
    expect([old, next].map((token) => codeOf(tokens.authenticate(token)))).toEqual([
      "401 bad-token",
      "local",
    ]);
    rmSync(readLocalToken(home).path);
    wait(1_000);
    expect(codeOf(tokens.authenticate(next))).toBe("401 bad-token");
    expect(codeOf(tokens.authenticate(await tokens.local()))).toBe("local");
  });

  it.each([
    ["empty", ""],
    ["two lines", `hm_${"a".repeat(43)}\nhm_${"b".repeat(43)}\n`],
    ["too short", "hm_a\n"],
    ["a folder", undefined],
  ])("lets nobody in and is not overwritten when its file is damaged: %s", async (_how, text) => {
    const { home, clock } = newHome();
    const logged: string[] = [];
    const log = { ...silentLogger, error: (message: string) => void logged.push(message) };
    const tokens = openTokens({ home, clock, log });
    const { path } = readLocalToken(home);
    if (text === undefined) mkdirSync(path, { recursive: true });
    else {
      mkdirSync(dirname(path));
      writeFileSync(path, text, { mode: 0o600 });
    }
    await expect(tokens.local()).rejects.toThrow(/local-token cannot be used/);
    for (const credential of ["", "hm_a", `hm_${"a".repeat(43)}`, text?.trim() ?? ""])
      expect(codeOf(tokens.authenticate(credential)), credential).toBe("401 bad-token");
    expect(logged).toEqual(["The local token cannot be used; nobody is let in by it."]);
    if (text === undefined) return;
    expect(readFileSync(path, "utf8")).toBe(text);
    expect(await tokens.local({ isNew: true })).toMatch(/^hm_/);
  });

  it.runIf(isPosix)("is closed to other users of the machine, with a warning", async () => {
    const { home, clock } = newHome();
    const warned: string[] = [];
    const log = { ...silentLogger, warn: (message: string) => void warned.push(message) };
    const tokens = openTokens({ home, clock, log });
    const token = await tokens.local();
    const { path } = readLocalToken(home);
    chmodSync(path, 0o644);
    expect(codeOf(tokens.authenticate(token))).toBe("local");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(warned).toEqual([expect.stringContaining("hermes token local --new")]);
    expect(warned.join()).not.toContain(token);
  });
});
