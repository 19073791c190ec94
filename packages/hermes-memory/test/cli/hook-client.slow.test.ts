// Acts as Claude Code: reads the commands that `hermes mcp install --hooks` left in its settings and runs them as that program does.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { NODE_COMPILE_CACHE } from "../../../core/test/fakes/compile-cache.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHermes } from "./run.ts";

const SETTINGS = `{
  "permissions": { "allow": ["Bash(npm test:*)"] },
  "hooks": {
    "Stop": [
      { "hooks": [{ "type": "command", "command": "printf '{}'" }] }
    ],
    "PostToolUse": [
      { "matcher": "Edit|Write", "hooks": [{ "type": "command", "command": "npx biome format", "timeout": 30 }] }
    ]
  }
}
`;

type Group = { readonly matcher?: string; readonly hooks: readonly { readonly command: string }[] };

/** A user's machine with Claude Code's folder on it; the home has a space in its path. */
class Machine {
  readonly user = tempDirectory();
  readonly home = join(this.user, "my hermes");
  readonly settings = join(this.user, ".claude", "settings.json");
  readonly transcript = join(this.user, ".claude", "projects", "-home-ana-project", "5e551.jsonl");
  readonly env = { HOME: this.user, USERPROFILE: this.user, CLAUDE_CONFIG_DIR: "", HERMES_MEMORY_HOOK: "" };

  constructor() {
    mkdirSync(this.home);
    mkdirSync(join(this.transcript, ".."), { recursive: true });
    writeFileSync(this.settings, SETTINGS);
    // What our hook injected may come back in the text of the user.
    this.say(
      "user",
      "a1",
      "<memory-context>\nThe harbour crane is blue\n</memory-context>\nWhere is the ferry pier?",
    );
    this.say("assistant", "a2", "Behind the old lighthouse.");
  }

  say(role: "user" | "assistant", uuid: string, text: string): void {
    const line = {
      ...{
        type: role,
        uuid,
        parentUuid: role === "user" ? null : "a1",
        sessionId: "5e551",
        version: "2.1.0",
      },
      ...{ cwd: "/home/ana/project", timestamp: `2026-09-01T10:00:0${uuid.at(-1)}.000Z`, isSidechain: false },
      message: { role, content: role === "user" ? text : [{ type: "text", text }] },
    };
    appendFileSync(this.transcript, `${JSON.stringify(line)}\n`);
  }

  hermes(...args: readonly string[]) {
    return runHermes(args, { home: this.home, env: this.env, cwd: this.user });
  }

  /** All hooks of an event whose matcher fits, each through a shell, with the fields that Claude Code sends. */
  async fire(event: string, extra: Readonly<Record<string, unknown>>): Promise<readonly Ran[]> {
    const groups: readonly Group[] = JSON.parse(readFileSync(this.settings, "utf8")).hooks[event] ?? [];
    const subject = String(extra.source ?? "");
    const commands = groups
      .filter(({ matcher }) => matcher === undefined || new RegExp(`^(?:${matcher})$`).test(subject))
      .flatMap(({ hooks }) => hooks.map(({ command }) => command));
    const payload = JSON.stringify({
      session_id: "5e551",
      transcript_path: this.transcript,
      cwd: "/home/ana/project",
      hook_event_name: event,
      permission_mode: "default",
      ...extra,
    });
    const ran: Ran[] = [];
    for (const command of commands) ran.push(await this.#run(command, payload));
    return ran;
  }

  #run(command: string, payload: string): Promise<Ran> {
    return new Promise((resolve, reject) => {
      // No HERMES_HOME: clients pass their own environment, in which it need not be.
      const env = { PATH: process.env.PATH, HOME: this.user, NODE_COMPILE_CACHE };
      const child = spawn("sh", ["-c", command], { env, stdio: "pipe" });
      let [stdout, stderr] = ["", ""];
      child.stdout.on("data", (part) => (stdout += part));
      child.stderr.on("data", (part) => (stderr += part));
      child.on("error", reject);
      child.on("close", (code) => resolve({ command, stdout, stderr, code }));
      child.stdin.on("error", () => {});
      child.stdin.write(payload); // and left open
    });
  }

  async untilImported(): Promise<void> {
    const folder = join(this.home, "capture");
    for (let waited = 0; waited < 30_000; waited += 100) {
      const names = readdirSync(folder).filter((name) => !name.endsWith(".started"));
      if (names.length === 0) return;
      await sleep(100);
    }
    throw new Error("the worker did not end");
  }
}

type Ran = {
  readonly command: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
};

describe("Claude Code with our hooks", () => {
  it("gets the memory, hands over its transcripts, and is as before after the removal", async () => {
    const machine = new Machine();
    await machine.hermes("memory", "add", "The harbour crane is blue");
    const preview = await machine.hermes("mcp", "install", "--client", "claude-code", "--hooks", "--dry-run");
    expect(preview.stdout).toContain("+          ");
    expect(preview.stdout).toContain("hook --home");
    expect(readFileSync(machine.settings, "utf8")).toBe(SETTINGS);

    const installed = await machine.hermes("mcp", "install", "--client", "claude-code", "--hooks");
    expect(installed).toMatchObject({ code: 0, stdout: expect.stringContaining("Added the hooks to") });
    const text = readFileSync(machine.settings, "utf8");
    const again = await machine.hermes("mcp", "install", "--client", "claude-code", "--hooks", "--json");
    expect(JSON.parse(again.stdout)).toMatchObject({ action: "unchanged", hooks: { action: "unchanged" } });
    expect(readFileSync(machine.settings, "utf8")).toBe(text);

    const [start, ...more] = await machine.fire("SessionStart", { source: "startup", model: "opus" });
    expect(more).toEqual([]);
    expect(start).toMatchObject({ code: 0, stderr: "" });
    const { hookSpecificOutput } = JSON.parse(start?.stdout ?? "");
    expect(hookSpecificOutput.hookEventName).toBe("SessionStart");
    expect(hookSpecificOutput.additionalContext).toContain("The harbour crane is blue");
    expect(await machine.fire("SessionStart", { source: "resume" })).toEqual([]); // the matcher

    const ends = [
      ...(await machine.fire("Stop", { stop_hook_active: false, last_assistant_message: "At the quay." })),
      ...(await machine.fire("PreCompact", { trigger: "auto", custom_instructions: "" })),
      ...(await machine.fire("SessionEnd", { reason: "prompt_input_exit" })),
    ];
    expect(ends.map(({ stdout }) => stdout)).toEqual(["{}", "", "", ""]); // the first is the user's own
    expect(ends.every(({ code, stderr }) => code === 0 && stderr === "")).toBe(true);
    expect(existsSync(join(machine.home, "capture", "worker"))).toBe(true);
    await machine.untilImported();
    const found = await machine.hermes("sessions", "search", "lighthouse", "--json");
    expect(found.stdout).toContain("claude-code");
    expect(found.stdout).toContain("ferry pier");
    expect(found.stdout).not.toContain("harbour crane");
    expect((await machine.hermes("sessions", "search", "harbour", "--json")).stdout).not.toContain("crane");

    const left = await machine.hermes("mcp", "uninstall", "--client", "claude-code");
    expect(left).toMatchObject({ code: 0, stdout: expect.stringContaining("Removed the hooks from") });
    expect(readFileSync(machine.settings, "utf8")).toBe(SETTINGS);
  });
});
