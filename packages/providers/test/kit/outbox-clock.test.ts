// Clocks that are set, and leases of owners that cannot be looked up. Timers and clocks are the test's.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { DELIVERED, hangingServer, inFile, LATER, server, testLane, turn } from "../fakes/outbox.ts";

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
function leasedHome(untilMs: number): string {
  const home = tempDirectory();
  const lane = testLane(home);
  lane.add(turn("a"));
  inFile(home, `UPDATE lanes SET lease_owner = '${elsewhere}', lease_until = ${untilMs}`);
  lane.close();
  return home;
}

it("a lease that a clock in the future wrote blocks for 60 s, not longer", async () => {
  const lane = testLane(leasedHome(Date.now() + 1_000 * HOUR));
  const { deliver, batches } = server();
  lane.start(deliver, one);
  await vi.advanceTimersByTimeAsync(58_000);
  expect(batches).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(batches).toHaveLength(1);
});

it("a lease that has ended is taken over when its owner has not renewed it meanwhile", async () => {
  const home = leasedHome(Date.now() - HOUR);
  const lane = testLane(home);
  const { deliver, batches } = server();
  lane.start(deliver, one);
  for (let round = 0; round < 4; round += 1) {
    await vi.advanceTimersByTimeAsync(5_000);
    inFile(home, `UPDATE lanes SET lease_until = ${Date.now() - HOUR}`); // alive, with a clock that is an hour behind
  }
  expect(batches).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(batches).toHaveLength(1);
});

it("a clock that jumps does not let a second lane send while the first one does", async () => {
  const home = tempDirectory();
  const [first, second] = [testLane(home), testLane(home)];
  first.add(turn("a"));
  const { deliver, begun, answer } = hangingServer();
  first.start(deliver, one);
  await vi.advanceTimersByTimeAsync(10);
  await begun;
  const other = server();
  second.start(other.deliver, one);
  for (const jump of [HOUR, -3 * HOUR, 0]) {
    vi.setSystemTime(Date.now() + jump);
    await vi.advanceTimersByTimeAsync(90_000);
    expect(other.batches).toHaveLength(0);
  }
  answer(DELIVERED);
  await vi.advanceTimersByTimeAsync(2_000);
  expect([first.state().waiting, other.batches.length]).toEqual([0, 0]);
});

it("a pause does not outlast a clock that is set back by hours, and ends when it is set forward", async () => {
  for (const jump of [-5 * HOUR, HOUR]) {
    const lane = testLane(tempDirectory(), {
      pauses: { firstMs: 300_000, longestMs: 300_000, blockedMs: 300_000 },
    });
    lane.add(turn("a"));
    const { deliver, batches } = server(LATER, DELIVERED);
    lane.start(deliver, one);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(batches).toHaveLength(1);
    vi.setSystemTime(Date.now() + jump);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(batches).toHaveLength(2);
    lane.close();
  }
});

it("a lane that lost its lease stops its delivery", async () => {
  const home = tempDirectory();
  const lane = testLane(home);
  lane.add(turn("a"));
  const aborted = vi.fn();
  lane.start((_batch, signal) => new Promise(() => signal.addEventListener("abort", aborted)), one);
  await vi.advanceTimersByTimeAsync(10);
  inFile(home, `UPDATE lanes SET lease_owner = '${elsewhere}'`);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(aborted).toHaveBeenCalledOnce();
});
