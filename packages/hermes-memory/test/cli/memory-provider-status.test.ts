import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BUNDLED_NAMES } from "../../../core/test/fakes/bundled-names.ts";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { writeBroken, writeTracing, writeVault } from "./memory-provider-plugins.ts";
import { type RunOutcome, runHere, runHermes } from "./run.ts";

type Status = {
  readonly provider: string | null;
  readonly provider_status: Record<string, unknown> | null;
  readonly providers: readonly Record<string, unknown>[];
  readonly provider_warnings: readonly string[];
};

function homeWith(config: string): string {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), config);
  return home;
}

/** In this process: no plugin code runs, and starting a child would take most of the time. */
function run(home: string, ...args: readonly string[]): Promise<RunOutcome> {
  return runHere(args, { home });
}

async function statusOf(home: string): Promise<Status> {
  return JSON.parse((await run(home, "memory", "status", "--json")).stdout) as Status;
}

async function providerFinding(home: string): Promise<Finding | undefined> {
  const { stdout } = await run(home, "doctor", "--json");
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return findings.find(({ check }) => check === "provider");
}

function writeHealth(home: string, name: string, health: object): void {
  mkdirSync(join(home, "provider-health"));
  writeFileSync(join(home, "provider-health", `${name}.json`), JSON.stringify(health));
}

describe("hermes memory status about providers", () => {
  it("lists them, with the settings that setup asks for", async () => {
    const home = homeWith("memory:\n  provider: ' None '\n");
    writeVault(home);
    const { provider, provider_status, providers, provider_warnings } = await statusOf(home);
    expect({ provider, provider_status, provider_warnings }).toEqual({
      provider: null,
      provider_status: null,
      provider_warnings: [],
    });
    expect(providers).toMatchObject([
      ...BUNDLED_NAMES.map((name) => ({
        name,
        source: "bundled",
        active: false,
        hint: expect.stringMatching(/API key|local/),
      })),
      { name: "vault", source: "user", active: false, hint: "Notes in a vault" },
    ]);
    expect((await run(home, "memory", "status")).stdout).toContain("byterover");
  });

  it("checks a bundled provider now", async () => {
    const home = homeWith("memory:\n  provider: holographic\n");
    expect((await statusOf(home)).provider_status).toMatchObject({
      name: "holographic",
      installed: true,
      source: "bundled",
      availability: { available: true },
      health: null,
    });
    expect(await providerFinding(home)).toMatchObject({ status: "ok" });
  });

  it("lists the variables that an unavailable bundled provider reads", async () => {
    const home = homeWith("memory:\n  provider: byterover\n");
    const env = { PATH: "", HOME: home };
    const { stdout, code } = await runHermes(["memory", "status"], { home, env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/brv/);
    expect(stdout).toContain("BRV_API_KEY");
    const { stdout: json } = await runHermes(["memory", "status", "--json"], { home, env });
    expect((JSON.parse(json) as Status).provider_status).toMatchObject({
      availability: { available: false },
      variables: expect.arrayContaining([
        expect.objectContaining({ variable: "BRV_API_KEY", is_set: false }),
      ]),
    });
  });

  it("names the variables that a user's plugin requires in its plugin.yaml, set or not, and runs no code", async () => {
    const home = homeWith("memory:\n  provider: tracing\n");
    const { hasRun } = writeTracing(home);
    writeFileSync(
      join(home, "plugins/tracing/plugin.yaml"),
      "name: tracing\nrequires_env:\n  - TRACING_ONE\n  - name: TRACING_TWO\n    url: https://example.org/keys\n  - not a name!\n",
    );
    writeFileSync(join(home, ".env"), "TRACING_ONE=there\n", { mode: 0o600 });
    expect((await statusOf(home)).provider_status).toMatchObject({
      variables: [
        { variable: "TRACING_ONE", is_set: true, required: true },
        { variable: "TRACING_TWO", is_set: false, required: true, url: "https://example.org/keys" },
      ],
    });
    const { stdout } = await run(home, "memory", "status");
    expect(stdout).toContain("https://example.org/keys");
    expect(stdout).not.toContain(" there");
    expect(hasRun()).toBe(false);
  });

  it("names the variables that only the plugin's setup asks for, once it has been run", async () => {
    const home = homeWith("memory:\n  provider: asking\n");
    mkdirSync(join(home, "plugins/asking"), { recursive: true });
    writeFileSync(
      join(home, "plugins/asking/index.js"),
      `export default class AskingMemoryProvider {
  name = "asking";
  isAvailable() { return false; }
  initialize() {}
  getToolSchemas() { return []; }
  getConfigSchema() {
    return [
      { key: "key", description: "", secret: true, env_var: "ASKING_KEY" },
      { key: "region", description: "", env_var: "ASKING_REGION" },
    ];
  }
}
`,
    );
    expect((await run(home, "memory", "test")).code).toBe(1);
    expect((await statusOf(home)).provider_status).toMatchObject({
      variables: [{ variable: "ASKING_KEY", is_set: false, required: true }],
    });
    expect((await run(home, "memory", "status")).stdout).toContain("ASKING_KEY");
  });

  it("runs no code of a plugin: neither status nor the list nor doctor", async () => {
    const home = homeWith("memory:\n  provider: tracing\n");
    const { hasRun } = writeTracing(home);
    const { stdout } = await run(home, "memory", "status");
    expect(stdout).toContain("'hermes memory test' checks whether it is available.");
    await run(home, "memory", "providers");
    expect(await providerFinding(home)).toMatchObject({ status: "ok" });
    expect(hasRun()).toBe(false);
    expect((await run(home, "memory", "test")).code).toBe(0);
    expect(hasRun()).toBe(true);
    expect((await statusOf(home)).provider_status).toMatchObject({
      availability: { available: true, checked_by: "test", checked_at: expect.any(String) },
    });
  });

  it("shows settings, but nothing that looks like a secret", async () => {
    const home = homeWith(
      "memory:\n  provider: vault\n  vault:\n    mode: cloud\n    api_key: topsecret1\n    max_tokens: 4096\n    keywords: tea\n    nested: { auth_token: topsecret2, url: 'https://u:topsecret3@h/' }\n    apiKeys: [topsecret5]\n    auth_header: topsecret6\n    api_key_2: topsecret7\n    client_secret_value: topsecret8\n",
    );
    writeVault(home);
    writeFileSync(join(home, "vault.json"), JSON.stringify({ owner: "Ada", password: "topsecret4" }));
    const { stdout } = await run(home, "memory", "status");
    const settings = (await statusOf(home)).provider_status?.settings;
    expect(settings).toMatchObject({
      mode: "cloud",
      owner: "Ada",
      max_tokens: 4096,
      keywords: "tea",
      api_key: "[hidden]",
      password: "[hidden]",
    });
    expect(stdout + JSON.stringify(settings)).not.toContain("topsecret");
  });

  it("shows what was counted, and the last error", async () => {
    const home = homeWith("memory:\n  provider: vault\n");
    writeVault(home);
    const counts = { calls: 12, failures: 2, timeouts: 1, skipped: 3, total_ms: 120, max_ms: 40.4 };
    writeHealth(home, "vault", {
      since: "2026-01-02T03:04:05.000Z",
      hooks: { prefetch: counts, syncTurn: { ...counts, calls: 0, skipped: 0 } },
      texts: { cut: 1, unfenced: 0, blocked: 2 },
      dropped_tasks: 4,
      stray_errors: 1,
      last_error: { hook: "prefetch", message: "no\nway \u001b[2J", at: "2026-01-02T03:04:05.000Z" },
      availability: {
        available: false,
        reason: "no key",
        checked_at: "2026-01-02T03:04:05.000Z",
        checked_by: "setup",
      },
    });
    const { stdout } = await run(home, "memory", "status");
    expect(stdout).toContain("no key");
    expect(stdout).toMatch(/prefetch +12 +2 +1 +3 +10 +40\n/);
    expect(stdout).not.toContain("syncTurn");
    expect(stdout).toMatch(/dropped tasks +4\n/);
    expect(stdout).toContain("way \\x1b[2J\n");
    expect((await statusOf(home)).provider_status?.health).toMatchObject({
      dropped_tasks: 4,
      hooks: { prefetch: counts },
    });
    expect(await providerFinding(home)).toMatchObject({
      status: "warn",
      message: expect.stringContaining("no key"),
      remedy: expect.stringContaining("hermes memory status"),
    });
  });

  it("remembers that a plugin failed to load, without loading it again", async () => {
    const home = homeWith("memory:\n  provider: broken\n");
    writeBroken(home);
    expect((await run(home, "memory", "test")).code).toBe(1);
    const { stdout } = await run(home, "memory", "status");
    expect(stdout).toContain("Loading 'broken' failed: ");
    expect(await providerFinding(home)).toMatchObject({ status: "warn" });
  });

  it("names no path outside the plugins directory", async () => {
    const { stdout } = await run(homeWith("memory:\n  provider: ../../elsewhere\n"), "memory", "status");
    expect(stdout).toContain("No provider can have this name; choose another with");
  });

  it("says where to put a missing provider, and goes on", async () => {
    const home = homeWith("memory:\n  provider: absent\n");
    writeBroken(home);
    const { stdout, stderr, code } = await run(home, "memory", "status");
    expect(code).toBe(0);
    expect(stdout).toContain(`Put it into ${join(home, "plugins", "absent")}`);
    expect(stderr).toContain("plugin.yaml");
    const list = await run(home, "memory", "providers");
    expect(list.stderr).toContain("memory.provider is 'absent', which is not installed.");
    expect(await providerFinding(home)).toMatchObject({
      status: "warn",
      remedy: expect.stringContaining("hermes memory setup"),
    });
  });

  it("lists a Python plugin with the reason why it cannot be used", async () => {
    const home = homeWith("memory:\n  provider: snake\n");
    writePlugin(home, "snake", { "__init__.py": "class Snake(MemoryProvider): pass\n" });
    const list = JSON.parse((await run(home, "memory", "providers", "--json")).stdout) as Status;
    expect(list.providers.at(-1)).toMatchObject({
      name: "snake",
      active: true,
      problem: expect.stringContaining("Python"),
    });
    expect((await run(home, "memory", "status")).stdout).toContain("Python");
    expect(await providerFinding(home)).toMatchObject({ status: "warn" });
    const setup = await run(home, "memory", "setup", "snake");
    expect({ code: setup.code, isSaid: setup.stderr.includes("Python") }).toEqual({ code: 1, isSaid: true });
  });
});

describe("hermes memory off", () => {
  it("switches the provider off, keeps the rest of the file, and can be repeated", async () => {
    const home = homeWith("# mine\nmemory:\n  provider: vault # kept\n");
    expect(JSON.parse((await run(home, "memory", "off", "--json")).stdout)).toMatchObject({
      previous: "vault",
      changed: true,
    });
    expect(JSON.parse((await run(home, "memory", "off", "--json")).stdout)).toMatchObject({
      previous: null,
      changed: false,
    });
    expect((await statusOf(home)).provider).toBe(null);
  });
});
