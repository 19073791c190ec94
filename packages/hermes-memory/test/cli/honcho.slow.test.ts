// `hermes memory setup honcho` and `hermes honcho ...` as a user types them, against a fake server.
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { FakeHoncho } from "../../../providers/test/fakes/servers/honcho.ts";
import { type RunOutcome, runHermes } from "./run.ts";

type Desk = {
  readonly server: FakeHoncho;
  readonly home: string;
  readonly project: string;
  readonly run: (...words: string[]) => Promise<RunOutcome>;
  readonly file: () => Record<string, never> & { hosts: Record<string, Record<string, unknown>> };
};

/** A home that was set up from the command line, and a directory to work in. */
async function desk(): Promise<Desk> {
  const server = await new FakeHoncho().start();
  onTestFinished(() => server.stop());
  const home = tempDirectory();
  const project = join(tempDirectory(), "kiln");
  mkdirSync(project);
  const env = { USER: "ann", HOME: join(home, "nobody") };
  const run: Desk["run"] = (...words) => runHermes(words, { home, env, cwd: project });
  const setup = await run("memory", "setup", "honcho", "--set", `baseUrl=${server.url}`, "--yes");
  expect(setup).toMatchObject({ code: 0, stdout: expect.stringContaining("It is available.") });
  expect(setup.stdout).toContain(`Honcho answers at ${server.url}.`);
  return {
    server,
    home,
    project,
    run,
    file: () => JSON.parse(readFileSync(join(home, "honcho.json"), "utf8")),
  };
}

describe("setup", () => {
  it("without questions is followed by a test that passes and leaves nothing", async () => {
    const { run, home, server } = await desk();
    expect(statSync(join(home, "honcho.json")).mode & 0o777).toBe(0o600);
    const tested = await run("memory", "test");
    expect(tested).toMatchObject({ code: 0, stdout: expect.stringContaining("'honcho' works") });
    expect(server.conclusionsOf("hermes", "hermes", "ann")).toEqual([]);
  });
});

describe("hermes honcho", () => {
  it("shows settings, connection and what is known", async () => {
    const { run, server, home } = await desk();
    server.setCard("hermes", "hermes", "ann", ["Name: Ann\u001b[2J"]);
    const shown = await run("honcho");
    expect(shown.code).toBe(0);
    for (const part of [
      `config          ${join(home, "honcho.json")}`,
      "user            ann",
      "  Name: Ann?[2J",
    ])
      expect(shown.stdout).toContain(part);
    expect(JSON.parse((await run("honcho", "status", "--json")).stdout)).toMatchObject({
      state: "on",
      session: "kiln",
      connection: `Honcho answers at ${server.url}.`,
    });
    await server.stop();
    for (const flags of [[], ["--json"]])
      expect(await run("honcho", "status", ...flags)).toMatchObject({
        code: 1,
        stdout: expect.stringContaining("Honcho cannot be used: "),
      });
    await run("honcho", "disable");
    expect((await run("honcho", "status")).code).toBe(0);
    await run("honcho", "enable");
    expect(await run("honcho", "bogus")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There is no command 'bogus'"),
    });
  });

  it("shows no password of the address, and only the end of the key", async () => {
    const { run, server } = await desk();
    const address = server.url.replace("://", "://ann:pa55word@");
    const set = ["--set", `baseUrl=${address}`, "--set", "apiKey=key-0123456789abcdef"];
    const shown = [
      await run("memory", "setup", "honcho", ...set, "--yes"),
      await run("honcho", "status"),
      await run("honcho", "status", "--json"),
      await run("memory", "status"),
      await run("memory", "status", "--json"),
      await run("memory", "test"),
    ].map(({ stdout, stderr }) => stdout + stderr);
    for (const text of shown) {
      expect(text).toContain(server.url);
      expect(text).not.toContain("pa55word");
      expect(text).not.toContain("9abcdef");
    }
    expect(shown[1]).toContain("key             ...cdef\n");
  });

  it("shows and changes names, mode, strategy, limits and the session of a directory", async () => {
    const { run, file, project } = await desk();
    expect((await run("honcho", "peer", "--user", "Bo", "--ai", "robo", "--reasoning", "high")).stdout).toBe(
      "user: Bo, agent: robo, reasoning: high\n",
    );
    expect((await run("honcho", "mode", "tools")).stdout).toBe("mode: tools\n");
    expect((await run("honcho", "strategy", "global")).stdout).toBe("strategy: global\n");
    expect((await run("honcho", "tokens", "--context", "500", "--dialectic", "300")).stdout).toBe(
      "context tokens: 500, dialectic characters: 300\n",
    );
    await run("honcho", "map", "My kiln!");
    expect((await run("honcho", "sessions")).stdout).toBe(`My-kiln  ${project}\n`);
    expect(file()).toMatchObject({
      sessions: { [project]: "My-kiln" },
      hosts: {
        hermes: {
          peerName: "Bo",
          aiPeer: "robo",
          dialecticReasoningLevel: "high",
          recallMode: "tools",
          sessionStrategy: "global",
          contextTokens: 500,
          dialecticMaxChars: 300,
        },
      },
    });
    const json = async (...words: string[]) => JSON.parse((await run("honcho", ...words, "--json")).stdout);
    expect(await json("peer")).toEqual({ user: "Bo", agent: "robo", reasoning: "high" });
    expect(await json("tokens")).toEqual({ context_tokens: 500, dialectic_characters: 300 });
    expect(await json("map")).toEqual({ directory: project, session: "My-kiln" });
    expect(await json("sessions")).toEqual({ sessions: { [project]: "My-kiln" } });
    expect(await json("mode", "fast")).toMatchObject({ success: false });
    const wrong = await run("honcho", "mode", "fast");
    expect(wrong).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("must be one of hybrid, context, tools"),
    });
  });

  it("switches a profile off and on, and gives other profiles their block", async () => {
    const { run, file, home } = await desk();
    await run("honcho", "mode", "tools");
    await run("honcho", "disable");
    expect((await run("honcho")).stdout).toContain("'hermes honcho enable' switches it on.");
    await run("honcho", "enable");
    expect(file().hosts.hermes).toMatchObject({ enabled: true });
    mkdirSync(join(home, "profiles", "work"), { recursive: true });
    expect((await run("honcho", "sync")).stdout).toBe("New blocks: work.\n");
    expect(file().hosts.hermes_work).toEqual({
      recallMode: "tools",
      dialecticCadence: 2,
      peerName: "ann",
      aiPeer: "work",
      workspace: "hermes",
      enabled: true,
    });
    expect((await run("honcho", "sync")).stdout).toBe("Every profile has a block.\n");
    expect((await run("honcho", "peers")).stdout).toBe(
      "profile  user  agent\ndefault  ann   hermes\nwork     ann   work\n",
    );
    expect((await run("honcho", "status", "--all")).stdout).toContain("work     hermes_work  on");
    expect((await run("honcho", "--target-profile", "work", "peer")).stdout).toContain("agent: work");
    expect(await run("honcho", "--target-profile", "nobody", "peer")).toMatchObject({ code: 1 });
    expect(JSON.parse((await run("honcho", "peers", "--json")).stdout).profiles).toHaveLength(2);
  });
});
