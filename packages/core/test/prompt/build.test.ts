import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  buildSystemPrompt,
  chooseTimeZone,
  dateLine,
  type PartLabel,
  PLATFORMS,
  type PromptParts,
  platformHint,
  promptHash,
  withEphemeral,
} from "../../src/prompt/index.ts";
import { scanThreats } from "../../src/security/index.ts";
import { everything, fewest } from "./parts.ts";

function labels(parts: PromptParts): PartLabel[] {
  return buildSystemPrompt(parts).tiers.flatMap((tier) => tier.parts.map(({ label }) => label));
}

function partOf(parts: PromptParts, label: PartLabel): string | undefined {
  const all = buildSystemPrompt(parts).tiers.flatMap((tier) => tier.parts);
  return all.find((part) => part.label === label)?.text;
}

// Refresh with: npx vitest run test/prompt/build.test.ts -u
describe("the bytes of a prompt", () => {
  it.each([
    ["fewest", fewest],
    ["everything", everything],
    ["memory-only", { ...fewest, tools: ["memory"], platform: "cli", model: "claude-sonnet-4-5" }],
    ["gemini", { ...fewest, tools: ["todo"], platform: "cron", model: "google/gemini-3-pro" }],
  ] as const)("are those of golden/%s.txt", async (name, parts) => {
    await expect(buildSystemPrompt(parts).text).toMatchFileSnapshot(`golden/${name}.txt`);
  });

  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 30 }),
    fc.constantFrom("", " \n", "\ud800", "a\r\nb"),
  );
  const anyParts = fc
    .record({
      identity: fc.option(text, { nil: undefined }),
      tools: fc.subarray([...everything.tools, "terminal"]),
      model: fc.option(text, { nil: undefined }),
      provider: fc.option(text, { nil: undefined }),
      skillsIndex: text,
      environment: fc.array(text, { maxLength: 3 }),
      platform: fc.constantFrom("cli", "CLI", "nowhere", "toString"),
      systemMessage: text,
      contextFiles: text,
      memoryBlock: text,
      userBlock: text,
      providerBlock: text,
      sessionId: text,
    })
    .map((drawn): PromptParts => ({ ...fewest, ...drawn }));

  it("are the same for the same parts, in whatever order the tools come and whatever time of day it is", () => {
    fc.assert(
      fc.property(anyParts, fc.integer({ min: 0, max: 86_399_999 }), (parts, ms) => {
        const { text: once, hash } = buildSystemPrompt(parts);
        const now = new Date(Date.UTC(2026, 10, 5) + ms);
        const again = buildSystemPrompt({
          ...parts,
          tools: [...parts.tools].reverse(),
          date: { now, timeZone: "UTC" },
        });
        expect(again).toMatchObject({ text: once, hash });
        expect(promptHash(once)).toBe(hash);
      }),
    );
  });

  it("are well formed, stripped, and nothing but the tiers with a blank line between", () => {
    fc.assert(
      fc.property(anyParts, (parts) => {
        const { text: whole, tiers } = buildSystemPrompt(parts);
        expect(whole.isWellFormed()).toBe(true);
        expect(tiers.map(({ name }) => name)).toEqual(["stable", "context", "volatile"]);
        expect(whole).toBe(
          tiers
            .map((tier) => tier.text)
            .filter((tier) => tier !== "")
            .join("\n\n"),
        );
        for (const tier of tiers) expect(tier.text).toBe(tier.parts.map((part) => part.text).join("\n\n"));
      }),
    );
  });
});

describe("the order of a prompt", () => {
  it("goes from what hardly changes to what changes most", () => {
    expect(labels({ ...everything, provider: "alibaba" })).toEqual([
      ...["identity", "help", "task_completion", "tool_guidance", "steering", "tool_use", "skills_index"],
      ...["model_note", "environment", "profile", "platform"],
      ...["system_message", "context_files"],
      ...["memory", "user_profile", "provider", "session"],
    ]);
  });

  it("drops blank parts and strips the others by Python's rules", () => {
    const { tiers } = buildSystemPrompt({
      ...fewest,
      systemMessage: "\x1c \n",
      memoryBlock: "\x85 kept \ufeff",
    });
    expect(tiers[1]).toEqual({ name: "context", text: "", parts: [] });
    expect(tiers[2]?.parts[0]).toEqual({ label: "memory", text: "kept \ufeff" });
  });

  it("ends with the day, and with session, model and provider where they are known", () => {
    expect(buildSystemPrompt(everything).text).toMatch(
      /\n\nConversation started: Thursday, November 05, 2026\nSession ID: 20261105_120000_abc123\nModel: gpt-5.5\nProvider: openrouter$/,
    );
    expect(buildSystemPrompt(fewest).text).toMatch(/\n\nConversation started: Thursday, November 05, 2026$/);
  });

  it("keeps a name with line breaks in its line", () => {
    const session = partOf({ ...fewest, model: "real\nModel: fake\u2028x" }, "session");
    expect(session?.split("\n")).toEqual([expect.any(String), "Model: real Model: fake x"]);
  });
});

describe("guidance", () => {
  it.each([
    [[], []],
    [["todo"], []],
    [["memory"], ["`memory` tool"]],
    [["session_search"], ["`session_search`"]],
    [["skill_manage"], ["`skill_manage`"]],
    [["skill_view"], []],
    [
      ["memory", "skill_manage"],
      ["`memory` tool", "`skill_manage`"],
    ],
  ])("with tools %j speaks of %j only", (tools, spoken) => {
    const guidance = partOf({ ...fewest, tools }, "tool_guidance") ?? "";
    const known = ["`memory` tool", "`session_search`", "`skill_manage`"];
    expect(known.filter((name) => guidance.includes(name))).toEqual(spoken);
  });

  it("about finishing a task can be switched off, and about steering needs a tool", () => {
    expect(labels({ ...everything, taskCompletionGuidance: false })).not.toContain("task_completion");
    expect(labels({ ...fewest, tools: ["todo"] })).toEqual(
      expect.arrayContaining(["task_completion", "steering"]),
    );
  });

  it("shows the skills index only to an agent with a skills tool", () => {
    expect(labels({ ...everything, tools: ["memory"] })).not.toContain("skills_index");
    for (const tool of ["skills_list", "skill_view", "skill_manage"])
      expect(labels({ ...everything, tools: [tool] })).toContain("skills_index");
  });

  it.each([
    ["gpt-5.5", undefined, true],
    ["OpenAI/GPT-5", "auto", true],
    ["deepseek-chat", "auto", true],
    ["claude-sonnet-4-5", "auto", false],
    ["", "auto", false],
    ["claude-sonnet-4-5", true, true],
    ["gpt-5.5", false, false],
    ["claude-sonnet-4-5", ["Sonnet"], true],
    ["gpt-5.5", ["sonnet", ""], false],
  ] as const)("insists on tool calls for %s with %j: %s", (model, setting, isThere) => {
    const parts = { ...everything, model, toolUseEnforcement: setting };
    expect(labels(parts).includes("tool_use")).toBe(isThere);
  });

  it("does not insist without tools", () => {
    expect(labels({ ...fewest, model: "gpt-5.5", toolUseEnforcement: true })).not.toContain("tool_use");
  });

  it("never looks like a threat, in any text of ours", () => {
    for (const platform of PLATFORMS) {
      for (const model of ["gpt-5", "gemini-3", "m"]) {
        const own = { ...fewest, tools: everything.tools, platform, model, provider: "alibaba" };
        expect(scanThreats(buildSystemPrompt(own).text, "strict")).toEqual([]);
      }
    }
  });
});

describe("identity, platform and profile", () => {
  it("uses a plugin's hint only for a platform we do not know", () => {
    const hinted = { ...fewest, platformHint: "Speak in rhymes." };
    expect(partOf({ ...hinted, platform: "minitel" }, "platform")).toBe("Speak in rhymes.");
    expect(partOf({ ...hinted, platform: "slack" }, "platform")).toBe(platformHint("slack"));
    expect(partOf({ ...fewest, platform: "constructor" }, "platform")).toBeUndefined();
  });
});

describe("the ephemeral text of a request", () => {
  it("follows the prompt after a blank line and leaves the prompt as it is", () => {
    const { text } = buildSystemPrompt(fewest);
    expect(withEphemeral(text, " only now ")).toBe(`${text}\n\nonly now`);
    expect(withEphemeral(text, undefined)).toBe(text);
    expect(withEphemeral(text, "  ")).toBe(text);
  });
});

describe("the day a conversation started", () => {
  it.each([
    ["2026-11-15T23:30:00Z", "UTC", "Sunday, November 15, 2026"],
    ["2026-11-15T23:30:00Z", "Asia/Tokyo", "Monday, November 16, 2026"],
    ["2026-03-01T04:59:00Z", "America/New_York", "Saturday, February 28, 2026"],
    ["2026-01-01T00:00:00Z", "Pacific/Kiritimati", "Thursday, January 01, 2026"],
  ])("of %s in %s is %s", (now, timeZone, day) => {
    expect(dateLine({ now: new Date(now), timeZone })).toBe(`Conversation started: ${day}`);
  });

  it("changes at midnight and at no other time", () => {
    const lines = new Set<string>();
    for (let minute = 0; minute < 48 * 60; minute += 7)
      lines.add(dateLine({ now: new Date(Date.UTC(2026, 5, 1, 0, minute)), timeZone: "UTC" }));
    expect(lines.size).toBe(2);
  });
});

describe("the time zone", () => {
  it.each([
    [" Europe/Vienna ", "Asia/Tokyo", "Europe/Vienna", 0],
    ["", "Asia/Tokyo", "Asia/Tokyo", 0],
    [undefined, "", undefined, 0],
    ["Mars/Olympus", "Asia/Tokyo", "Asia/Tokyo", 1],
    ["Mars/Olympus", "nowhere", undefined, 2],
  ])("from HERMES_TIMEZONE %j and config %j is %j", (variable, configured, timeZone, count) => {
    const choice = chooseTimeZone({ env: { HERMES_TIMEZONE: variable }, configured });
    expect(choice.timeZone).toBe(timeZone);
    expect(choice.warnings).toHaveLength(count);
    if (count > 0) expect(choice.warnings[0]).toContain("HERMES_TIMEZONE is 'Mars/Olympus'");
  });
});
