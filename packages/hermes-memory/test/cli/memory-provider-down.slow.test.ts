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
