// When a review of memory or skills is due.
import type { Message } from "@hermes-memory/core/internal/message";
import { describe, expect, it } from "vitest";
import { ReviewSchedule } from "../../src/review/schedule.ts";
import { messages } from "../messages.ts";

const on = { hasMemoryTool: true };

function schedule(memoryInterval = 10, skillInterval = 10): ReviewSchedule {
  return new ReviewSchedule({ memoryInterval, skillInterval });
}

function users(count: number): readonly Message[] {
  return messages(...Array.from({ length: count }, () => [{ role: "user" }, { role: "assistant" }]).flat());
}

/** The turns, counted from 1, after which memory is due; each time a review begins. */
function firing(counters: ReviewSchedule, turns: number, options = on): number[] {
  return Array.from({ length: turns }, (_, place) => place + 1).filter(() => {
    counters.noteTurn(options);
    const { memory } = counters.due();
    counters.taken();
    return memory;
  });
}

describe("memory", () => {
  it("is due on turns 10 and 20 of a fresh agent", () => expect(firing(schedule(), 25)).toEqual([10, 20]));

  it.each([
    [7, 7],
    [13, 3],
    [10, 0],
    [19, 9],
  ])("counts a history of %i user messages as %i turns", (count, since) => {
    const counters = schedule();
    expect(counters.hydrate(users(count))).toBe(count);
    expect(counters.turnsSinceMemory).toBe(since);
  });

  it("is counted from a history once, and never while a session runs", () => {
    const counters = schedule();
    counters.hydrate(users(7));
    expect(counters.hydrate(users(9))).toBe(7);
    counters.noteTurn(on);
    expect([counters.hydrate(users(3)), counters.turnsSinceMemory]).toEqual([8, 8]);
  });

  it("is never due with interval 0, without the tool or without a store", () => {
    const never = schedule(0);
    expect(never.hydrate(users(19))).toBe(19);
    expect(firing(never, 40)).toEqual([]);
    expect(firing(schedule(), 40, { hasMemoryTool: false })).toEqual([]);
  });

  it("starts over when the tool was used", () => {
    const counters = schedule();
    firing(counters, 9);
    counters.noteTool("todo");
    expect(counters.turnsSinceMemory).toBe(9);
    counters.noteTool("memory");
    expect(firing(counters, 10)).toEqual([10]);
  });

  it("stays due until a review begins", () => {
    const counters = schedule(2);
    counters.noteTurn(on);
    counters.noteTurn(on);
    counters.noteTurn(on); // the one before was interrupted
    expect(counters.due()).toEqual({ memory: true, skills: false });
    expect(counters.due().memory).toBe(true);
    counters.taken();
    expect(counters.due().memory).toBe(false);
  });
});

describe("skills", () => {
  const calls = (counters: ReviewSchedule, count: number, hasSkillTool = true): void => {
    for (let call = 0; call < count; call += 1) counters.noteModelCall({ hasSkillTool });
  };

  it("are due after ten model calls, over several turns", () => {
    const counters = schedule();
    calls(counters, 6);
    counters.noteTurn(on);
    expect(counters.due().skills).toBe(false);
    calls(counters, 4);
    expect(counters.due().skills).toBe(true);
    counters.taken();
    calls(counters, 9);
    expect(counters.due().skills).toBe(false);
  });

  it("start over when the tool was used, and are not counted without it or with interval 0", () => {
    const counters = schedule();
    calls(counters, 9);
    counters.noteTool("skill_manage");
    calls(counters, 9);
    calls(counters, 40, false);
    expect(counters.due().skills).toBe(false);
    const never = schedule(10, 0);
    calls(never, 40);
    expect(never.due().skills).toBe(false);
  });

  it("stay due until a review begins", () => {
    const counters = schedule();
    calls(counters, 10);
    counters.due();
    counters.noteTool("skill_manage");
    expect(counters.due().skills).toBe(true);
  });
});

it("another session starts from nothing", () => {
  const counters = schedule(2, 2);
  counters.noteTurn(on);
  counters.noteTurn(on);
  counters.noteModelCall({ hasSkillTool: true });
  counters.noteModelCall({ hasSkillTool: true });
  counters.due();
  counters.reset();
  expect(counters.due()).toEqual({ memory: false, skills: false });
  expect(counters.hydrate(users(3))).toBe(3);
  expect(counters.turnsSinceMemory).toBe(1);
});
