import { beforeEach, describe, expect, it } from "vitest";
import { Breaker } from "../../../src/providers/kit/breaker.ts";

describe("breaker", () => {
  let nowMs = 0;
  let breaker: Breaker;

  beforeEach(() => {
    nowMs = Date.UTC(2026, 5, 1);
    breaker = new Breaker({ failures: 2, openMs: 120_000, now: () => nowMs });
  });

  it("allows every call as long as failures do not follow each other", () => {
    breaker.failed();
    breaker.succeeded();
    breaker.failed();
    expect(breaker.state).toBe("closed");
    expect([breaker.tryEnter(), breaker.tryEnter()]).toEqual([true, true]);
  });

  it("opens after the given number of failures in a row and stays open for the given time", () => {
    breaker.failed();
    breaker.failed();
    expect(breaker.state).toBe("open");
    nowMs += 119_999;
    expect(breaker.tryEnter()).toBe(false);
    nowMs += 1;
    expect(breaker.tryEnter()).toBe(true);
  });

  it("allows one trial call after the pause, and closes when it succeeds", () => {
    openAndWait();
    expect(breaker.state).toBe("half-open");
    expect([breaker.tryEnter(), breaker.tryEnter()]).toEqual([true, false]);
    breaker.succeeded();
    expect(breaker.state).toBe("closed");
    expect(breaker.tryEnter()).toBe(true);
  });

  it("opens again for the whole pause when the trial call fails", () => {
    openAndWait();
    breaker.tryEnter();
    breaker.failed();
    nowMs += 119_999;
    expect(breaker.tryEnter()).toBe(false);
    nowMs += 1;
    expect(breaker.tryEnter()).toBe(true);
  });

  it("gives the trial call to the next caller when it was cancelled", () => {
    openAndWait();
    breaker.tryEnter();
    breaker.abandoned();
    expect(breaker.tryEnter()).toBe(true);
  });

  it("takes a trial call without a report for lost after the same time", () => {
    openAndWait();
    breaker.tryEnter();
    nowMs += 120_000;
    expect([breaker.tryEnter(), breaker.tryEnter()]).toEqual([true, false]);
  });

  it("is open while a call runs past its deadline, and closed when that call has settled", () => {
    const settled = breaker.watch(10_000);
    nowMs += 9_000;
    expect(breaker.state).toBe("closed");
    nowMs += 1_000;
    expect([breaker.state, breaker.tryEnter()]).toEqual(["open", false]);
    settled();
    expect(breaker.state).toBe("closed");
  });

  it("stays open after a success while another call is overdue, until that call is a minute old", () => {
    breaker.watch(10_000);
    nowMs += 10_000;
    breaker.succeeded();
    expect(breaker.state).toBe("open");
    nowMs += 50_000;
    expect(breaker.state).toBe("open");
    breaker.succeeded();
    expect(breaker.state).toBe("closed");
  });

  it("without a time to stay open closes only when a call succeeds", () => {
    const strict = new Breaker({ failures: 1, now: () => nowMs });
    strict.failed();
    nowMs += 86_400_000;
    expect([strict.state, strict.tryEnter()]).toEqual(["open", false]);
    strict.succeeded();
    expect(strict.state).toBe("closed");
  });

  function openAndWait(): void {
    breaker.failed();
    breaker.failed();
    nowMs += 120_000;
  }
});
