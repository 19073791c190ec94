// `hermes chat` in scripts and pipes: a real process, its streams and its exit code.
import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { badKey } from "../../../agent/test/fakes/wires/script.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { chatHome, said } from "./chat-home.ts";
import { runHermes } from "./run.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

type Line = { readonly type: string; readonly [key: string]: unknown };
const linesIn = (stdout: string): Line[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

describe("hermes chat -q", () => {
  it("prints the answer on stdout and everything about it on stderr", async () => {
    const { home, turns } = await chatHome([{ text: "It is **blue**.\u001b[2J" }]);
    const { stdout, stderr, code } = await runHermes(["chat", "-q", "Which colour?"], {
      home,
      input: "log line 1\nlog line 2\n",
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "It is **blue**.\\x1b[2J\n" });
    expect(stderr).toMatch(/^some-model \(custom\) · context 128,000 tokens/);
    expect(stderr).toMatch(/\ncontext [\d,]+\/128,000/);
    expect(stderr).not.toContain("\u001b");
    expect(turns().map(said)).toEqual([["user: Which colour?\n\nlog line 1\nlog line 2"]]);
  });

  it("goes on with a session by its title, and with the newest one, with nothing but the answer", async () => {
    const { home, turns } = await chatHome([{ text: "One." }, { text: "Two." }, { text: "Three." }]);
    const ask = (...args: string[]) => runHermes(["chat", "--quiet", "-q", ...args], { home, input: "2?" });
    await ask("1?");
    const titled = await runHermes(["chat", "--resume", "Harbour talk", "--quiet", "-q", "-"], {
      home,
      input: "2?",
    });
    expect(titled).toEqual({ stdout: "Two.\n", stderr: "", code: 0 });
    expect((await runHermes(["chat", "-c", "-q", "3?"], { home })).stderr).toMatch(/resumed: .*4 messages/);
    expect(turns().at(-1)?.messages).toHaveLength(5);
  });

  it("tells every event as a line of JSON: the session first, the turn's result last", async () => {
    const { home } = await chatHome([
      { toolCalls: [{ name: "memory", arguments: { action: "add", content: "likes tea" } }] },
      { text: "Noted." },
    ]);
    const { stdout, stderr, code } = await runHermes(["chat", "--json", "-q", "Remember: tea"], { home });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = linesIn(stdout);
    expect(lines[0]).toMatchObject({ type: "session", model: "some-model", resumed: false });
    expect(lines.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["turn-start", "tool-start", "memory-write", "tool-end", "usage", "text-delta"]),
    );
    expect(lines.at(-1)).toMatchObject({
      type: "turn-end",
      result: { final_response: "Noted.", api_calls: 2, failed: false, session_id: lines[0]?.session_id },
    });
  });

  it("ends with 1 and says what to do when the model refuses", async () => {
    const { home } = await chatHome([badKey()]);
    const { stdout, stderr, code } = await runHermes(["chat", "--quiet", "-q", "Hello?"], { home });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^error: .+/);
  });

  it("ends with 1 when the session is not there, and says how to find one", async () => {
    const { home } = await chatHome([]);
    const args = ["chat", "--resume", "nosuch", "-q", "x"];
    const { stderr, code } = await runHermes(args, { home });
    expect(code).toBe(1);
    expect(stderr).toContain("hermes sessions list");
    const json = await runHermes([...args, "--json"], { home });
    expect(linesIn(json.stdout)).toMatchObject([{ type: "error", success: false, kind: "unknown-session" }]);
  });

  it("ends with 1 without a model and names 'hermes setup'; with 2 for a question that is none", async () => {
    const home = tempDirectory();
    const { stdout, stderr, code } = await runHermes(["chat", "-q", "x"], { home });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("hermes setup");
    expect(existsSync(join(home, "logs", "hermes-memory.log"))).toBe(false); // a refusal of the model is not logged
    expect((await runHermes(["chat", "-q", " "], { home })).code).toBe(2);
  });

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

  it("stages memory writes that need approval, because no user can be asked", async () => {
    const { home } = await chatHome(
      [
        { toolCalls: [{ name: "memory", arguments: { action: "add", content: "likes tea" } }] },
        { text: "It waits." },
      ],
      { memory: { write_approval: true } },
    );
    expect((await runHermes(["chat", "--quiet"], { home, input: "Remember tea\n" })).stdout).toBe(
      "It waits.\n",
    );
    expect((await runHermes(["memory", "pending"], { home })).stdout).toContain("likes tea");
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
