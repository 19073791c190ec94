// `hermes claw cleanup`, the check for running programs, and the transcripts of a plan.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import { connectedPlatforms, openClawProcesses } from "../../../../import/src/openclaw/processes.ts";
import { makeSource } from "../../../../import/test/openclaw/source-folder.ts";
import { type PlayedOptions, runHere } from "../../cli/run.ts";

type Place = { readonly userHome: string; readonly home: string; readonly source: string };

function place(): Place {
  const userHome = tempDirectory();
  return { userHome, home: join(userHome, ".hermes"), source: makeSource(userHome) };
}

function claw(at: Place, words: readonly string[], options: Partial<PlayedOptions> = {}) {
  return runHere(["claw", ...words], { home: at.home, ...options, env: { HOME: at.userHome } });
}

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
