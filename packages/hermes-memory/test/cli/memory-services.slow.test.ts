// Every networked provider from the command line, as a user types it, against its fake: each command is a process of its own.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { Fake, FakeService } from "../../../providers/test/fakes/servers/services.ts";
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

type Lane = {
  readonly user: string | null;
  readonly waiting: number;
  readonly dead: number;
  readonly blocked: string | null;
  readonly last_error: { readonly message: string } | null;
};

class Desk {
  readonly home = tempDirectory();
  readonly fake: Fake;
  readonly name: string;
  #printed = "";

  constructor(name: string, fake: Fake) {
    this.name = name;
    this.fake = fake;
  }

  get env(): Record<string, string> {
    return { HOME: join(this.home, "nobody"), USER: "ann" };
  }

  async run(...words: string[]): Promise<RunOutcome> {
    const outcome = await runHermes(words, { home: this.home, env: this.env, cwd: this.home });
    this.#printed += outcome.stdout + outcome.stderr;
    return outcome;
  }

  async json<T>(...words: string[]): Promise<T> {
    return JSON.parse((await this.run(...words, "--json")).stdout) as T;
  }

  /** The owner's lane. */
  async lane(): Promise<Lane | undefined> {
    const { outbox } = await this.json<{ outbox: readonly Lane[] }>("memory", "status");
    return outbox.find(({ user }) => user === null);
  }

  async connection(): Promise<Finding | undefined> {
    const { findings } = await this.json<{ findings: readonly Finding[] }>("doctor", "--network");
    return findings.find(({ check }) => check === "connection");
  }

  stored(): string {
    return JSON.stringify(this.fake.stored());
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

async function deskOf({ name, create }: FakeService, ...more: readonly string[]): Promise<Desk> {
  const fake = await create().start();
  onTestFinished(() => fake.stop());
  fake.requireAuth(KEY);
  const desk = new Desk(name, fake);
  const sets = [...(SETTINGS[name]?.(fake.url) ?? []), ...more].flatMap((pair) => ["--set", pair]);
  const setup = await desk.run("memory", "setup", name, ...sets, "--yes");
  expect(setup).toMatchObject({ code: 0, stdout: expect.stringContaining("It is available.") });
  expect(setup.stdout).toContain(fake.url); // it was asked
  return desk;
}

describe.each(FAKE_SERVICES)("$name from the command line", (service) => {
  const { name } = service;

  it("is tested, and what is added is recalled until it is forgotten", async () => {
    const desk = await deskOf(service);
    const tested = await desk.run("memory", "test");
    expect(tested).toMatchObject({ code: 0, stdout: expect.stringContaining(`'${name}' works`) });
    expect(await desk.json("memory", "test")).toMatchObject({ success: true, supported: true });

    expect((await desk.run("memory", "add", "The kiln is fired at 1240 degrees")).stderr).toBe("");
    const recalled = await desk.json<{ text: string }>("memory", "recall", "how hot is the kiln fired?");
    expect(recalled.text).toContain("1240 degrees");
    const status = await desk.run("memory", "status");
    expect(status.stdout).toMatch(/ {2}available +yes\n/);
    expect(status.stdout).toMatch(/^outbox \(1\)\n.*\n +\S+ +yes +0 /m);
    expect(await desk.lane()).toMatchObject({ waiting: 0, dead: 0, blocked: null });
    expect(await desk.connection()).toMatchObject({ status: "ok" });
    expect((await desk.run("doctor", "--network")).code).toBe(0);

    const forgot = await desk.json<{ entries: unknown[]; provider: { status: string; erased: number } }>(
      "memory",
      "forget",
      "The kiln is fired at 1240 degrees",
      "--yes",
    );
    expect(forgot.entries).toHaveLength(1);
    expect(forgot.provider).toMatchObject({ status: "forgot" });
    expect(forgot.provider.erased).toBeGreaterThan(0);
    expect((await desk.run("memory", "recall", "how hot is the kiln fired?")).stdout).toBe(
      "Nothing is recalled for this text.\n",
    );
    desk.expectNoKeyElsewhere();
  });

  it("keeps what is written while its server is down, and sends it when asked to", async () => {
    const desk = await deskOf(service);
    await desk.fake.stop();
    const added = await desk.run("memory", "add", "The clay is stoneware");
    expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining("hermes memory outbox send") });
    expect(await desk.lane()).toMatchObject({
      waiting: 1,
      last_error: { message: expect.stringContaining("connection was refused") },
    });
    expect((await desk.run("memory", "status")).stdout).toMatch(/last error: .*Start the server/);
    expect((await desk.run("memory", "outbox", "list")).stdout).toMatch(/waiting \(1\)\n.*\n.*stoneware/);
    const late = await desk.run("memory", "outbox", "send", "--timeout", "1");
    expect(late).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/left +1\n[\s\S]*not finished within 1 s/),
    });
    expect(late.stdout).toContain("Nothing is lost.");
    expect(await desk.connection()).toMatchObject({
      status: "fail",
      remedy: expect.stringContaining("hermes memory setup"),
    });
    const tested = await desk.run("memory", "test");
    expect(tested).toMatchObject({ code: 1, stderr: expect.stringContaining("connection was refused") });
    const recalled = await desk.run("memory", "recall", "which clay is it?");
    expect(recalled).toMatchObject({ code: 1, stderr: expect.stringContaining("connection was refused") });
    const off = await desk.run("memory", "off");
    expect(off.stderr).toContain(`1 write is kept in the outbox of '${name}'`);
    expect((await desk.run("memory", "status")).stdout).toMatch(/^ +\S+ +no +1 /m);
    expect(await desk.json("config", "set", "memory.provider", name)).toMatchObject({ success: true });

    await desk.fake.restart();
    expect(desk.stored()).not.toContain("stoneware");
    expect(await desk.json("memory", "outbox", "send")).toMatchObject({
      success: true,
      sent: 1,
      left: 0,
      lanes: [{ user: null, sent: 1, left: 0 }],
    });
    expect(desk.stored()).toContain("stoneware");
    expect((await desk.run("memory", "outbox", "send")).stdout).toBe(`Nothing waits for '${name}'.\n`);
    desk.expectNoKeyElsewhere();
  });

  it("forgets what waits while its server is down, and says that the server was not asked", async () => {
    const desk = await deskOf(service);
    await desk.fake.stop();
    await desk.run("memory", "add", "The glaze is celadon");
    const forgot = await desk.run("memory", "forget", "The glaze is celadon", "--yes");
    expect(forgot).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Run the command again when it can be reached"),
    });
    await desk.fake.restart();
    await desk.run("memory", "outbox", "send");
    expect(desk.stored()).not.toContain("celadon");
    expect(readFileSync(join(desk.home, "memory_outbox.db")).includes("celadon")).toBe(false);
  });
});
