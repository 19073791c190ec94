// What client programs put around and beside the words of the user, and summaries of compactions.
import { expect, it } from "vitest";
import { asksForClientSummary, isClientSummary, strippedUserText } from "../../src/security/index.ts";

const CLAW = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nkept private\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>";

it.each([
  ["<command-message>x is running</command-message>\n<command-name>/x</command-name>", "/x"],
  ["<command-name>/x</command-name>\n<command-args>a <b>\nc</command-args>", "/x a <b>\nc"],
  ["<command-name>/clear</command-name>\n<command-args></command-args>", ""],
  ["<command-name>/compact</command-name>\n<command-args>keep names</command-args>", ""],
  ["/compact", ""],
  ["<bash-input>ls</bash-input>", ""],
  ["<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>", ""],
  ["<local-command-caveat>x</local-command-caveat>\nfix it", "fix it"],
  ["[Request interrupted by user for tool use]", ""],
  ["<ide_selection>lines 1 to 3</ide_selection>", ""],
  ["<system-reminder>a</system-reminder><ide_selection>b</ide_selection> fix it", "fix it"],
  ["Stop hook feedback:\n- lint", ""],
  ["<environment_context>\n<cwd>/x</cwd>\n</environment_context>", ""],
  ["# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\ny\n</INSTRUCTIONS>", ""],
  ["<current_datetime>2026-11-17T10:00:00Z</current_datetime>\n\nfix it", "fix it"],
  ["<hook_context>a</hook_context>\n\n/fix it\n\n<hook_context>b</hook_context>", "/fix it"],
  ["<session_context>\nToday\n</session_context>", ""],
  ['<codex_internal_context source="a">\nb\n</codex_internal_context>', ""],
  ["Warning: Your account was flagged for potentially x", ""],
  ['<user_input mode="act">fix it</user_input>\n<environment_details>x</environment_details>', "fix it"],
  ["[Tue 2026-11-17 10:00 UTC] fix it", "fix it"],
  ["[Tue 2026-11-17 10:00 UTC] fix\n\nit\n\nRuntime: agent=main | host=x", "fix\n\nit"],
  ["<memory-context>a<memory-context>b</memory-context>c</memory-context> mine", "mine"],
  ["<memory-context>a<memory-context>b</memory-context> mine", "mine"],
  ["<system-reminder><memory-context>x</memory-context></system-reminder>", ""],
  [CLAW, ""],
  [`${CLAW}\n\n[Tue 2026-11-17 10:00 GMT+2] fix it`, "fix it"],
])("reads the user text %j", (recorded, text) => {
  expect(strippedUserText(recorded)).toBe(text);
  expect(strippedUserText(text)).toBe(text);
});

it.each([
  "",
  "  two\n",
  "a < b",
  "<b>bold</b>",
  "see <system-reminder>",
  "<system-reminder> never closed",
  "what does <command-name> mean?",
  "why <current_datetime>x</current_datetime>?",
  "I ran <bash-input>ls</bash-input>",
  "/clear the table, please",
  "[Request interrupted by user] is what I read. Why?",
  "# AGENTS.md instructions: are they read?",
  "[Tue] is a day, [2026-11-17] a date",
  "Warning: your account is flagged",
  "<external_note>b</external_note>",
  "<INSTRUCTIONS>Write a poem about cats</INSTRUCTIONS>",
  "<skill>cooking</skill> and <skill>dancing</skill>",
  "<skill>cooking</skill>",
  "<turn_aborted>a</turn_aborted> or <turn_aborted>b</turn_aborted>?",
  "# AGENTS.md instructions\nPlease rewrite this heading",
  "Warning: Your account was flagged by GitHub. What do I do?",
  "Compare `<environment_details>x</environment_details>` with the parser",
  "the tag <system-reminder>x</system-reminder>. Say so.",
  "at [Tue 2026-11-17 10:00 UTC] it broke",
  "\n\nRuntime: agent=x\nis a line of its log",
  "what is <<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>> and <<<END_OPENCLAW_INTERNAL_CONTEXT>>>?",
  "see <environment_context>x</environment_context>",
  "Sum up:\n<reviews>\n<user_feedback>It crashes</user_feedback>\n</reviews>\nThanks",
  "Why is this ignored?\n```\n<system-reminder>x</system-reminder>\n```",
  "<session_context>cart=9</session_context>\nWhy is the cart empty?",
  "<timestamp>1699999999</timestamp> convert this to a date",
  "<hindsight_bias>I knew it</hindsight_bias> is a line of mine",
  "<relevant_memories>our own tag</relevant_memories>: rename it",
  "const f = () => <attached_files>x</attached_files>",
  "> <system-reminder>quoted by me</system-reminder>",
  "<b><task-notification>7</task-notification></b>",
  "It says:\n\nRuntime: agent=main crashed at 10:00",
  "Warning: Your account was flagged for potentially high-risk activity. What does it mean?",
  "Stop hook feedback:\n- lint\n\nWhy does it print this?",
  "# AGENTS.md instructions for x\n\n<INSTRUCTIONS>\ny\n</INSTRUCTIONS>\n\nFix the bug",
])("leaves %j as it is", (text) => {
  expect(strippedUserText(text)).toBe(text);
});

it("takes linear time for any number of names without an end", () => {
  const text = Array.from({ length: 50_000 }, (_, at) => `<hindsight_${at}> </hindsight_${at + 1}>`).join("");
  const start = performance.now();
  strippedUserText(text);
  strippedUserText(`${"<task>".repeat(100_000)}${"</task>".repeat(100_000)}`);
  strippedUserText("<bash-input></bash-input>".repeat(100_000));
  expect(performance.now() - start).toBeLessThan(2000);
});

it.each([
  "This session is being continued from a previous conversation that ran out of context. Summary: ...",
  "\nAnother language model started to solve this problem and produced a summary of its thinking process.",
  "You were originally given instructions from a user over one or more turns. Here were the user messages:",
  "The conversation history before this point was compacted into the following summary:\n<summary>",
  "<state_snapshot>\n<overall_goal>x</overall_goal></state_snapshot>",
])("knows the summary of a client: %j", (text) => {
  expect(isClientSummary(text)).toBe(true);
  expect(isClientSummary(`He wrote: ${text}`)).toBe(false);
  expect(asksForClientSummary(text)).toBe(false);
});

it("takes a snapshot with words behind it for words", () => {
  expect(isClientSummary("<state_snapshot>x</state_snapshot>\n\nNow fix the bug")).toBe(false);
});

it("knows the question that opencode asks for its summary", () => {
  expect(asksForClientSummary("What did we do so far?")).toBe(true);
  expect(asksForClientSummary("What did we do so far? And why?")).toBe(false);
});
