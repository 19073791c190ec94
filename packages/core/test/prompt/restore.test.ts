import { describe, expect, it } from "vitest";
import { buildSystemPrompt } from "../../src/prompt/build.ts";
import type { RestoreQuestion } from "../../src/prompt/index.ts";
import { PROMPT_VERSION, promptMark, restoreDecision } from "../../src/prompt/restore.ts";
import { everything } from "./parts.ts";

const { text } = buildSystemPrompt(everything);

const resumed: RestoreQuestion = {
  hasHistory: true,
  stored: { kind: "stored", text, mark: promptMark(text) },
  model: everything.model,
  provider: everything.provider,
};

function stored(changed: string | null, mark = promptMark(changed ?? "")): RestoreQuestion {
  return { ...resumed, stored: { kind: "stored", text: changed, mark } };
}

describe("a stored prompt", () => {
  it("is reused byte for byte, non-ASCII included", () => {
    expect(text).toContain("ünïcödé 🎈");
    expect(restoreDecision(resumed)).toEqual({ action: "reuse", text });
  });

  it.each([
    ["model", { ...resumed, model: "gpt-6" }],
    ["provider", { ...resumed, provider: "openai" }],
  ])("is rebuilt for another %s", (_, question) => {
    expect(restoreDecision(question)).toEqual({ action: "build", reason: "stale_runtime", level: "info" });
  });

  it("is rebuilt when it names no model and there is one now", () => {
    const nameless = buildSystemPrompt({ ...everything, model: "", provider: "" }).text;
    expect(restoreDecision(stored(nameless))).toMatchObject({ reason: "stale_runtime" });
  });

  it("is judged by the last line that names a model, not by one in the project's files", () => {
    const { text: quoting } = buildSystemPrompt({
      ...everything,
      contextFiles: "Model: other\nProvider: other",
    });
    expect(restoreDecision(stored(quoting)).action).toBe("reuse");
  });

  it.each([
    ["NULL", stored(null), "empty", "warn"],
    ["empty", stored(""), "empty", "warn"],
    ["in no row", { ...resumed, stored: { kind: "missing" } }, "missing", "none"],
    ["not readable", { ...resumed, stored: { kind: "unreadable" } }, "unreadable", "warn"],
    ["of a session without messages", { ...resumed, hasHistory: false }, "new_session", "none"],
    [
      "without our mark",
      { ...resumed, stored: { kind: "stored", text, mark: undefined } },
      "foreign",
      "info",
    ],
    ["overwritten by another program", stored(`${text} `, promptMark(text)), "foreign", "info"],
    [
      "of another version",
      stored(text, { ...promptMark(text), version: PROMPT_VERSION + 1 }),
      "other_version",
      "info",
    ],
    ["to be refreshed", { ...resumed, refreshOnResume: true }, "refresh_on_resume", "info"],
  ] as const)("that is %s is built anew", (_, question, reason, level) => {
    expect(restoreDecision(question)).toEqual({ action: "build", reason, level });
  });
});
