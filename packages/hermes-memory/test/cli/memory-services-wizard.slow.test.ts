// The questions of two networked providers in a pseudo terminal: Hindsight, which asks by itself, and RetainDB, whose schema is asked for.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { FakeHindsight } from "../../../providers/test/fakes/servers/hindsight.ts";
import { FakeRetainDb } from "../../../providers/test/fakes/servers/retaindb.ts";
import type { Fake } from "../../../providers/test/fakes/servers/services.ts";
import { KEYS, startInPty, whyNoPty } from "../fakes/pty.ts";
import { runHermes } from "./run.ts";

const reason = await whyNoPty();
const KEY = "k-0f3a9d8e7c6b5a41";

async function started<F extends Fake>(fake: F): Promise<F> {
  await fake.start();
  onTestFinished(() => fake.stop());
  fake.requireAuth(KEY);
  return fake;
}

function expectSecretKept(home: string, variable: string): void {
  expect(readFileSync(join(home, ".env"), "utf8")).toContain(`${variable}=${KEY}\n`);
  expect(statSync(join(home, ".env")).mode & 0o777).toBe(0o600);
}

describe.skipIf(reason !== undefined)(`setup of a networked provider in a terminal ${reason ?? ""}`, () => {
  it("Hindsight asks where it runs, and then only what that place needs", async () => {
    const fake = await started(new FakeHindsight());
    const home = tempDirectory();
    const pty = await startInPty(["memory", "setup", "hindsight"], { home });
    await pty.play([
      ["(cloud, local_embedded, local_external) [cloud]", `moon${KEYS.enter}`],
      ["mode must be one of", ""],
      ["(cloud, local_embedded, local_external) [cloud]", `local_external${KEYS.enter}`],
      ["ddress", `${fake.url}${KEYS.enter}`],
      ["empty keeps the one that is saved", `${KEY}${KEYS.enter}`],
      ["[hermes]", KEYS.enter],
      ["[hybrid]", KEYS.enter],
      ["[mid]", `high${KEYS.enter}`],
      ["'hindsight' is the memory provider of every session that starts from now on.", ""],
      ["It is available.", ""],
      [`answers at ${fake.url}`, ""],
    ]);
    expect(await pty.ended()).toBe(0);
    expect(pty.output()).not.toContain(KEY);
    expectSecretKept(home, "HINDSIGHT_API_KEY");
    const saved: unknown = JSON.parse(readFileSync(join(home, "hindsight", "config.json"), "utf8"));
    expect(saved).toMatchObject({ mode: "local_external", api_url: fake.url, recall_budget: "high" });
    const tested = await runHermes(["memory", "test"], { home });
    expect(tested).toMatchObject({ code: 0, stdout: expect.stringContaining("'hindsight' works") });
  });

  it("RetainDB is chosen from the list of all providers and asked for its settings", async () => {
    const fake = await started(new FakeRetainDb());
    const home = tempDirectory();
    const size = { columns: 100, rows: 30 };
    const pty = await startInPty(["memory", "setup"], { home, size });
    await pty.play([
      ["byterover - ", ""],
      ["hindsight - ", ""],
      ["holographic - ", ""],
      ["honcho - ", ""],
      ["mem0 - ", ""],
      ["openviking - ", ""],
      ["retaindb - ", ""],
      ["supermemory - ", ""],
      ["> Built-in only", `${KEYS.up}${KEYS.up}`],
      ["> retaindb - ", KEYS.enter],
      ["(input is hidden): ", `${KEY}${KEYS.enter}`],
      ["[https://api.retaindb.com]: ", `${fake.url}${KEYS.enter}`],
      ["(optional): ", `default${KEYS.enter}`],
      ["> hybrid", KEYS.down],
      ["> context", KEYS.enter],
      ["[1]: ", `no number${KEYS.enter}`],
      ["dialectic_cadence must be a whole number", ""],
      ["[1]: ", KEYS.enter],
      ["> platform", KEYS.enter],
      ["> true", KEYS.enter],
      ["[16000]: ", KEYS.enter],
      ["may upload, separated by ':' (optional): ", KEYS.enter],
      ["'retaindb' is the memory provider of every session that starts from now on.", ""],
      [`${fake.url} accepts the key`, ""],
    ]);
    expect(await pty.ended()).toBe(0);
    expect(pty.output()).not.toContain(KEY);
    expectSecretKept(home, "RETAINDB_API_KEY");
    const saved: unknown = JSON.parse(readFileSync(join(home, "retaindb.json"), "utf8"));
    expect(saved).toMatchObject({ base_url: fake.url, project: "default", mode: "context" });
    const tested = await runHermes(["memory", "test"], { home });
    expect(tested).toMatchObject({ code: 0, stdout: expect.stringContaining("'retaindb' works") });
  });

  it("a wrong key is reported at the end, and Ctrl-C at the key saves nothing", async () => {
    const fake = await started(new FakeRetainDb());
    const home = tempDirectory();
    const args = ["memory", "setup", "retaindb", "--set", `base_url=${fake.url}`];
    const left = await startInPty(args, { home });
    await left.play([["(input is hidden): ", `abc${KEYS.interrupt}`]]);
    expect(await left.ended()).toBe(130);
    expect(() => readFileSync(join(home, "retaindb.json"))).toThrow("ENOENT");

    const wrong = await startInPty([...args, "--set", "api_key=wrong-0123456789", "--yes"], { home });
    await wrong.play([
      ["Its service refused", ""],
      ["401", ""],
    ]);
    expect(await wrong.ended()).toBe(1);
    expect(wrong.output()).not.toContain("wrong-0123456789");
  });
});
