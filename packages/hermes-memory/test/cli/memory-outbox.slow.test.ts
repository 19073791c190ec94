// `hermes memory outbox` and the connection of a provider with a server, from the command line.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openMemory } from "../../../core/src/memory/index.ts";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { FakeMem0 } from "../../../providers/test/fakes/servers/mem0.ts";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { jsonHere, runHere, runHermes } from "./run.ts";

/** Its settings are in `remote.json`; it asks its server only in `checkConnection`. */
const REMOTE = `import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
export default class RemoteMemoryProvider {
  name = "remote";
  isAvailable() { return true; }
  initialize() { writeFileSync(join(process.env.HERMES_HOME, "started"), ""); }
  initializeForInspection(_session, { hermes_home }) { this.home = hermes_home; }
  async checkConnection(signal) {
    const { url } = JSON.parse(readFileSync(join(this.home, "remote.json"), "utf8"));
    const { status } = await fetch(url, { signal, headers: { authorization: process.env.REMOTE_KEY ?? "" } });
    if (status !== 200) throw new Error("the server answered " + status);
    return "Remote 1.2 answers";
  }
  getToolSchemas() { return []; }
  getConfigSchema() {
    return [
      { key: "url", description: "Address", default: "http://127.0.0.1:9/" },
      { key: "key", description: "Key", secret: true, required: true, env_var: "REMOTE_KEY" },
      { key: "mirror", description: "Mirror entries", type: "boolean", default: "true" },
      { key: "results", description: "Results", type: "integer", minimum: 1, maximum: 20, default: "10" },
    ];
  }
  saveConfig(values, home) { writeFileSync(join(home, "remote.json"), JSON.stringify(values)); }
}
`;

const KEY = "k-5d1f0c77b2a94e";

function homeWithRemote(source = REMOTE): string {
  const home = tempDirectory();
  writePlugin(home, "remote", { "index.js": source });
  return home;
}

async function server(): Promise<{ readonly url: string; status: number; readonly keys: unknown[] }> {
  const state = { url: "", status: 200, keys: [] as unknown[] };
  const http = createServer(({ headers }, response) => {
    state.keys.push(headers.authorization);
    response.writeHead(state.status).end();
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void http.close());
  state.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
  return state;
}

function setupArgs(url: string, ...more: readonly string[]): readonly string[] {
  return ["memory", "setup", "remote", "--set", `url=${url}`, ...more, "--yes"];
}

describe("a provider with a server", () => {
  it("is asked at the end of setup, and by doctor only with --network", async () => {
    const home = homeWithRemote();
    const remote = await server();
    const env = { REMOTE_KEY: KEY };
    const setup = await runHermes(setupArgs(remote.url), { home, env });
    expect(setup.code).toBe(0);
    expect(setup.stdout).toContain("Remote 1.2 answers\n");
    expect(remote.keys).toEqual([KEY]);
    expect(existsSync(join(home, "started"))).toBe(false);
    expect((await runHermes(["doctor"], { home, env })).code).toBe(0);
    expect(remote.keys).toHaveLength(1);

    remote.status = 401;
    const doctor = await runHermes(["doctor", "--network", "--json"], { home, env });
    const { findings } = JSON.parse(doctor.stdout) as { findings: Finding[] };
    expect({ code: doctor.code, asked: remote.keys.length }).toEqual({ code: 1, asked: 2 });
    expect(findings.find(({ check }) => check === "connection")).toMatchObject({
      status: "fail",
      message: expect.stringContaining("the server answered 401"),
      remedy: expect.stringContaining("hermes memory setup remote"),
    });
    expect(doctor.stdout + doctor.stderr).not.toContain(KEY);

    const status = await runHermes(["memory", "status"], { home, env });
    expect(status.stdout).toMatch(/connection\n(.*\n)*? +.*the server answered 401/);
    remote.status = 200;
    expect((await runHermes(["doctor", "--network"], { home, env })).stdout).toContain("Remote 1.2 answers");
  });

  it.each([
    ["results=50", "The setting 'results' must be a whole number from 1 to 20."],
    ["mirror=perhaps", "The setting 'mirror' must be yes or no."],
  ])("refuses --set %s", async (pair, message) => {
    const home = homeWithRemote();
    const args = setupArgs("http://127.0.0.1:9/", "--set", `key=${KEY}`, "--set", pair);
    const { code, stderr } = await runHere(args, { home });
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe("an outbox that cannot be read", () => {
  const garbage = "this is not a database, and long enough to be none ".repeat(40);

  it.each([
    ["as it is", "memory_outbox.db"],
    ["moved aside", "memory_outbox.db.damaged-1763300000"],
  ])("%s, is named by status, doctor and what erases; the commands do their work", async (_state, name) => {
    const home = tempDirectory();
    const path = join(home, name);
    writeFileSync(path, garbage);
    writeFileSync(join(home, "config.yaml"), "memory:\n  provider: holographic\n");
    await runHere(["memory", "add", "The kiln is hot"], { home });
    expect((await runHere(["memory", "status"], { home })).stdout).toContain(path);
    expect(await jsonHere(["memory", "status"], { home })).toMatchObject({
      outbox: [],
      outbox_problems: [{ path }],
    });
    const { findings } = (await jsonHere(["doctor"], { home })) as { findings: Finding[] };
    expect(findings).toContainEqual({
      check: "outbox",
      status: "warn",
      message: expect.stringContaining(path),
      remedy: expect.any(String),
    });

    const forgot = await runHere(["memory", "forget", "The kiln is hot", "--yes"], { home });
    expect(forgot).toMatchObject({ code: 1, stdout: expect.stringContaining("The kiln is hot") });
    expect(forgot.stderr).toContain(`Not erased: ${path}. It may hold the text and was not searched.`);
    await using memory = await openMemory({ home });
    const { remaining } = await memory.owner.erase();
    expect(remaining).toEqual([expect.stringContaining(path)]);

    const off = await runHere(["memory", "off", "--json"], { home });
    expect(JSON.parse(off.stdout)).toMatchObject({ success: true, outbox: { waiting: 0, held: 0, dead: 0 } });
    expect(readFileSync(path, "utf8")).toBe(garbage);
  });
});

it("hermes memory outbox send waits for the server, although an earlier process was refused", async () => {
  const home = tempDirectory();
  const fake = await new FakeMem0().start();
  onTestFinished(() => fake.stop());
  writeFileSync(join(home, "config.yaml"), "memory:\n  provider: mem0\n");
  const env = { MEM0_HOST: fake.url, MEM0_API_KEY: KEY };
  fake.requireAuth("another key");
  expect((await runHermes(["memory", "add", "Likes tea"], { home, env })).stderr).toContain("401");
  fake.requireAuth(KEY);
  fake.delayNext(3_000); // longer than the end of a command waits
  const sent = await runHermes(["memory", "outbox", "send"], { home, env });
  expect(sent.stdout).toContain("Sent 1 write to 'mem0'.\n");
  expect(fake.memories("hermes-user")).toMatchObject([{ memory: "Likes tea" }]);
});
