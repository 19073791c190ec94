import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { writeTracing, writeVault } from "./memory-provider-plugins.ts";
import { type RunOutcome, runHere } from "./run.ts";

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

describe("hermes memory status about providers", () => {
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

  it("runs no code of a plugin: neither status nor the list nor doctor", async () => {
    const home = homeWith("memory:\n  provider: tracing\n");
    const { hasRun } = writeTracing(home);
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
});

it("setup of a bundled provider writes config.yaml and nothing else into an empty home", async () => {
  const home = tempDirectory();
  expect((await run(home, "memory", "setup", "holographic", "--yes")).code).toBe(0);
  expect(readdirSync(home)).toEqual(["config.yaml"]);
});
