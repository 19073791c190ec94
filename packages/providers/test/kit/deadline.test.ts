import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { pause, startDeadline } from "../../src/kit/deadline.ts";

describe("deadline of a call", () => {
  it("ends after its time, and says that the time was its own", async () => {
    const deadline = startDeadline(20, []);
    expect([deadline.ending(), deadline.signal.aborted]).toEqual([undefined, false]);
    await pause(5_000, deadline.signal);
    expect([deadline.ending(), deadline.passedMs(), deadline.signal.aborted]).toEqual(["timeout", 20, true]);
    expect(deadline.leftMs()).toBeLessThanOrEqual(1);
  });

  it("ends with any of the signals; the first reason stays", async () => {
    const [closing, caller] = [new AbortController(), new AbortController()];
    const deadline = startDeadline(20, [closing.signal, undefined, caller.signal]);
    caller.abort();
    expect([deadline.ending(), deadline.signal.aborted]).toEqual(["aborted", true]);
    await pause(60, new AbortController().signal);
    closing.abort(new DOMException("late", "TimeoutError"));
    expect(deadline.ending()).toBe("aborted");
    deadline.stop();
  });

  it("takes a caller's time limit for a timeout that is not its own", () => {
    const deadline = startDeadline(5_000, [AbortSignal.abort(new DOMException("late", "TimeoutError"))]);
    expect([deadline.ending(), deadline.passedMs()]).toEqual(["timeout", undefined]);
    deadline.stop();
  });

  it("makes no pause after its end", async () => {
    const began = performance.now();
    await pause(60_000, AbortSignal.abort());
    expect(performance.now() - began).toBeLessThan(30_000);
  });

  it("leaves no listener and no timer behind", async () => {
    const closing = new AbortController();
    const deadline = startDeadline(20, [closing.signal]);
    await pause(1, closing.signal);
    expect(getEventListeners(closing.signal, "abort")).toHaveLength(1);
    deadline.stop();
    expect(getEventListeners(closing.signal, "abort")).toEqual([]);
    await pause(60, closing.signal);
    expect(deadline.ending()).toBeUndefined();
  });

  it("survives limits that no timer can have", async () => {
    const endless = startDeadline(Number.POSITIVE_INFINITY, []);
    await pause(20, endless.signal);
    expect(endless.ending()).toBeUndefined();
    endless.stop();
  });
});
