// The line above the input while something runs: what it is, and for how long.
import type { AgentEvent } from "@hermes-memory/agent/agent";
import { oneLine } from "../printing.ts";
import { cutToWidth } from "../sessions/text-layout.ts";
import { duration } from "./transcript.ts";
import type { Row } from "./view/span.ts";

export const WAITING = "waiting for the model";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
/** Shorter waits need no figure. */
const TOLD_FROM_MS = 2000;

/** Undefined: the event says nothing about what runs now. */
export function activityOf(event: AgentEvent): string | undefined {
  switch (event.type) {
    case "turn-start":
    case "text-discard":
    case "tool-end":
    case "compaction-end":
      return WAITING;
    case "reasoning-delta":
      return "thinking";
    case "text-delta":
      return "answering";
    case "tool-start":
      return `running ${oneLine(event.name)}`;
    case "retry":
      return "waiting before the next attempt";
    case "compaction-start":
      return "compacting the conversation";
    default:
      return undefined;
  }
}

export function busyRow(activity: string, elapsedMs: number, columns: number): Row {
  const frame = FRAMES[Math.floor(elapsedMs / FRAME_MS) % FRAMES.length] ?? "";
  const seconds = duration(Math.floor(elapsedMs / 1000) * 1000);
  const time = elapsedMs < TOLD_FROM_MS ? "" : `, ${seconds.replace(".0 s", " s")}`;
  return [{ text: cutToWidth(`${frame} ${activity}${time} (Ctrl-C stops it)`, columns - 1), style: "dim" }];
}
