// What OpenClaw's gateway adds to the conversation and its machines write into it.
import type { PiRules } from "../pi/records.ts";

/** A time in brackets before the text, such as `[Wed 2026-02-18 11:21 GMT+1] `. A longer bracket is the user's own. */
const STAMP = /^\[(?=[^\]]{0,38}\])[^\]]*\d{4}-\d{2}-\d{2}[^\]]*\]\s*/;
/** Prompts of timers name the file of the heartbeat, or ask for one of these answers. */
const MACHINE_PROMPT =
  /^Read HEARTBEAT\.md\b|\b(?:reply|respond|answer)(?: with)?(?: exactly| only)?:? [`"'*]*(?:HEARTBEAT_OK|NO_REPLY)\b/i;
const SILENT_ANSWER = /^\s*(?:NO_REPLY|HEARTBEAT_OK)\s*$/;

export const OPENCLAW_RULES: PiRules = {
  userText: (text) => {
    const plain = text.replace(STAMP, "");
    return MACHINE_PROMPT.test(plain) ? undefined : plain;
  },
  ownProvider: "openclaw",
  isSilent: (text) => SILENT_ANSWER.test(text),
};
