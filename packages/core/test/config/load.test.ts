import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_MEMORY_CONFIG, loadConfig, loadMemoryConfig } from "../../src/config/index.ts";
import { quickReadMemoryConfig } from "../../src/config/quick-read.ts";
import { tempHome } from "./support.ts";

async function loadText(text: string) {
  using temp = tempHome();
  temp.writeConfig(text);
  return { memory: await loadMemoryConfig(temp.home), config: await loadConfig(temp.home) };
}

async function loadMemory(text: string) {
  const { memory } = await loadText(text);
  if (!memory.ok) throw new Error(memory.error.message);
  return memory.value;
}

describe("loading config.yaml", () => {
  it("gives the defaults for a missing, empty or comment-only file and for an empty section", async () => {
    using temp = tempHome();
    expect(await loadMemoryConfig(temp.home)).toEqual({ ok: true, value: DEFAULT_MEMORY_CONFIG });
    expect(await loadConfig(temp.home)).toEqual({
      ok: true,
      value: {
        memory: DEFAULT_MEMORY_CONFIG,
        skills: {
          writeApproval: false,
          creationNudgeInterval: 10,
          externalDirs: [],
          disabled: [],
          platformDisabled: {},
          templateVars: true,
          allowSecrets: false,
        },
        curator: {
          enabled: true,
          intervalHours: 168,
          minIdleHours: 2,
          staleAfterDays: 30,
          archiveAfterDays: 90,
          backup: {},
          memory: true,
        },
        agent: {
          disabledToolsets: [],
          taskCompletionGuidance: true,
          toolUseEnforcement: "auto",
          maxTurns: 90,
          apiMaxRetries: 3,
          maxResultChars: 100_000,
        },
        approvals: { destructiveSlashConfirm: true },
        mcpServers: [],
        contextFileMaxChars: 20_000,
        timezone: "",
        delegation: {
          maxIterations: 250,
          maxConcurrentChildren: 10,
          maxSpawnDepth: 1,
          childTimeoutSeconds: 0,
        },
        display: { memoryNotifications: "on", showReasoning: false, busyInputMode: "steer", platforms: {} },
        logging: { memoryMonitor: { enabled: true, intervalSeconds: 300 } },
        gateway: {
          host: "127.0.0.1",
          port: 8642,
          mode: "agent",
          allowedHosts: [],
          corsOrigins: [],
          maxBodyBytes: 33_554_432,
          maxApiBodyBytes: 2_097_152,
          maxHeldBytes: 134_217_728,
          maxMessages: 10_000,
          requestsPerMinute: 600,
          megabytesPerMinute: 120,
          messagesPerMinute: 60_000,
          tokenShare: 10,
          concurrentRequests: 64,
          maxLiveAgents: 128,
          idleAgentSeconds: 3_600,
          recall: true,
          recallTraceDays: 30,
          proxyTools: "auto",
          forwardCredentials: true,
          jwtSecret: "",
          jwtAudience: "",
          jwtMaxAgeHours: 24,
          userFields: [],
          userRequestsPerDay: 0,
          userTokensPerDay: 0,
          userCostPerDay: 0,
          maxUsers: 1_000,
          identityProfiles: {},
        },
        sessionReset: { mode: "both", atHour: 4, idleMinutes: 1_440, notify: true },
        sessions: {
          autoPrune: false,
          retentionDays: 90,
          vacuumAfterPrune: true,
          minIntervalHours: 24,
          writeJsonSnapshots: false,
          orphanFileDays: 30,
        },
        sessionSearch: {
          summarize: "off",
          summaryTimeout: 90,
          crossProfile: true,
          maxMessageChars: 0,
          maxResultChars: 60_000,
        },
        auxiliary: {
          sessionSearch: {
            provider: "auto",
            model: "",
            baseUrl: "",
            apiKey: "",
            timeout: 30,
            extraBody: {},
            maxConcurrency: 3,
          },
          compression: {
            provider: "auto",
            model: "",
            baseUrl: "",
            apiKey: "",
            apiMode: "",
            timeout: 120,
            extraBody: {},
          },
          titleGeneration: {
            provider: "auto",
            model: "",
            baseUrl: "",
            apiKey: "",
            timeout: 30,
            extraBody: {},
          },
          curator: {
            provider: "auto",
            model: "",
            baseUrl: "",
            apiKey: "",
            timeout: 120,
            extraBody: {},
          },
        },
        context: {
          engine: "compressor",
          lcm: { leafTokens: 6000, leafSummaryTokens: 600, fanout: 6, maxDepth: 8 },
        },
        compression: {
          enabled: true,
          threshold: 0.5,
          targetRatio: 0.2,
          protectFirstN: 3,
          protectLastN: 20,
          abortOnSummaryFailure: false,
          checkpointRequired: false,
          hygieneHardMessageLimit: 5000,
          hygieneThreshold: 0.85,
        },
        onboarding: { seen: { openclawResidueCleanup: false } },
        promptCaching: { cacheTtl: "5m" },
        model: { default: "", provider: "", baseUrl: "", apiKey: "", apiMode: "", probeRemote: false },
        models: { prices: {}, customProviders: [] },
        raw: {},
      },
    });
    for (const text of ["", "# nothing\n", "memory:\n", "memory: null\n", "memory: {}\n", "other: 1\n"])
      expect(await loadMemory(text)).toEqual(DEFAULT_MEMORY_CONFIG);
  });

  it("reads every key of the memory section", async () => {
    const text = `# my settings
model: some-model
memory:
  memory_enabled: false
  user_profile_enabled: false   # not now
  memory_char_limit: 4000
  user_char_limit: 0
  write_approval: true
  provider: holographic
  nudge_interval: 0
  flush_min_turns: 6
  overflow: "archive"
  scan_allow:
    - hermes_env
    - ssh_access
  allow_secrets: true
  history_max_bytes: 65536
  history_keep: 1
  lock_timeout_seconds: 600
  recall_max_chars: 100
  prefetch_timeout_s: 0
  prefetch_max_age_turns: 1
  mirror_remove: false
  refresh_on_resume: true
`;
    const expected = {
      ...DEFAULT_MEMORY_CONFIG, // keys of later versions; every-key.test.ts tries each
      memoryEnabled: false,
      userProfileEnabled: false,
      memoryCharLimit: 4000,
      userCharLimit: 0,
      writeApproval: true,
      provider: "holographic",
      nudgeInterval: 0,
      overflow: "archive",
      scanAllow: ["hermes_env", "ssh_access"],
      allowSecrets: true,
      historyMaxBytes: 65_536,
      historyKeep: 1,
      lockTimeoutSeconds: 600,
      recallMaxChars: 100,
      prefetchTimeoutS: 0,
      prefetchMaxAgeTurns: 1,
      mirrorRemove: false,
      refreshOnResume: true,
    };
    expect(quickReadMemoryConfig(text)).toEqual(expected);
    const { memory, config } = await loadText(text);
    expect(memory).toEqual({ ok: true, value: expected });
    expect(config).toMatchObject({ ok: true, value: { memory: expected, raw: { model: "some-model" } } });
  });

  it("reads the other sections", async () => {
    const { config } = await loadText(`context_file_max_chars: 100
skills: {write_approval: approve}
agent: {disabled_toolsets: [memory], task_completion_guidance: no, tool_use_enforcement: [gpt, Qwen]}
timezone: Europe/Vienna
display:
  memory_notifications: off
  platforms:
    telegram: {memory_notifications: verbose, colour: red}
    slack:
logging: {memory_monitor: {enabled: no, interval_seconds: 0.5}}
`);
    expect(config).toMatchObject({
      ok: true,
      value: {
        contextFileMaxChars: 100,
        skills: { writeApproval: true },
        agent: {
          disabledToolsets: ["memory"],
          taskCompletionGuidance: false,
          toolUseEnforcement: ["gpt", "Qwen"],
        },
        timezone: "Europe/Vienna",
        display: {
          memoryNotifications: "off",
          platforms: { telegram: { memoryNotifications: "verbose" }, slack: {} },
        },
        logging: { memoryMonitor: { enabled: false, intervalSeconds: 0.5 } },
      },
    });
  });

  it.each([
    ["true", true],
    ["'off'", false],
    ["Auto", "auto"],
    ["[]", []],
    ["", "auto"],
  ])("reads agent.tool_use_enforcement: %s", async (written, expected) => {
    const { config } = await loadText(`agent:\n  tool_use_enforcement: ${written}\n`);
    expect(config.ok && config.value.agent.toolUseEnforcement).toEqual(expected);
  });

  it("takes the boolean words of YAML 1.1, merge keys and fractions of a second", async () => {
    const memory = await loadMemory(`base: &base
  memory_enabled: off
  lock_timeout_seconds: 0.25
memory:
  <<: *base
  user_profile_enabled: Yes
`);
    expect(memory).toMatchObject({
      memoryEnabled: false,
      userProfileEnabled: true,
      lockTimeoutSeconds: 0.25,
    });
  });

  it("counts a key without a value as not set", async () => {
    expect(await loadMemory("memory:\n  memory_char_limit:\n  provider: ~\n  scan_allow: null\n")).toEqual(
      DEFAULT_MEMORY_CONFIG,
    );
  });

  it("switches write_approval on by true and the known words, and by nothing else", async () => {
    for (const on of ["true", "on", '" YES "', '"1"', "approve", "Enabled"])
      expect((await loadMemory(`memory: {write_approval: ${on}}`)).writeApproval, on).toBe(true);
    for (const off of ["false", "off", "1", "2", "maybe", '""', "[true]", "null"])
      expect((await loadMemory(`memory: {write_approval: ${off}}`)).writeApproval, off).toBe(false);
  });

  it("keeps the gate of a file from before write_approval", async () => {
    expect((await loadMemory("memory:\n  write_mode: approve\n")).writeApproval).toBe(true);
    expect((await loadMemory("memory:\n  write_mode: direct\n")).writeApproval).toBe(false);
    expect(
      (await loadMemory("memory:\n  write_mode: approve\n  write_approval: false\n")).writeApproval,
    ).toBe(false);
  });

  it("lets a mistake in another section not stop memory", async () => {
    const { memory, config } = await loadText("context_file_max_chars: lots\nmemory:\n  provider: mem0\n");
    expect(memory).toMatchObject({ ok: true, value: { provider: "mem0" } });
    expect(config).toMatchObject({ ok: false, error: { kind: "invalid" } });
  });
});

describe("a config that cannot be used", () => {
  it("names the key, what was found, what is allowed and the line", async () => {
    const { memory } = await loadText("memory:\n  # size\n  memory_char_limit: lots\n");
    expect(memory).toMatchObject({
      ok: false,
      error: {
        kind: "invalid",
        message: 'config.yaml: memory.memory_char_limit must be a whole number of at least 0, but is "lots".',
        issues: [{ key: "memory.memory_char_limit", line: 3 }],
      },
    });
  });

  it.each([
    ["memory: 5", "memory must be a section with keys of its own, but is 5"],
    ["memory: {memory_enabled: maybe}", 'memory.memory_enabled must be true or false, but is "maybe"'],
    [
      "memory: {memory_char_limit: -1}",
      "memory.memory_char_limit must be a whole number of at least 0, but is -1",
    ],
    [
      "memory: {user_char_limit: 1.5}",
      "memory.user_char_limit must be a whole number of at least 0, but is 1.5",
    ],
    ["memory: {memory_char_limit: .inf}", "memory.memory_char_limit must be a whole number"],
    [
      "memory: {history_max_bytes: 10}",
      "memory.history_max_bytes must be a whole number of at least 65536, but is 10",
    ],
    ["memory: {history_keep: 0}", "memory.history_keep must be a whole number of at least 1, but is 0"],
    [
      "memory: {lock_timeout_seconds: 0}",
      "memory.lock_timeout_seconds must be a number above 0 and at most 600, but is 0",
    ],
    ["memory: {lock_timeout_seconds: 601}", "at most 600, but is 601"],
    ["memory: {overflow: drop}", 'memory.overflow must be refuse or archive, but is "drop"'],
    ["memory: {scan_allow: hermes_env}", "memory.scan_allow must be a list of threat ids"],
    ["memory: {scan_allow: [1]}", "memory.scan_allow.0 must be a list of threat ids"],
    ["memory: {provider: [a]}", "memory.provider must be a provider's name"],
    [
      "display: {memory_notifications: loud}",
      'display.memory_notifications must be off, on or verbose, but is "loud"',
    ],
    [
      "display: {platforms: {x: {memory_notifications: 3}}}",
      "display.platforms.x.memory_notifications must be off, on",
    ],
    [
      "logging: {memory_monitor: {interval_seconds: 0}}",
      "logging.memory_monitor.interval_seconds must be a number above 0",
    ],
    [
      "session_search: {summarize: sometimes}",
      'session_search.summarize must be off, on_request or always, but is "sometimes"',
    ],
    [
      "session_search: {max_result_chars: 10}",
      "session_search.max_result_chars must be a whole number of at least 1000, but is 10",
    ],
    ["session_search: {summary_timeout: 0}", "session_search.summary_timeout must be a number above 0"],
    [
      "auxiliary: {session_search: {timeout: soon}}",
      'auxiliary.session_search.timeout must be a number above 0, but is "soon"',
    ],
    [
      "auxiliary: {session_search: {extra_body: 5}}",
      "auxiliary.session_search.extra_body must be a section with keys of its own, but is 5",
    ],
    ["auxiliary: {session_search: []}", "auxiliary.session_search must be a section with keys of its own"],
    [
      "agent: {tool_use_enforcement: sometimes}",
      'agent.tool_use_enforcement must be auto, true, false or a list of parts of model names, such as [gpt, qwen], but is "sometimes"',
    ],
    ["context_file_max_chars: 0", "context_file_max_chars must be a whole number of at least 1, but is 0"],
    ["- a\n- b", "must hold keys and values"],
    ["just text", 'must hold keys and values, but is "just text"'],
  ])("refuses %s", async (text, message) => {
    const { config } = await loadText(text);
    expect(config).toMatchObject({ ok: false, error: { kind: "invalid" } });
    expect(!config.ok && config.error.message).toContain(message);
  });

  it("tells the line of broken YAML without repeating the file's content", async () => {
    const { memory } = await loadText('memory:\n  provider: mem0\n  api_key: "sk-planted\nnext: [1\n');
    expect(memory).toMatchObject({ ok: false, error: { kind: "syntax" } });
    if (memory.ok) return;
    expect(memory.error.issues[0]?.line).toBeGreaterThan(2);
    expect(memory.error.message).toMatch(/^config\.yaml: line \d+: /);
    expect(memory.error.message).not.toContain("planted");
  });

  it("refuses duplicate keys, tabs, several documents and alias bombs as syntax", async () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefgh"
      .split("")
      .map((name, i) => `${name}: &${name} [${Array(9).fill(`*${"abcdefg"[i]}`).join(",")}]`)
      .join("\n")}\n`;
    for (const text of [
      "memory:\n  provider: a\n  provider: b\n",
      "memory:\n\tprovider: a\n",
      "a: 1\n---\nb: 2\n",
      bomb,
    ]) {
      const { memory } = await loadText(text);
      expect(memory, text.slice(0, 30)).toMatchObject({ ok: false, error: { kind: "syntax" } });
    }
  });

  it("is unreadable as a directory or as bytes that are no text", async () => {
    using temp = tempHome();
    mkdirSync(temp.configFile);
    for (const outcome of [await loadMemoryConfig(temp.home), await loadConfig(temp.home)])
      expect(outcome).toMatchObject({ ok: false, error: { kind: "unreadable", path: temp.configFile } });
    using other = tempHome();
    other.writeConfig(Uint8Array.of(0x61, 0x3a, 0x20, 0xff));
    const outcome = await loadMemoryConfig(other.home);
    expect(!outcome.ok && outcome.error.message).toContain("UTF-8");
  });

  // Root may read everything, so there is nothing to see then.
  it.skipIf(process.getuid?.() === 0)("is unreadable without permission", async () => {
    using temp = tempHome();
    temp.writeConfig("memory: {}\n");
    chmodSync(temp.configFile, 0o000);
    expect(await loadMemoryConfig(temp.home)).toMatchObject({ error: { kind: "unreadable" } });
  });
});

describe("start-up", () => {
  it("loads no YAML library for the door and an ordinary config", () => {
    using temp = tempHome();
    temp.writeConfig("memory:\n  provider: mem0 # one\n  scan_allow: [a, b]\nlist:\n- name: x\n  y: 1\n");
    const door = join(import.meta.dirname, "../../src/config/index.ts");
    const script = `
      import { registerHooks } from "node:module";
      registerHooks({ load(url, context, next) {
        if (/node_modules\\/yaml\\//.test(url)) console.log("LOADED " + url);
        return next(url, context);
      }});
      const { loadMemoryConfig, loadConfig } = await import(${JSON.stringify(door)});
      const quick = await loadMemoryConfig(${JSON.stringify(temp.home)});
      console.log(quick.ok && quick.value.provider);
      if (process.argv[1] === "full") await loadConfig(${JSON.stringify(temp.home)});
    `;
    const run = (...args: string[]) =>
      execFileSync(process.execPath, ["--input-type=module", "-e", script, ...args], { encoding: "utf8" });
    expect(run().trim()).toBe("mem0");
    expect(run("full")).toContain("LOADED"); // the hook does notice them
  });
});
