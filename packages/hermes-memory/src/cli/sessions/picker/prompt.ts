// Choosing without a screen: a numbered list, and a number from standard input.
import type { ListedSession } from "@hermes-memory/core/sessions";
import type { Terminal } from "../../command.ts";
import { linesOf, lineText } from "../lines.ts";
import { relativeTime } from "../relative-time.ts";
import { flat, nameOf } from "../table.ts";
import { fitToWidth } from "../width.ts";
import type { PickerEnd } from "./state.ts";

const NAME_COLUMNS = 48;

/** A wrong answer is asked again; an empty one, `q` and the end of input leave. All of it goes to stderr. */
export async function promptForSession(
  io: Pick<Terminal, "note" | "inputChunks">,
  sessions: readonly ListedSession[],
  now: Date,
): Promise<PickerEnd> {
  for (const [index, session] of sessions.entries()) io.note(`${numberedLine(session, index + 1, now)}\n`);
  const question = `Number of the session (1-${sessions.length}, empty to leave): `;
  io.note(question);
  for await (const line of linesOf(io.inputChunks())) {
    const answer = (lineText(line) ?? "").trim();
    if (answer === "" || answer === "q") break;
    const session = /^\d+$/.test(answer) ? sessions[Number(answer) - 1] : undefined;
    if (session !== undefined) return { kind: "chosen", session };
    io.note(`There is no number '${flat(answer).slice(0, 20)}'.\n${question}`);
  }
  io.note("\n");
  return { kind: "quit" };
}

function numberedLine(session: ListedSession, number: number, now: Date): string {
  const age = relativeTime(session.last_active, now);
  return `${String(number).padStart(4)}. ${fitToWidth(nameOf(session), NAME_COLUMNS)}  ${fitToWidth(age, 10)}  ${flat(session.id)}`;
}
