// kill -9 in the middle of a turn with a tool of the client: the next server goes on, and nothing is stored twice or lost.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openMemory } from "@hermes-memory/core/internal/memory";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { modelSection } from "../../../agent/test/agent/agent-home.ts";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { NODE_COMPILE_CACHE } from "../../../core/test/fakes/compile-cache.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { CHAT } from "./mode-turns.ts";

const SERVER = join(import.meta.dirname, "mode-process.ts");
/** Of about 200 writes, every seventh is a place to be killed at; with 2 it takes 3 minutes. */
const STRIDE = 7;

function serve(home: string, step: string, killAt = 0): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, NODE_COMPILE_CACHE, KILL_AT: String(killAt) };
    execFile(process.execPath, [SERVER, home, step], { env }, (failure, stdout, stderr) => {
      if (failure !== null && failure.signal !== "SIGKILL") reject(new Error(stderr));
      else resolve(stdout.split("\n").filter((line) => line !== ""));
    });
  });
}

async function linesIn(home: string): Promise<readonly string[]> {
  await using memory = await openMemory({ home });
  const found = await memory.owner.transcript(CHAT, { format: "hermes" });
  return (found?.messages ?? []).map(({ role, content }) => `${role}: ${String(content)}`);
}

it("a server that is killed at any write loses nothing that a client was told, and doubles nothing", async () => {
  const model = await startWire("chat", ({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? { text: "It rains." }
      : { text: "I look.", toolCalls: [{ name: "weather", arguments: {}, id: "call_w" }] },
  );
  const newHome = async (): Promise<string> => {
    const home = tempDirectory();
    writeFileSync(join(home, "config.yaml"), stringify({ model: modelSection("chat", model.url) }));
    await using memory = await openMemory({ home });
    await memory.owner.layers.sessions({ mode: "write", create: true }); // the tables are not what is tested here
    return home;
  };
  const whole = ["user: Weather?", "assistant: I look.", "tool: rain", "assistant: It rains."];
  const undisturbed = await newHome();
  const [first, second, writes] = await serve(undisturbed, "question");
  expect([first, second]).toEqual(["tool_calls", "It rains."]);
  expect(await linesIn(undisturbed)).toEqual(whole);

  for (let killAt = 1; killAt <= Number(writes); killAt += STRIDE) {
    const home = await newHome();
    const told = await serve(home, "question", killAt);
    // A client repeats the request that got no answer.
    const again = await serve(home, told.includes("tool_calls") ? "results" : "question");
    expect(again, `killed at write ${killAt}`).toContain("It rains.");
    expect(await linesIn(home), `killed at write ${killAt}`).toEqual(whole);
  }
}, 300_000);
