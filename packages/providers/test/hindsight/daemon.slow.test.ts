// Mode local_embedded: the daemon is started through a program on the PATH, found again, restarted when its settings change or it is gone.
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import type { MemoryProvider } from "../../../core/src/providers/contract.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { hasProfileChanged, profilePort, writeProfile } from "../../src/hindsight/daemon.ts";
import { createHindsightProvider } from "../../src/hindsight/provider.ts";
import { call } from "./support.ts";

const OPTIONS = { session_id: "session-1" };
const LLM_KEY = "llm-key-1234567890";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

type Machine = {
  readonly home: string;
  readonly env: Record<string, string>;
  readonly profile: string;
  readonly commands: () => readonly (readonly string[])[];
  readonly open: (settings?: Record<string, string>) => Promise<MemoryProvider>;
};

/** A user's home with the program on the PATH. The profile names a free port, as an earlier start would have left it. */
async function machine({ program = "hindsight-embed" } = {}): Promise<Machine> {
  const [home, userHome] = [tempDirectory(), tempDirectory()];
  const bin = join(userHome, "bin");
  mkdirSync(bin);
  const script = join(import.meta.dirname, "embed-process.ts");
  const shift = program === "uvx" ? "shift\n" : "";
  writeFileSync(join(bin, program), `#!/bin/sh\n${shift}exec "${process.execPath}" "${script}" "$@"\n`);
  chmodSync(join(bin, program), 0o755);
  const profile = join(userHome, ".hindsight", "profiles", "hermes.env");
  mkdirSync(join(userHome, ".hindsight", "profiles"), { recursive: true });
  writeFileSync(profile, `HINDSIGHT_API_PORT=${await freePort()}\nTHEIRS=kept\n`);
  const log = join(userHome, "commands.log");
  writeFileSync(log, "");
  const env: Record<string, string> = {
    HOME: userHome,
    PATH: `${bin}:/usr/bin:/bin`,
    FAKE_EMBED_LOG: log,
    HINDSIGHT_LLM_API_KEY: LLM_KEY,
  };
  onTestFinished(async () => {
    const pid = join(userHome, ".hindsight", "profiles", "hermes.pid");
    if (existsSync(pid)) process.kill(Number(readFileSync(pid, "utf8")));
  });
  return {
    home,
    env,
    profile,
    commands: () =>
      readFileSync(log, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line)),
    async open(settings = {}) {
      const daemon = { startMs: 20_000, pollMs: 50, pauseMs: 0 };
      const provider = createHindsightProvider({
        home,
        env,
        times: { daemon },
        limits: { breakerFailures: 1_000 },
      });
      provider.saveConfig?.({ mode: "local_embedded", ...settings }, home);
      await provider.initialize("session-1", {
        hermes_home: home,
        platform: "cli",
        agent_context: "primary",
      });
      onTestFinished(async () => void (await provider.shutdown?.({})));
      return provider;
    },
  };
}

it("has a port by its name that no other profile has, and a profile file in which foreign keys stay", () => {
  const userHome = tempDirectory();
  const settings = (profile: string, llmModel = "m") => ({
    ...{ profile, llmModel, userHome, llmProvider: "groq", llmBaseUrl: "", llmApiKey: "k" },
    ...{ idleTimeoutS: 300, program: undefined },
  });
  const port = profilePort(settings("work"));
  expect(port).toBeGreaterThanOrEqual(8889);
  expect(port).toBeLessThan(9889);
  const directory = join(userHome, ".hindsight", "profiles");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "other.env"), `HINDSIGHT_API_PORT="${port}"\n`);
  const next = profilePort(settings("work"));
  expect(next).not.toBe(port);
  writeFileSync(
    join(directory, "work.env"),
    "THEIRS=kept\nHINDSIGHT_API_LLM_MODEL=old\nHINDSIGHT_API_LLM_BASE_URL=http://old\n",
    { mode: 0o644 },
  );
  expect(hasProfileChanged(settings("work"), next)).toBe(true);
  writeProfile(settings("work"), next);
  expect(hasProfileChanged(settings("work"), next)).toBe(false);
  expect(hasProfileChanged(settings("work", "another"), next)).toBe(true);
  expect(hasProfileChanged({ ...settings("work"), llmBaseUrl: "http://new" }, next)).toBe(true);
  expect(profilePort(settings("work"))).toBe(next);
  expect(readFileSync(join(directory, "work.env"), "utf8").split("\n").sort()).toEqual([
    "",
    "HINDSIGHT_API_LLM_API_KEY=k",
    "HINDSIGHT_API_LLM_MODEL=m",
    "HINDSIGHT_API_LLM_PROVIDER=groq",
    "HINDSIGHT_API_LOG_LEVEL=info",
    `HINDSIGHT_API_PORT=${next}`,
    "HINDSIGHT_EMBED_DAEMON_IDLE_TIMEOUT=300",
    "THEIRS=kept",
  ]);
  expect(statSync(join(directory, "work.env")).mode & 0o777).toBe(0o600);
});

const kinds = (commands: readonly (readonly string[])[]) =>
  commands.map(([area, , , last]) => (area === "profile" ? "create" : last));

it("starts the daemon with the profile of the settings, and the key is in no command line and no log", async () => {
  const { open, commands, profile, home } = await machine();
  const provider = await open({ llm_provider: "openrouter", idle_timeout: "0" });
  expect(await call(provider, "hindsight_retain", { content: "The kiln is hot" })).toEqual({
    result: "Memory stored successfully.",
  });
  expect(await call(provider, "hindsight_recall", { query: "kiln" })).toEqual({
    result: "1. The kiln is hot",
  });
  expect(kinds(commands())).toEqual(["create", "start"]);
  const text = readFileSync(profile, "utf8");
  const port = /^HINDSIGHT_API_PORT=(\d+)$/m.exec(text)?.[1] ?? "";
  expect(commands()[0]).toEqual([
    ...["profile", "create", "hermes", "--merge", "--port", port],
    ...["--env", "HINDSIGHT_API_LLM_PROVIDER=openai"],
    ...["--env", "HINDSIGHT_API_LLM_MODEL=qwen/qwen3.5-9b"],
    ...["--env", "HINDSIGHT_API_LLM_BASE_URL=https://openrouter.ai/api/v1"],
    ...["--env", "HINDSIGHT_API_LOG_LEVEL=info"],
    ...["--env", "HINDSIGHT_EMBED_DAEMON_IDLE_TIMEOUT=0"],
  ]);
  expect(text).toContain("THEIRS=kept\n");
  expect(text).toContain(`HINDSIGHT_API_LLM_API_KEY=${LLM_KEY}\n`);
  expect(statSync(profile).mode & 0o777).toBe(0o600);
  const log = join(home, "logs", "hindsight-embed.log");
  expect(readFileSync(log, "utf8")).toContain("daemon --profile hermes start");
  expect(readFileSync(log, "utf8")).not.toContain(LLM_KEY);
}, 60_000);

it("finds the running daemon, restarts it only for other settings, and starts it again when it is gone", async () => {
  const { open, commands, env } = await machine({ program: "uvx" });
  const first = await open();
  await call(first, "hindsight_recall", { query: "kiln" });
  await first.shutdown?.({});
  const second = await open();
  expect(await call(second, "hindsight_recall", { query: "kiln" })).toHaveProperty("result");
  await second.shutdown?.({});
  expect(kinds(commands())).toEqual(["create", "start"]);

  const third = await open({ llm_model: "another" });
  expect(await call(third, "hindsight_recall", { query: "kiln" })).toHaveProperty("result");
  expect(kinds(commands())).toEqual(["create", "start", "stop", "create", "start"]);

  process.kill(Number(readFileSync(join(env.HOME ?? "", ".hindsight", "profiles", "hermes.pid"), "utf8")));
  await sleep(100);
  expect(await call(third, "hindsight_recall", { query: "kiln" })).toHaveProperty("result");
  expect(kinds(commands()).slice(5)).toEqual(["start"]);
}, 60_000);

it("is started once for all connections of a process", async () => {
  const { open, commands } = await machine();
  const providers = await Promise.all([open(), open(), open()]);
  for (const provider of providers)
    expect(await call(provider, "hindsight_recall", { query: "kiln" })).toHaveProperty("result");
  expect(kinds(commands())).toEqual(["create", "start"]);
}, 60_000);

it("says what failed, and initialize does not wait for it", async () => {
  const { open, env, home } = await machine();
  env.FAKE_EMBED_FAILS = "start";
  const startedAt = performance.now();
  const provider = await open();
  expect(performance.now() - startedAt).toBeLessThan(1_000);
  await provider.syncTurn?.("one", "Noted.", OPTIONS);
  const { error } = await call(provider, "hindsight_recall", { query: "kiln" });
  expect(error).toContain("Failed to search memory: Hindsight cannot be reached: hindsight-embed daemon");
  expect(error).toContain("code 3");
  expect(error).toContain(join(home, "logs", "hindsight-embed.log"));
  expect(readFileSync(join(home, "logs", "hindsight-embed.log"), "utf8")).not.toContain(LLM_KEY);
}, 60_000);

it("is not started by a caller that only looks", async () => {
  const { env, home, commands } = await machine();
  const provider = createHindsightProvider({ home, env, times: { daemon: { pauseMs: 0 } } });
  provider.saveConfig?.({ mode: "local_embedded" }, home);
  await provider.initializeForInspection?.("s", { hermes_home: home, platform: "cli" });
  await expect(provider.checkConnection?.(AbortSignal.timeout(5_000))).rejects.toThrow(
    "A conversation starts it",
  );
  await provider.shutdown?.({});
  expect(commands()).toEqual([]);
}, 60_000);
