// history, undo.
import type { HistoryChange, HistoryLine } from "@hermes-memory/core/curated";
import type { CommandBody, CommandContext, CommandInput } from "../command.ts";
import { unwrap } from "../command.ts";
import { changeLine, indented, localTime, oneLine, printable } from "../printing.ts";
import { changed } from "./entries.ts";
import { memoryFailure, openStore, targetFlag } from "./memory-command.ts";

const DEFAULT_LIMIT = 20;

export const history: CommandBody = async (input, context) => {
  const store = await openStore(input, context);
  const all = store.history(targetOption(input));
  const limit = typeof input.flags.limit === "number" ? input.flags.limit : DEFAULT_LIMIT;
  const lines = all.slice(0, limit);
  const isWhole = input.flags.full === true;
  const more = `The newest ${lines.length} of ${all.length} changes; --limit ${all.length} lists them all.`;
  return {
    json: lines,
    lines:
      lines.length > 0 ? lines.flatMap((line) => render(line, isWhole, context)) : ["No changes recorded."],
    notes: [...store.warnings, ...(all.length > lines.length ? [more] : [])],
  };
};

export const undo: CommandBody = async (input, context) => {
  const store = await openStore(input, context);
  const asked = { ...targetOption(input), ...(input.args.id === undefined ? {} : { id: input.args.id }) };
  const candidate = store.undoCandidate(asked);
  // By its id from here on: a change that comes in between must not be taken back in its place.
  const chosen = candidate ? { id: candidate.id, target: candidate.target } : asked;
  const outcome = unwrap(await store.undo(chosen, { origin: "cli" }), memoryFailure);
  const told = await changed(outcome, store, input, context);
  const steps = outcome.changes ?? [];
  // What left the file is told already, and whole.
  const came = steps.filter(({ before }) => before === null);
  return {
    ...told,
    json: { ...(told.json as object), undone: candidate?.id, changes: steps },
    lines: [...told.lines, ...came.map((step) => changeLine(step, input.flags.full === true))],
  };
};

function targetOption(input: CommandInput): { target?: "memory" | "user" } {
  return input.flags.target === undefined ? {} : { target: targetFlag(input) };
}

function render(line: HistoryLine, isWhole: boolean, { io }: CommandContext): string[] {
  const { id, time, target, origin, action, undoes, session, reason, changes, archived } = line;
  const what = undoes === undefined ? action : `${action} of ${undoes}`;
  const mark = markOf(line);
  const head = `${localTime(time)}  ${id}  ${target.padEnd(6)}  ${origin}  ${what}`;
  return [
    printable(head) + (mark === undefined ? "" : `  ${io.paint("yellow", printable(`[${mark}]`))}`),
    ...changes.map(
      (step) =>
        changeLine(step, isWhole) + archiveMark(step.before, archived) + io.paint("dim", idMark(step)),
    ),
    ...(session === undefined ? [] : [io.paint("dim", `    session ${oneLine(session)}`)]),
    ...(reason === undefined
      ? []
      : [io.paint("dim", `    reason: ${isWhole ? indented(reason, 4) : oneLine(reason)}`)]),
  ];
}

function idMark({ before_id, after_id }: HistoryChange): string {
  const ids = [before_id, after_id].filter((id) => id !== undefined);
  return ids.length === 0 ? "" : `  [${ids.join(" -> ")}]`;
}

function archiveMark(before: string | null, archived: readonly string[] | undefined): string {
  return before !== null && archived?.includes(before) ? "  (to the archive)" : "";
}

function markOf({ status, undone_by, refusal }: HistoryLine): string | undefined {
  switch (status) {
    case "undone":
      return `undone by ${undone_by}`;
    case "aborted":
      return "aborted: never took effect";
    case "refused": {
      const ids = refusal && refusal.ids.length > 0 ? ` by ${refusal.ids.join(", ")}` : "";
      return `refused: ${refusal?.error}${ids}, ${refusal?.length} chars`;
    }
    case "committed":
      return undefined;
    default:
      return status satisfies never;
  }
}
