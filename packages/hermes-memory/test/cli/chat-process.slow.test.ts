// `hermes chat` in scripts and pipes: a real process, its streams and its exit code.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { chatHome, said } from "./chat-home.ts";
import { runHermes } from "./run.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

describe("hermes chat -q", () => {
  it("ends with 130 when it is interrupted, and the connection is given up", async () => {
    const { home, wire } = await chatHome([{ text: "never", pauseBefore: "forever" }]);
    const env = { PATH: process.env.PATH, HERMES_HOME: home };
    const child = spawn(process.execPath, [MAIN, "chat", "-q", "x"], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
    let stdout = "";
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk.toString("utf8");
    });
    await wire.waitForRequest(0);
    child.kill("SIGINT");
    expect(await closed).toBe(130);
    expect(stdout).toBe("");
    await wire.waitForAbort(0);
  });
});

describe("hermes chat in a pipe", () => {
  it("answers every line, runs commands, and prints neither colours nor prompts", async () => {
    const { home, turns } = await chatHome([{ text: "First." }, { text: "Second." }]);
    const input = "one\n\n/title Cranes\ntwo\\\nlines\n/nosuch\n";
    const { stdout, stderr, code } = await runHermes(["chat"], { home, input, env: { TERM: "xterm" } });
    expect(code).toBe(1); // there is no /nosuch
    expect(stdout).toMatch(/^First\.\n.*Cranes.*\nSecond\.\n$/);
    expect(stderr).toContain("There is no command '/nosuch'");
    expect(stdout + stderr).not.toContain("\u001b");
    expect(turns().map(said).at(-1)).toEqual(["user: one", "assistant: First.", "user: two\nlines"]);
  });

  it("follows its flags: tools, instructions, no memory", async () => {
    const { home, turns } = await chatHome([{ text: "Yes." }]);
    writeFileSync(join(home, "SOUL.md"), "You are a crane.");
    const args = ["chat", "--quiet", "--toolsets", "todo", "--system", "Speak softly.", "--no-memory"];
    await runHermes(args, { home, input: "Hello\n" });
    const [request] = turns();
    expect(request?.tools).toEqual(["read_result", "todo"]);
    expect(request?.system).toContain("Speak softly.");
  });
});

describe("starting up", () => {
  it("loads nothing of a chat for other commands, and no SDK before a chat needs it", async () => {
    const home = tempDirectory();
    const probe = `
      import { registerHooks } from "node:module";
      const seen = [];
      registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
      process.on("exit", () => process.stderr.write(seen.join("\\n")));
    `;
    const hook = `data:text/javascript,${encodeURIComponent(probe)}`;
    const env = { NODE_OPTIONS: `--import ${hook}` };
    const { stderr } = await runHermes(["memory", "show"], { home, env });
    expect(stderr).toContain("src/cli/memory");
    expect(stderr).not.toMatch(/src\/cli\/chat|src\/agent|node_modules\/(ai|@ai-sdk|zod|yaml)\//);
    const help = await runHermes(["chat", "--help"], { home, env });
    expect(help.stdout).toContain("--resume <session>");
    expect(help.stderr).toContain("src/cli/chat/commands.ts");
    expect(help.stderr).not.toMatch(/src\/agent|node_modules\/(ai|@ai-sdk|zod)\//);
  });
});

describe("/curator in a chat", () => {
  it("is 'hermes curator': same words, same flags, and a wrong one is an error of the line", async () => {
    const { home } = await chatHome([]);
    const asked = "/curator\n/curator run --dry-run --no-model\n/curator runn\n";
    const { stdout, stderr, code } = await runHermes(["chat"], { home, input: asked });
    const shell = await runHermes(["curator", "status"], { home });
    expect(stdout).toContain(shell.stdout.split("\n")[0]);
    expect(stdout.length).toBeGreaterThan(shell.stdout.length);
    expect(stderr).toContain("unknown command 'runn'");
    expect(code).toBe(1);
  });
});
