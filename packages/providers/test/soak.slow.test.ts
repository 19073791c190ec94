// 400 turns through each networked provider, while the server restarts after every 50 turns that arrive and our process is killed
// after every 100 that it accepted. Every accepted turn arrives, in order, and once where the wire allows it.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startChild } from "../../core/test/fakes/child.ts";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { FAKE_SERVICES, type Fake, type FakeService } from "./fakes/servers/services.ts";

const TURNS = 400;
const KILL_EVERY = 100;
const RESTART_EVERY = 50;
const KEY = "test-key-0123456789";
const SESSION = "soak-session";

const SYNCING = join(import.meta.dirname, "fakes/syncing-process.ts");

/** `<turn>.<process>` of each turn at the server, in its order. */
function arrived(service: FakeService, fake: Fake): readonly string[] {
  const text = service.turns(fake, SESSION).join("\n");
  return [...text.matchAll(/Turn number (\d+\.\d+)\./g)].map(([, number = ""]) => number);
}

/** Restarts the server while turns come in, each time with another kind of end for the requests under way. */
function restartWhileTurnsArrive(service: FakeService, fake: Fake): { stop: () => Promise<number> } {
  let restarts = 0;
  let isOver = false;
  const loop = (async () => {
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (arrived(service, fake).length < (restarts + 1) * RESTART_EVERY) continue;
      restarts += 1;
      if (restarts % 2 === 0) fake.dropAnswerNext(1); // it is stored, and the client cannot know
      await fake.stop();
      await new Promise((resolve) => setTimeout(resolve, 50));
      await fake.start(Number(new URL(fake.url).port));
    }
  })();
  return {
    stop: async () => {
      isOver = true;
      await loop;
      return restarts;
    },
  };
}

describe.each(FAKE_SERVICES)("$name", (service) => {
  it(`gets ${TURNS} turns in order, with kills and restarts`, { timeout: 280_000 }, async () => {
    const home = tempDirectory();
    const fake = service.create();
    await fake.start();
    fake.requireAuth(KEY);
    const env = { ...service.env(fake.url, KEY), HERMES_HOME: home };
    const server = restartWhileTurnsArrive(service, fake);
    let accepted = 0;
    let kills = 0;
    try {
      while (accepted < TURNS) {
        const child = startChild(
          process.execPath,
          [SYNCING, service.name, home, SESSION, String(accepted + 1), String(TURNS)],
          env,
        );
        const until = Math.min(TURNS, (kills + 1) * KILL_EVERY);
        for (let line = await child.nextLine(); line !== undefined; line = await child.nextLine()) {
          if (/^\d+$/.test(line)) accepted = Number(line);
          if (accepted >= until && until < TURNS) break;
          if (line === "sent" || line.startsWith("left")) {
            expect(line).toBe("sent");
            break;
          }
        }
        if (accepted < TURNS) {
          await child.kill();
          kills += 1;
        } else await child.rest();
      }
    } finally {
      const restarts = await server.stop();
      await fake.stop();
      expect(restarts).toBeGreaterThan(3);
    }
    expect(kills).toBeGreaterThanOrEqual(TURNS / KILL_EVERY - 1);
    const turns = arrived(service, fake);
    const once = [...new Set(turns)];
    const all = Array.from({ length: TURNS }, (_, index) => index + 1);
    const numbers = once.map((turn) => Number(turn.split(".")[0]));
    expect([...new Set(numbers)].sort((a, b) => a - b)).toEqual(all);
    // Each process counts on from what its predecessor could say, so numbers go back only where the process changes.
    for (const [index, turn] of once.entries()) {
      const [before = "0", after = "0"] = [once[index - 1] ?? "0.", turn];
      if (before.split(".")[1] === after.split(".")[1])
        expect(Number.parseInt(after, 10)).toBe(Number.parseInt(before, 10) + 1);
    }
    const twice = turns.length - once.length;
    console.log(`${service.name}: ${kills} kills, ${twice} of ${once.length} turns came twice`);
    expect(twice).toBe(0);
  });
});
