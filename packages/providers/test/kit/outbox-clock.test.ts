// Leases of owners that cannot be looked up. Timers and clocks are the test's.

import { newHolder } from "@hermes-memory/core/internal/lib";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { inFile, server, testLane, turn } from "../fakes/outbox.ts";

const HOUR = 3_600_000;
const one = () => 1;
const elsewhere = "pid=17:host=elsewhere/pid:[1]:nonce=abcd1234";

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["Date", "performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A home with one write, whose lane an owner elsewhere has leased until `untilMs`. */
async function leasedHome(untilMs: number, owner = elsewhere): Promise<string> {
  const home = tempDirectory();
  const lane = testLane(home);
  await lane.add(turn("a"));
  inFile(home, `UPDATE lanes SET lease_owner = '${owner}', lease_until = ${untilMs}`);
  lane.close();
  return home;
}

it("a lease of an owner that cannot be looked up is taken over when it has ended", async () => {
  const lane = testLane(await leasedHome(Date.now() + 30_000));
  const { deliver, batches } = server();
  lane.start(deliver, one);
  await vi.advanceTimersByTimeAsync(29_000);
  expect(batches).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(batches).toHaveLength(1);
});

it("a lease that nobody renews ends, although its process id is in use here", async () => {
  // After a crash the id may belong to any program.
  const lane = testLane(await leasedHome(Date.now() - HOUR, newHolder()));
  const { deliver, batches } = server();
  lane.start(deliver, one);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(batches).toHaveLength(1);
});

it("a lane that lost its lease stops its delivery", async () => {
  const home = tempDirectory();
  const lane = testLane(home);
  await lane.add(turn("a"));
  const aborted = vi.fn();
  lane.start((_batch, signal) => new Promise(() => signal.addEventListener("abort", aborted)), one);
  await vi.advanceTimersByTimeAsync(10);
  inFile(home, `UPDATE lanes SET lease_owner = '${elsewhere}'`);
  await vi.advanceTimersByTimeAsync(16_000);
  expect(aborted).toHaveBeenCalledOnce();
});
