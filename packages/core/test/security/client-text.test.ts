// What client programs put into messages of the user: Claude Code's wrappers, and summaries of compactions. The tags that are removed:
// packages/hermes-memory/test/import.
import { expect, it } from "vitest";
import {
  asksForClientSummary,
  isClientSummary,
  strippedUserText,
  typedText,
} from "../../src/security/index.ts";

it.each([
  ["<command-message>x is running</command-message>\n<command-name>/x</command-name>", "/x"],
  ["<command-name>/x</command-name>\n<command-args>a <b>\nc</command-args>", "/x a <b>\nc"],
  ["<ide_selection>lines 1 to 3</ide_selection>", ""],
  ["<system-reminder>a</system-reminder><ide_selection>b</ide_selection> fix it", "fix it"],
  ["<system-reminder> never closed", "<system-reminder> never closed"],
  ["Stop hook feedback:\n- lint", ""],
  ["what does <command-name> mean?", "what does <command-name> mean?"],
])("reads the user text %j", (recorded, text) => {
  expect(typedText(recorded)).toBe(text);
});

it("reads a text without anything injected as it is", () => {
  for (const text of ["", "  two\n", "a < b", "<b>bold</b>", "see <system-reminder>"])
    expect(strippedUserText(text)).toBe(text);
  expect(strippedUserText("<system-reminder>x</system-reminder> do it")).toBe("do it");
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

it("knows the question that opencode asks for its summary", () => {
  expect(asksForClientSummary("What did we do so far?")).toBe(true);
  expect(asksForClientSummary("What did we do so far? And why?")).toBe(false);
});
