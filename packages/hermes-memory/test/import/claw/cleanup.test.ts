// `hermes claw cleanup`, the check for running programs, and the transcripts of a plan.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "@hermes-memory/core/internal/config";
import { MemoryStore } from "@hermes-memory/core/internal/curated";
import { ok } from "@hermes-memory/core/internal/lib";
import { openHome } from "@hermes-memory/core/internal/memory";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import { applyPlan } from "../../../../import/src/openclaw/apply.ts";
import { selectOptions } from "../../../../import/src/openclaw/options.ts";
import { planMigration } from "../../../../import/src/openclaw/plan.ts";
import type { ImportSessions } from "../../../../import/src/openclaw/plan-context.ts";
import { connectedPlatforms, openClawProcesses } from "../../../../import/src/openclaw/processes.ts";
import type { Report } from "../../../../import/src/openclaw/report.ts";
import { makeSource, treeOf } from "../../../../import/test/openclaw/source-folder.ts";
import { residueHint } from "../../../src/cli/claw/first-run.ts";
import { type PlayedOptions, runHere } from "../../cli/run.ts";

type Place = { readonly userHome: string; readonly home: string; readonly source: string };

function place(): Place {
  const userHome = tempDirectory();
  return { userHome, home: join(userHome, ".hermes"), source: makeSource(userHome) };
}

function claw(at: Place, words: readonly string[], options: Partial<PlayedOptions> = {}) {
  return runHere(["claw", ...words], { home: at.home, ...options, env: { HOME: at.userHome } });
}

describe("hermes claw cleanup", () => {
  it("refuses a folder that was not migrated, unless it is forced", async () => {
    const at = place();
    const before = treeOf(at.userHome);
    expect(await claw(at, ["cleanup", "--yes"])).toMatchObject({
      code: 3,
      stdout: expect.stringContaining("--force"),
    });
    expect(treeOf(at.userHome)).toEqual(before);
    expect((await claw(at, ["cleanup", "--yes", "--force"])).code).toBe(0);
    expect(existsSync(`${at.source}.pre-migration`)).toBe(true);
  });

  it("renames after a migration, asks first, and finds another name where one is taken", async () => {
    const at = place();
    await claw(at, ["migrate", "--yes", "--no-backup"]);
    const shown = await claw(at, ["cleanup", "--dry-run"]);
    expect(shown.stdout).toMatch(/\.openclaw +\S+\.openclaw\.pre-migration +would-rename\n/);
    expect(shown.stderr).not.toContain("has conversations that no migration imported");
    expect(await claw(at, ["cleanup"])).toMatchObject({ code: 3, stdout: expect.stringContaining("--yes") });
    expect(await claw(at, ["clean"], { answers: [false] })).toMatchObject({ code: 3 });
    expect(existsSync(at.source)).toBe(true);
    mkdirSync(`${at.source}.pre-migration`);
    const inside = Object.keys(treeOf(at.source));
    const done = await claw(at, ["clean"], { answers: [true] });
    expect(done).toMatchObject({ code: 0, questions: [expect.stringContaining("OpenClaw stops working")] });
    const [renamed = ""] = readdirSync(at.userHome).filter((name) => /pre-migration-\d{8}$/.test(name));
    expect(Object.keys(treeOf(join(at.userHome, renamed)))).toEqual(inside);
    expect((await claw(at, ["cleanup"])).stdout).toBe("There is no OpenClaw folder to clean up.\n");
  });

  it("renames several folders, each with its own outcome", async () => {
    const at = place();
    mkdirSync(join(at.userHome, ".clawdbot"));
    const { stdout } = await claw(at, ["cleanup", "--yes", "--force", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ folders: [{ outcome: "renamed" }, { outcome: "renamed" }] });
    expect((await claw(at, ["cleanup", "--source", "~/nothing"])).code).toBe(1);
  });
});

describe("running programs", () => {
  const listing = [
    "  100     1 /sbin/init",
    "  200   100 node /usr/lib/node_modules/openclaw/dist/entry.js gateway --token hidden",
    "  300   100 vim /home/ana/.openclaw/openclaw.json",
    "  400   100 openclaw-gateway",
    "  500   100 node /home/ana/bin/hermes claw migrate --source /home/ana/openclaw",
    "  600   500 /opt/openclaw/bin/openclaw status",
    "  700   100 grep -r openclaw .",
  ].join("\n");

  it("on Linux and macOS: the program counts, not an argument; our own family does not", async () => {
    const run = async (command: string) => (command === "ps" ? listing : undefined);
    const found = await openClawProcesses({ platform: "darwin", pid: 500, run });
    expect(found).toEqual(["process 200 (node)", "process 400 (openclaw-gateway)"]);
    expect(await openClawProcesses({ platform: "linux", pid: 1, run: async () => undefined })).toEqual([]);
  });

  it("on Windows: by the name of the program, or the script of node", async () => {
    const windows = [
      "41 4 clawd.exe ",
      '42 4 node.exe "C:\\Users\\Ana K\\npm\\node_modules\\openclaw\\entry.js" gateway',
      "43 4 Code.exe C:\\Users\\Ana\\.openclaw\\openclaw.json",
    ].join("\r\n");
    const run = async (command: string) => (command === "powershell" ? windows : undefined);
    expect(await openClawProcesses({ platform: "win32", pid: 1, run })).toEqual([
      "process 41 (clawd.exe)",
      "process 42 (node.exe)",
    ]);
  });

  it("a gateway counts when it lives and is connected", () => {
    const home = tempDirectory();
    expect(connectedPlatforms(home)).toEqual([]);
    writeFileSync(join(home, "gateway.pid"), '{"pid": 77}');
    const platforms = { telegram: { state: "connected" }, slack: { state: "failed" } };
    writeFileSync(join(home, "gateway_state.json"), JSON.stringify({ platforms }));
    expect(connectedPlatforms(home, (pid) => pid === 77)).toEqual(["telegram"]);
    expect(connectedPlatforms(home, () => false)).toEqual([]);
  });

  it("a running OpenClaw: migrate asks and goes on with --yes, cleanup stops without a terminal", async () => {
    const at = place();
    const script = join(at.userHome, "openclaw", "gateway.mjs");
    mkdirSync(join(script, ".."));
    writeFileSync(script, "setInterval(() => {}, 1000);");
    // Through a shell that ends, so that it does not belong to the family of this process.
    const words = ["-c", '"$0" "$1" >/dev/null 2>&1 & echo $!', process.execPath, script];
    const pid = Number(execFileSync("sh", words, { encoding: "utf8" }));
    onTestFinished(() => void process.kill(pid, "SIGKILL"));
    const asked = await claw(at, ["migrate"], { answers: [false] });
    expect(asked).toMatchObject({ code: 0, questions: ["Go on anyway?"] });
    expect(asked.stderr).toContain(`OpenClaw is running (process ${pid} (node))`);
    expect((await claw(at, ["migrate", "--yes", "--include", "memory"])).code).toBe(0);
    expect(await claw(at, ["cleanup"])).toMatchObject({
      code: 3,
      stdout: expect.stringContaining("Stop it first"),
    });
    expect(existsSync(at.source)).toBe(true);
  });
});

describe("the offer of the first setup", () => {
  it("brings memory over with the questions of migrate, and keys only after a yes of their own", async () => {
    const at = place();
    const env = { HOME: at.userHome, OLLAMA_HOST: "127.0.0.1:9" };
    const done = await runHere(["setup"], { home: at.home, env, answers: [true, false, true] });
    expect(done.questions.slice(0, 3)).toEqual([
      "See what can be brought over from it?",
      "Bring over its API keys and tokens too?",
      "Migrate this?",
    ]);
    expect(readdirSync(at.home)).toContain("SOUL.md");
    expect(existsSync(join(at.home, ".env"))).toBe(false);
  });
});

describe("the hint at the start of a chat", () => {
  it("is shown once, on a terminal, where there is an OpenClaw folder", async () => {
    const at = place();
    const hint = async (isInteractive: boolean, userHome: string): Promise<string | undefined> => {
      await using memory = openHome({ home: at.home });
      const home = { home: at.home, root: at.home, profile: "default" };
      return await residueHint({ io: { env: { HOME: userHome }, isInteractive }, home, memory });
    };
    expect(await hint(false, at.userHome)).toBeUndefined();
    expect(await hint(true, tempDirectory())).toBeUndefined();
    expect(existsSync(at.home)).toBe(false);
    expect(await hint(true, at.userHome)).toContain("hermes claw cleanup");
    expect(await hint(true, at.userHome)).toBeUndefined();
  });
});

describe("the transcripts of a plan", () => {
  it("one item for each agent, imported once", async () => {
    const at = place();
    const store = new MemoryStore({ dir: join(at.home, "memories") });
    const calls: { paths: readonly string[]; isDryRun: boolean }[] = [];
    let isImported = false;
    const importSessions: ImportSessions = async (paths, { isDryRun }) => {
      calls.push({ paths, isDryRun });
      const count = isImported || paths[0]?.endsWith("research") ? 0 : 2;
      if (!isDryRun) isImported = true;
      const none = { sessions_updated: 0, unchanged: 1, malformed_lines: 0, errors: [] };
      return ok({ files: 1, sessions_added: count, messages_added: count * 3, ...none });
    };
    const selection = selectOptions({ include: ["sessions"] });
    const config = await loadConfig(at.home);
    if (!selection.ok || !config.ok) throw new Error("unexpected");
    const request = {
      sourceRoot: at.source,
      home: at.home,
      selection: selection.value,
      isOverwriting: false,
      withSecrets: false,
      skillConflict: "skip",
      isRebranding: true,
      parser: "compat",
    } as const;
    const deps = {
      env: {},
      userHome: at.userHome,
      store,
      config: config.value,
      importSessions,
      now: new Date(),
    };
    const plan = await planMigration(request, deps);
    const sessions = plan.items.map(({ item }) => item).filter(({ kind }) => kind === "sessions");
    expect(sessions).toMatchObject([
      { status: "migrated", details: { agent: "main", sessions_added: 2, messages_added: 6 } },
      { status: "skipped", reason: "No new messages to import", details: { agent: "research" } },
    ]);
    await applyPlan(plan, { store, importSessions });
    expect(calls.filter(({ isDryRun }) => !isDryRun)).toEqual([
      { paths: [join(at.source, "agents/main")], isDryRun: false },
    ]);
    const again = await planMigration(request, deps);
    expect(again.items.every(({ operation }) => operation === undefined)).toBe(true);
    expect(existsSync(at.home)).toBe(false);
  });
});

describe("the selection", () => {
  it("include, exclude, presets, mixed case", () => {
    const selected = (asked: Parameters<typeof selectOptions>[0]): number | string => {
      const selection = selectOptions(asked);
      return selection.ok ? selection.value.selected.size : selection.error;
    };
    expect(selected({})).toBe(15);
    expect(selected({ preset: "full" })).toBe(15);
    expect(selected({ preset: "user-data", include: ["soul"] })).toBe(13);
    expect(selected({ include: [" Soul,, MEMORY ", "all"] })).toBe(15);
    expect(selected({ include: [" Soul,, MEMORY "], exclude: ["memory"] })).toBe(1);
    expect(selected({ exclude: ["ALL"] })).toBe(0);
    expect(selected({ include: ["x"] })).toContain("daily-memory");
  });

  it("takes the ids of Hermes' own migration that only archive: they stand for the archive, and the report says so", async () => {
    const ids = [
      ...["messaging-settings", "discord-settings", "slack-settings", "whatsapp-settings", "signal-settings"],
      ...["tts-config", "command-allowlist", "tts-assets", "mcp-servers", "plugins-config", "cron-jobs"],
      ...["hooks-config", "gateway-config", "deep-channels", "browser-config", "tools-config"],
      ...["approvals-config", "memory-backend", "skills-config", "ui-identity", "logging-config"],
    ];
    for (const id of ids)
      expect(selectOptions({ include: [id] }), id).toMatchObject({
        value: { selected: new Set(["archive"]), partsOfArchive: [id] },
      });
    const words = ["migrate", "--dry-run", "--json", "--exclude", "cron-jobs,sessions"];
    const { items, warnings } = JSON.parse((await claw(place(), words)).stdout) as Report;
    expect(items.find(({ kind }) => kind === "archive")?.reason).toBe("Not selected for this run");
    expect(warnings).toContain("'cron-jobs' is part of 'archive', which is kept or left out as a whole.");
  });
});
