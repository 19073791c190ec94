// What every networked memory has from the base, with Mem0 as the service: erasing without the server, a changed key, pauses that the
// server asked for, checks of a server that hangs.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { readOutbox } from "../../src/kit/outbox/commands.ts";
import { createMem0Provider } from "../../src/mem0/provider.ts";
import { KEY, requestsTo, SESSION, serve, start } from "../mem0/harness.ts";

const ADD = "/v3/memories/add/";
const SECRET = "The code is 4711";

async function until(isTrue: () => boolean): Promise<void> {
  for (let left = 500; !isTrue(); left -= 1) {
    if (left === 0) throw new Error("It did not become true within 5 s.");
    await sleep(10);
  }
}

function sent(fake: Awaited<ReturnType<typeof serve>>): string {
  return JSON.stringify(fake.requests.map(({ body }) => body));
}

describe("erasing", () => {
  it("removes what waits although the server is down, says so, and nothing of it is sent later", async () => {
    const fake = await serve();
    await fake.stop();
    const { provider, home } = start(fake, {
      limits: { pauses: { firstMs: 20, longestMs: 20, blockedMs: 20 } },
    });
    await provider.syncTurn?.(SECRET, "Noted", SESSION);
    await provider.syncTurn?.("I like tea", "Fine", SESSION);
    expect(await provider.forget?.("4711", { dry_run: true })).toMatchObject({
      erased: 1,
      remaining: expect.stringMatching(/^Mem0 could not be searched: .* Run the command again/),
    });
    expect(await provider.forget?.("4711", {})).toMatchObject({
      erased: 1,
      remaining: expect.stringMatching(
        /^Nothing was erased at Mem0: .* Run the command again when it can be reached\.$/,
      ),
    });
    await fake.restart();
    await until(() => readOutbox(home)[0]?.state.waiting === 0);
    expect(fake.memories("hermes-user").map(({ memory }) => memory)).toContain("I like tea");
    expect(sent(fake)).not.toContain(SECRET);
  });
});

describe("a key that changes while the agent runs", () => {
  function startWithFile(fake: Awaited<ReturnType<typeof serve>>, key: string) {
    const home = tempDirectory();
    const env: Record<string, string> = { MEM0_HOST: fake.url };
    const setKey = (value: string) =>
      writeFileSync(join(home, "mem0.json"), JSON.stringify({ api_key: value }));
    setKey(key);
    const provider = createMem0Provider({ home, env, limits: { renewMs: 20 } });
    onTestFinished(async () => provider.shutdown?.({}));
    provider.initialize("session-1", { hermes_home: home, platform: "cli" });
    return { provider, home, setKey };
  }

  it("is used for writes that were refused before, without a restart", async () => {
    const fake = await serve();
    const { provider, home, setKey } = startWithFile(fake, "m0-oldkey");
    await provider.syncTurn?.("I like tea", "Fine", SESSION);
    await until(() => readOutbox(home)[0]?.state.blocked !== undefined);
    setKey(KEY);
    await sleep(30);
    await provider.queuePrefetch?.("tea", SESSION);
    await until(() => readOutbox(home)[0]?.state.waiting === 0);
    expect(fake.memories("hermes-user").map(({ memory }) => memory)).toContain("I like tea");
    expect(readOutbox(home)[0]?.state).toMatchObject({ dead: 0 });
  });

  it("is used within the delivery and the recall that the server refuses", async () => {
    const fake = await serve();
    const { provider, home, setKey } = startWithFile(fake, KEY);
    await provider.syncTurn?.("I like tea", "Fine", SESSION);
    await until(() => readOutbox(home)[0]?.state.waiting === 0);
    fake.requireAuth("m0-newkey");
    setKey("m0-newkey");
    expect(await provider.prefetch?.("tea", SESSION)).toContain("I like tea");
    fake.requireAuth("m0-third");
    setKey("m0-third");
    await sleep(30);
    await provider.syncTurn?.("I like coffee", "Fine", SESSION);
    await until(() => fake.memories("hermes-user").some(({ memory }) => memory === "I like coffee"));
    expect(readOutbox(home)[0]?.state.blocked).toBeUndefined();
  });
});

describe("a pause that the server asked for", () => {
  it("is kept by the next start, and not by a command that sends now", async () => {
    const fake = await serve();
    fake.fail(429, {}, { "retry-after": "300" });
    const first = start(fake);
    await first.provider.syncTurn?.("I like tea", "Fine", SESSION);
    await until(() => readOutbox(first.home)[0]?.state.lastError !== undefined);
    expect(requestsTo(fake, ADD)).toHaveLength(1); // the outbox repeats, not the client
    await first.provider.shutdown?.({});
    fake.recover();

    const second = start(fake, { home: first.home });
    await sleep(100);
    expect(requestsTo(fake, ADD)).toHaveLength(1);
    await second.provider.shutdown?.({});

    start(fake, { home: first.home, outbox_send_now: true });
    await until(() => readOutbox(first.home)[0]?.state.waiting === 0);
    expect(fake.memories("hermes-user").map(({ memory }) => memory)).toContain("I like tea");
  });
});

describe("a server that hangs", () => {
  it("ends the check and the self-test after their own limit", async () => {
    const fake = await serve();
    fake.hang();
    const { provider } = start(fake, { limits: { checkMs: 200 } });
    const never = new AbortController().signal;
    const startedAt = performance.now();
    await expect(provider.checkConnection?.(never)).rejects.toThrow("Mem0 did not answer within 0.2 s");
    await expect(provider.selfTest?.(never)).rejects.toThrow("Mem0 did not answer within 0.2 s");
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});
