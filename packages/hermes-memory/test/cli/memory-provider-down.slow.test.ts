// What the commands say and do while a provider's server is down, refuses the key or is not the active one.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { silentLogger } from "../../../core/src/lib/logger.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { openLane } from "../../../providers/src/kit/outbox/outbox.ts";
import { FakeMem0 } from "../../../providers/test/fakes/servers/mem0.ts";
import { type RunOutcome, runHermes } from "./run.ts";

const KEY = "k-0f3a9d8e7c6b5a41";
const CODE = "My door code is four four two nine";

type Desk = {
  readonly home: string;
  readonly fake: FakeMem0;
  readonly run: (...words: string[]) => Promise<RunOutcome>;
  readonly json: (...words: string[]) => Promise<Record<string, unknown>>;
};

/** With mem0 active. */
async function mem0Desk(): Promise<Desk> {
  const fake = new FakeMem0();
  await fake.start();
  onTestFinished(() => fake.stop());
  fake.requireAuth(KEY);
  const home = tempDirectory();
  const env = { HOME: join(home, "nobody"), USER: "ann" };
  const run = (...words: string[]) => runHermes(words, { home, env, cwd: home });
  const json = async (...words: string[]) =>
    JSON.parse((await run(...words, "--json")).stdout) as Record<string, unknown>;
  const setup = await run(
    "memory",
    "setup",
    "mem0",
    "--set",
    `host=${fake.url}`,
    "--set",
    `api_key=${KEY}`,
    "--yes",
  );
  expect(setup.code).toBe(0);
  return { home, fake, run, json };
}

/** A turn of another user of the home waits. */
function queueForUser(home: string, text: string): void {
  const lane = openLane({
    home,
    provider: "mem0",
    user: "telegram:77",
    isDurable: true,
    maxItems: 100,
    maxBytes: 1 << 20,
    log: silentLogger,
  });
  lane.add({ kind: "turn", sessionId: "s", body: { user: text } });
  lane.close();
}

describe("a refused key", { timeout: 60_000 }, () => {
  it("queues the write, and each command says what is wrong", async () => {
    const { fake, run, json } = await mem0Desk();
    fake.requireAuth("another");
    const added = await json("memory", "add", CODE);
    expect(added).toMatchObject({
      success: true,
      provider: { name: "mem0", status: "queued", queued: 1, reason: expect.stringContaining("401") },
    });
    expect((await run("memory", "add", "Beta")).stderr).toMatch(
      /^mem0: queued, not at the server yet \(.*401.*\)\. .*'hermes memory outbox send'/,
    );
    expect(await json("memory", "recall", "door code")).toMatchObject({
      success: false,
      error: expect.stringMatching(/401/),
    });
    const tested = await run("memory", "test");
    expect(tested.code).toBe(1);
    expect(tested.stderr).toMatch(/The step 'connect' failed: .*401/);
    expect(tested.stderr).not.toContain("selfTest");
    await run("doctor", "--network");
    const status = await run("memory", "status");
    expect(status.stdout).toContain("401");

    fake.requireAuth(KEY);
    expect((await run("memory", "outbox", "send")).code).toBe(0);
    const after = await run("memory", "status");
    expect(after.stdout).toMatch(/^ +mem0 +yes +0 /m);
    expect(await json("memory", "outbox", "list")).toMatchObject({ success: true, waiting: [], dead: [] });
    expect(await json("memory", "providers")).toMatchObject({ success: true });
    expect(await json("memory", "recall", "door code")).toMatchObject({ success: true });
  });
});

describe("writes that wait", { timeout: 60_000 }, () => {
  it("are listed with their text, dropped by id, and sent for a provider that is not active", async () => {
    const { fake, run, json } = await mem0Desk();
    const { url } = fake;
    await fake.stop();
    await run("memory", "add", CODE);
    await run("memory", "add", "Beta is second");
    const listed = await run("memory", "outbox", "list");
    expect(listed.stdout).toMatch(/waiting \(2\)\n.*\n +1 +mem0 .* memory My door code/);
    const moved = await run("memory", "setup", "holographic", "--yes");
    expect(moved.stderr).toContain("2 writes are kept in the outbox of 'mem0'");
    expect(moved.stderr).toContain("'hermes memory outbox send --provider mem0'");
    expect((await run("memory", "outbox", "drop", "1")).code).toBe(1); // nobody to ask
    expect(await json("memory", "outbox", "drop", "1", "--yes")).toMatchObject({ dropped: 1 });
    expect((await run("memory", "outbox", "drop", "1", "--yes")).stderr).toContain("There is no write 1");
    await fake.start(Number(new URL(url).port));
    const sent = await run("memory", "outbox", "send", "--provider", "mem0");
    expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining("Sent 1 write to 'mem0'.") });
    expect(JSON.stringify(fake.stored())).toContain("Beta is second");
    expect(JSON.stringify(fake.stored())).not.toContain(CODE);
  });
});

describe("forget", { timeout: 60_000 }, () => {
  it("erases what waits for a provider that is not active, and for users, so that it is never sent", async () => {
    const { home, fake, run, json } = await mem0Desk();
    const { url } = fake;
    await fake.stop();
    await run("memory", "add", CODE);
    queueForUser(home, `I said: ${CODE}`);
    await run("memory", "off");
    const forgot = await run("memory", "forget", CODE, "--yes");
    expect(forgot.code).toBe(0);
    expect(forgot.stdout).toMatch(/^outbox \(2\)\n {2}provider +user +writes\n/m);
    expect(forgot.stdout).toMatch(/^ {2}mem0 +telegram:77 +1$/m);
    expect((await run("memory", "forget", CODE, "--yes")).stdout).toContain("No trace of this text.");
    await fake.start(Number(new URL(url).port));
    await run("memory", "setup", "mem0", "--yes");
    await json("memory", "outbox", "send");
    expect(JSON.stringify(fake.stored())).not.toContain("four four two nine");
  });

  it.each([
    ["is down", async (fake: FakeMem0) => void (await fake.stop())],
    ["refuses the key", async (fake: FakeMem0) => fake.requireAuth("another")],
  ])("does not claim that nothing is left when the server %s", async (_state, spoil) => {
    const { fake, run } = await mem0Desk();
    await run("memory", "add", CODE);
    await spoil(fake);
    const unknown = await run("memory", "forget", "Something else", "--yes");
    expect(unknown.code).toBe(1);
    expect(unknown.stdout).not.toContain("No trace");
    const forgot = await run("memory", "forget", CODE, "--yes");
    expect(forgot).toMatchObject({ code: 1, stdout: expect.stringContaining(CODE) });
    expect(forgot.stderr).toMatch(/mem0/i);
    const again = await run("memory", "forget", CODE, "--yes");
    expect(again.code).toBe(1);
    expect(again.stdout + again.stderr).not.toContain("No trace");
  });

  it("names a damaged outbox and does not claim that nothing is left", async () => {
    const { home, run } = await mem0Desk();
    await run("memory", "off");
    writeFileSync(join(home, "memory_outbox.db.damaged-1763300000"), CODE);
    const forgot = await run("memory", "forget", CODE, "--yes");
    expect(forgot.code).toBe(1);
    expect(forgot.stdout).not.toContain("No trace");
    expect(forgot.stderr).toContain("memory_outbox.db.damaged-1763300000");
  });
});

it("the commands of a provider that is not active are explained", async () => {
  const home = tempDirectory();
  const { code, stderr } = await runHermes(["honcho", "status"], { home });
  expect(code).toBe(2);
  expect(stderr).toContain("'honcho' is not the active provider");
  expect(stderr).toContain("'hermes memory setup honcho'");
});
