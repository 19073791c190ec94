// What OpenClaw's gateway adds to the conversation and its machines write into it.
import { strippedUserText } from "@hermes-memory/core/internal/security";
import type { PiRules } from "../pi/records.ts";

/** Prompts of timers name the file of the heartbeat, or ask for one of these answers. */
const MACHINE_PROMPT =
  /^Read HEARTBEAT\.md\b|\b(?:reply|respond|answer)(?: with)?(?: exactly| only)?:? [`"'*]*(?:HEARTBEAT_OK|NO_REPLY)\b/i;
const SILENT_ANSWER = /^\s*(?:NO_REPLY|HEARTBEAT_OK)\s*$/;

export const OPENCLAW_RULES: PiRules = {
  userText: (text) => {
    const plain = strippedUserText(text);
    return MACHINE_PROMPT.test(plain) ? undefined : plain;
  },
  ownProvider: "openclaw",
  isSilent: (text) => SILENT_ANSWER.test(text),
};
