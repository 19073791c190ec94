// The line that the user sees after a review, and what a review may do.

import type { Message } from "@hermes-memory/core/internal/message";
import { describe, expect, it } from "vitest";
import { refusal } from "../../src/review/rights.ts";
import { reviewSummary, reviewWrites } from "../../src/review/summary.ts";
import { messages as read } from "../messages.ts";

type Args = Readonly<Record<string, unknown>>;

/** One call and its result. */
function done(id: string, name: string, args: Args, result: Args | string): readonly Message[] {
  const content = typeof result === "string" ? result : JSON.stringify(result);
  return read(
    {
      role: "assistant",
      content: "",
      tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }],
    },
    { role: "tool", tool_call_id: id, content },
  );
}

function added(target: string, content = "x", id = `${target}:${content}`): readonly Message[] {
  return done(
    id,
    "memory",
    { action: "add", target, content },
    { success: true, target, message: "Entry added." },
  );
}

function summary(messages: readonly Message[], level: "off" | "on" | "verbose" = "on"): string | undefined {
  return reviewSummary(reviewWrites(messages, level))?.replace("\u{1f4be} Self-improvement review: ", "");
}

describe("the summary", () => {
  it("names targets by their labels, each line once", () => {
    const messages = [...added("memory"), ...added("user"), ...added("memory", "y"), ...added("team")];
    expect(summary(messages)).toBe("Memory updated · User profile updated · team updated");
  });

  it("has the message itself where something was created, updated or patched", () => {
    const skill = (message: string): readonly Message[] =>
      done(message, "skill_manage", { action: "?", name: "a" }, { success: true, message });
    expect(summary([...skill("Skill 'a' created."), ...skill("Skill 'b' updated (full rewrite).")])).toBe(
      "Skill 'a' created. · Skill 'b' updated (full rewrite).",
    );
    expect(summary(skill("Patched SKILL.md in skill 'a' (1 replacement)."))).toMatch(/^Patched/);
    expect(summary(skill("File removed from 'a'."))).toBe("Skill updated");
  });

  it("leaves out what failed, what is no JSON object, other tools and results without a call", () => {
    const args = { action: "add", target: "memory", content: "x" };
    const messages = [
      ...done("1", "memory", args, { success: false, error: "Entry added." }),
      ...done("2", "memory", args, { message: "Entry added." }),
      ...done("3", "memory", args, "Entry added."),
      ...done("4", "memory", args, "[1]"),
      ...done("5", "todo", args, { success: true, message: "Entry added." }),
      ...done("6", "memory", args, { success: true, message: "Entry already exists (no duplicate added)." }),
      ...read(
        {
          role: "tool",
          tool_call_id: "of an earlier turn",
          content: '{"success":true,"message":"Entry added."}',
        },
        { role: "tool", content: '{"success":true,"message":"Entry added."}' },
      ),
    ];
    for (const level of ["on", "verbose"] as const) expect(summary(messages, level)).toBeUndefined();
  });

  it("says what is staged", () => {
    const staged = { success: true, staged: true, message: "Staged for approval." };
    const messages = [
      ...done("1", "memory", { action: "add", target: "user", content: "x" }, staged),
      ...done("2", "skill_manage", { action: "create", name: "a" }, staged),
    ];
    for (const level of ["on", "verbose"] as const)
      expect(summary(messages, level)).toBe("User profile staged for approval · Skill staged for approval");
  });

  it("in detail shows beginnings of texts, on one line", () => {
    const long = `a\n${"b".repeat(200)}`;
    const changed = (action: string, args: Args): readonly Message[] =>
      done(
        action,
        "memory",
        { action, target: "memory", ...args },
        { success: true, message: "Entry replaced." },
      );
    expect(summary(changed("add", { content: long }), "verbose")).toBe(`Memory + a ${"b".repeat(118)}…`);
    expect(summary(changed("replace", { content: long }), "verbose")).toBe(`Memory ✏ a ${"b".repeat(118)}…`);
    expect(summary(changed("remove", { old_text: long }), "verbose")).toBe(`Memory - a ${"b".repeat(58)}…`);
    expect(summary(added("user", "short"), "verbose")).toBe("User profile + short");
  });

  it("is nothing when it is switched off", () => expect(summary(added("memory"), "off")).toBeUndefined());
});

describe("the rights", () => {
  const NAMES = ["memory", "skills_list", "skill_view", "skill_manage", "todo", "toString", "__proto__", ""];
  const ACTIONS = [
    "add",
    "replace",
    "remove",
    "create",
    "patch",
    "edit",
    "write_file",
    "remove_file",
    "delete",
    "ADD",
    "",
  ];

  function allowed(memory: boolean, skills: boolean): readonly string[] {
    const calls = NAMES.flatMap((name) => ACTIONS.map((action) => ({ name, action })));
    const right = calls.filter(
      ({ name, action }) => refusal(name, { action }, { memory, skills }) === undefined,
    );
    return [
      ...new Set(
        right.map(({ name, action }) =>
          name.startsWith("skill_m") || name === "memory" ? `${name} ${action}` : name,
        ),
      ),
    ];
  }

  const MEMORY = ["memory add", "memory replace"];
  const SKILLS = [
    "skills_list",
    "skill_view",
    ...["create", "patch", "edit", "write_file"].map((each) => `skill_manage ${each}`),
  ];

  it("are these, and the union of both for both", () => {
    expect(allowed(true, false)).toEqual(MEMORY);
    expect(allowed(false, true)).toEqual(SKILLS);
    expect(allowed(true, true)).toEqual([...MEMORY, ...SKILLS]);
    expect(allowed(false, false)).toEqual([]);
  });

  const remove = { action: "remove", target: "memory", old_text: "Fridays" };
  it.each([
    ["memory", { operations: [{ action: "add", content: "x" }, remove] }, "with action 'remove'"],
    ["memory", { action: "add", operations: JSON.stringify([remove]) }, "with no action"],
    ["memory", { action: ["add"] }, "with no action; allowed are: add, replace, search_archive"],
    ["skills_list", {}, "about memory only"],
    ["todo", {}, "Background review denied non-whitelisted tool: todo."],
  ])("of a review of memory refuse %s %j", (name, args, answer) => {
    expect(refusal(name, args, { memory: true, skills: false })).toContain(answer);
  });

  it("of a review of skills hold no memory", () => {
    expect(refusal("memory", remove, { memory: false, skills: true })).toContain("about skills only");
  });
});
