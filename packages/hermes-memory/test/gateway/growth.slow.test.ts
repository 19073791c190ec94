// Hundreds of users, one after the other, through one server: what it keeps of them in memory is bounded.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { modelSection } from "../../../agent/test/agent/agent-home.ts";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { serve } from "./served-process.ts";

const MOST_AGENTS = 16;
const AT_ONCE = 8;

type Size = { readonly heapMb: number; readonly files: number };

/** Collects garbage in the server, and tells what is left. */
const PROBE = `
  import { readdirSync } from "node:fs";
  process.on("message", () => {
    for (let round = 0; round < 4; round += 1) global.gc();
    process.send({ heapMb: process.memoryUsage().heapUsed / 2 ** 20, files: readdirSync("/proc/self/fd").length });
  });
  process.channel.unref();
`;
const FLAGS = ["--expose-gc", "--import", `data:text/javascript,${encodeURIComponent(PROBE)}`];

async function sizeOf(child: ChildProcess): Promise<Size> {
  await sleep(500); // agents are closed in the background
  child.send("collect");
  await once(child, "message"); // weak references are cleared after the turn in which they were looked at
  child.send("collect");
  const [size] = (await once(child, "message")) as [Size];
  return size;
}

it.runIf(process.platform === "linux").each(["agent", "proxy"])(
  "a server in %s mode keeps no more of 500 users than of 150",
  async (mode) => {
    const model = await startWire("chat", () => ({ text: "Fine." }));
    const home = tempDirectory();
    const gateway = { port: 0, requests_per_minute: 0, max_live_agents: MOST_AGENTS };
    const section = { ...modelSection("chat", model.url), context_length: 200_000 };
    writeFileSync(join(home, "config.yaml"), stringify({ model: section, gateway }));
    const { url, child, exit } = await serve(home, FLAGS);
    let next = 0;
    const ask = async (user: number, messages: readonly object[]): Promise<void> => {
      const response = await fetch(`${url}/${mode}/v1/chat/completions`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-hermes-user-id": `user-${user}`,
          "x-openwebui-chat-id": `chat-${user}`,
        },
        body: JSON.stringify({ model: "hermes", messages }),
      });
      expect(response.status, await response.text()).toBe(200);
    };
    const usersUpTo = (last: number): Promise<unknown> =>
      Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          while (next < last) await ask(next, [{ role: "user", content: `I am user ${next++}.` }]);
        }),
      );
    await usersUpTo(150);
    const before = await sizeOf(child);
    await usersUpTo(500);
    const after = await sizeOf(child);
    const figures = await (await fetch(`${url}/metrics`)).text();
    expect(Number(/^hermes_live_agents (\d+)$/m.exec(figures)?.[1])).toBeLessThanOrEqual(MOST_AGENTS);
    expect(after.heapMb - before.heapMb).toBeLessThan(4);
    expect(after.files - before.files).toBeLessThan(20);
    child.kill("SIGTERM");
    expect(await exit).toEqual([0, null]);
  },
  60_000,
);
