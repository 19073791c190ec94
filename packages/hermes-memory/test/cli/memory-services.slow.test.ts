// Every networked provider from the command line, as a user types it, against its fake: each command is a process of its own. What the
// providers do is tested in their package.
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { silentLogger } from "../../../core/src/lib/logger.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { OutboxLane } from "../../../providers/src/kit/outbox/outbox.ts";
import type { Fake } from "../../../providers/test/fakes/servers/services.ts";
import { FAKE_SERVICES } from "../../../providers/test/fakes/servers/services.ts";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { type RunOutcome, runHermes } from "./run.ts";

const KEY = "k-0f3a9d8e7c6b5a41";

/** `--set` of each. */
const SETTINGS: Readonly<Record<string, (url: string) => readonly string[]>> = {
  honcho: (url) => [`baseUrl=${url}`, `apiKey=${KEY}`],
  mem0: (url) => [`host=${url}`, `api_key=${KEY}`],
  hindsight: (url) => ["mode=local_external", `api_url=${url}`, `api_key=${KEY}`],
  supermemory: (url) => [`base_url=${url}`, `api_key=${KEY}`],
  openviking: (url) => [`endpoint=${url}`, `api_key=${KEY}`],
  retaindb: (url) => [`base_url=${url}`, `api_key=${KEY}`, "project=default"],
};

/** `honcho.json` is shared with other programs of Honcho, which look for the key there. */
const KEY_FILES = [".env", "honcho.json"];

const FACT = "The kiln is fired at 1240 degrees";
const LONGER = `${FACT} in winter`;
const ABOUT_USER = "Prefers short answers about glazes";

/** A home, and the server of a provider. */
class Desk {
  readonly home = tempDirectory();
  readonly fake: Fake;
  readonly name: string;
  #printed = "";

  constructor(name: string, fake: Fake) {
    this.name = name;
    this.fake = fake;
  }

  static async of(name: string): Promise<Desk> {
    const service = FAKE_SERVICES.find((each) => each.name === name);
    if (service === undefined) throw new Error(`There is no fake of ${name}.`);
    const fake = await service.create().start();
    onTestFinished(() => fake.stop());
    fake.requireAuth(KEY);
    return new Desk(name, fake);
  }

  async run(...words: string[]): Promise<RunOutcome> {
    const env = { HOME: join(this.home, "nobody"), USER: "ann" };
    const outcome = await runHermes(words, { home: this.home, env, cwd: this.home });
    this.#printed += outcome.stdout + outcome.stderr;
    return outcome;
  }

  async json(...words: string[]): Promise<Record<string, unknown>> {
    return JSON.parse((await this.run(...words, "--json")).stdout) as Record<string, unknown>;
  }

  async setUp(): Promise<RunOutcome> {
    const sets = (SETTINGS[this.name]?.(this.fake.url) ?? []).flatMap((pair) => ["--set", pair]);
    const setup = await this.run("memory", "setup", this.name, ...sets, "--yes");
    expect(setup).toMatchObject({ code: 0, stdout: expect.stringContaining("It is available.") });
    expect(setup.stdout).toContain(this.fake.url); // it was asked
    return setup;
  }

  async connection(): Promise<Finding | undefined> {
    const { findings } = (await this.json("doctor", "--network")) as { findings: readonly Finding[] };
    return findings.find(({ check }) => check === "connection");
  }

  /** How often the server has a text. */
  times(text: string): number {
    return JSON.stringify(this.fake.stored()).split(text).length - 1;
  }

  /** No command printed the key, and no file holds it but those made for it. */
  expectNoKeyElsewhere(): void {
    expect(this.#printed.includes(KEY)).toBe(false);
    const holders = readdirSync(this.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => readFileSync(path).includes(KEY));
    expect(holders.length).toBeGreaterThan(0);
    for (const path of holders) {
      expect(KEY_FILES).toContain(basename(path));
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }
  }
}

const TIME = { timeout: 120_000 };

describe.each(FAKE_SERVICES)("$name from the command line", TIME, ({ name }) => {
  it("is set up and tested, gets older entries once, recalls them, and forgets", async () => {
    const desk = await Desk.of(name);
    for (const words of [[LONGER], [FACT], [ABOUT_USER, "--target", "user"]])
      expect((await desk.run("memory", "add", ...words)).code).toBe(0);
    expect((await desk.setUp()).stderr).toContain("'hermes memory upload'");
    expect(await desk.json("memory", "upload", "--dry-run")).toMatchObject({ copied: 0, missing: 3 });
    expect(desk.times(FACT)).toBe(0);
    expect(await desk.json("memory", "upload", "--target", "user")).toMatchObject({ copied: 1 });
    expect(await desk.json("memory", "upload")).toMatchObject({ success: true, copied: 2 });
    const stored = [FACT, LONGER, ABOUT_USER].map((text) => desk.times(text));
    expect(stored[0]).toBeGreaterThan(stored[1] ?? 0); // also without the rest of the sentence
    // Without the outbox, the server is asked.
    for (const suffix of ["", "-wal", "-shm"])
      rmSync(join(desk.home, `memory_outbox.db${suffix}`), { force: true });
    expect(await desk.json("memory", "upload")).toMatchObject({ copied: 0, present: 3 });
    expect([FACT, LONGER, ABOUT_USER].map((text) => desk.times(text))).toEqual(stored);

    expect(await desk.json("memory", "test")).toMatchObject({ success: true, supported: true });
    expect(await desk.connection()).toMatchObject({ status: "ok" });
    const question = "how hot is the kiln fired?";
    expect((await desk.json("memory", "recall", question)).text).toContain("1240 degrees");
    const forgot = await desk.json("memory", "forget", FACT, "--yes");
    expect(forgot.provider).toMatchObject({ status: "forgot", erased: expect.any(Number) });
    expect((await desk.json("memory", "recall", question)).text).not.toContain("1240 degrees");
    desk.expectNoKeyElsewhere();
  });
});

describe("while the server of the provider is down", TIME, () => {
  it("what is written is kept, and sent when the user asks", async () => {
    const desk = await Desk.of("mem0");
    await desk.setUp();
    await desk.fake.stop();
    const added = await desk.run("memory", "add", "The clay is stoneware");
    expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining("hermes memory outbox send") });
    expect(await desk.json("memory", "status")).toMatchObject({
      outbox: [{ waiting: 1, last_error: { message: expect.stringContaining("connection was refused") } }],
    });
    const late = await desk.run("memory", "outbox", "send", "--timeout", "1");
    expect(late).toMatchObject({ code: 1, stdout: expect.stringContaining("Nothing is lost.") });
    expect(await desk.connection()).toMatchObject({ status: "fail" });
    for (const words of [["test"], ["recall", "which clay is it?"]]) {
      const { code, stderr } = await desk.run("memory", ...words);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining("connection was refused"),
      });
    }
    expect((await desk.run("memory", "upload")).stderr).toContain("Nothing was copied");
    expect((await desk.run("memory", "off")).stderr).toContain("1 write is kept in the outbox of 'mem0'");
    await desk.run("config", "set", "memory.provider", "mem0");
    await desk.fake.restart();
    expect(desk.times("stoneware")).toBe(0);
    expect(await desk.json("memory", "outbox", "send")).toMatchObject({ success: true, sent: 1, left: 0 });
    expect(desk.times("stoneware")).toBeGreaterThan(0);
    desk.expectNoKeyElsewhere();
  });

  it("forget erases what waits, and says that the server was not asked", async () => {
    const desk = await Desk.of("mem0");
    await desk.setUp();
    await desk.fake.stop();
    await desk.run("memory", "add", "The glaze is celadon");
    const forgot = await desk.run("memory", "forget", "The glaze is celadon", "--yes");
    expect(forgot).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Run the command again when it can be reached"),
    });
    await desk.fake.restart();
    await desk.run("memory", "outbox", "send");
    expect(desk.times("celadon")).toBe(0);
    expect(readFileSync(join(desk.home, "memory_outbox.db")).includes("celadon")).toBe(false);
  });

  it("forget erases what waits for users, and for a provider that is not active", async () => {
    const desk = await Desk.of("mem0");
    await desk.setUp();
    await desk.fake.stop();
    await desk.run("memory", "add", FACT);
    const limits = { isDurable: true, maxItems: 100, maxBytes: 1 << 20, log: silentLogger };
    const lane = new OutboxLane({ home: desk.home, provider: "mem0", user: "telegram:77", ...limits });
    lane.add({ kind: "turn", sessionId: "s", body: { user: `I said: ${FACT}` } });
    lane.close();
    await desk.run("memory", "off");
    const forgot = await desk.json("memory", "forget", FACT, "--yes");
    expect(forgot).toMatchObject({
      success: true,
      outbox: expect.arrayContaining([{ provider: "mem0", user: "telegram:77", writes: 1 }]),
    });
    expect((await desk.run("memory", "forget", FACT, "--yes")).stdout).toContain("No trace of this text.");
    await desk.fake.restart();
    await desk.setUp();
    await desk.run("memory", "outbox", "send");
    expect(desk.times(FACT)).toBe(0);
  });
});
