// `hermes memory history`, `undo` and `explain`: what changed, and where a text is, was, or was refused.
import { explanationLines, type HistoryChange, type HistoryLine } from "@hermes-memory/core/internal/curated";
import { type CommandBody, type CommandContext, type CommandInput, unwrap } from "../command.ts";
import { changeLine, indented, localTime, localTimes, newestOf, oneLine, printable } from "../printing.ts";
import { archiveMark, changed } from "./entries.ts";
import {
  type Asked,
  askedEntry,
  entryName,
  memoryFailure,
  nonEmptyText,
  openStore,
  stagedWritesOf,
  targetFlag,
} from "./memory-command.ts";

export const history: CommandBody = async (input, context) => {
  const store = await openStore(input, context);
  const { shown, notes } = newestOf(store.history(targetOption(input)), input);
  return {
    json: shown,
    lines:
      shown.length > 0 ? shown.flatMap((line) => historyLines(line, input.flags.full === true)) : undefined,
    notes: [...store.warnings, ...notes],
  };
};

export const undo: CommandBody = async (input, context) => {
  const store = await openStore(input, context);
  const asked = { ...targetOption(input), id: input.args.id };
  const candidate = store.undoCandidate(asked);
  // By its id from here on, so that a newer change of another process is not undone instead.
  const chosen = candidate ? { id: candidate.id, target: candidate.target } : asked;
  const outcome = unwrap(await store.undo(chosen, { origin: "cli" }), memoryFailure);
  const undone = await changed(outcome, store, input, context);
  const { changes = [] } = outcome;
  // `changed` has printed the texts that left the file.
  const came = changes.filter(({ before }) => before === null);
  return {
    ...undone,
    json: { ...(undone.json as object), undone: candidate?.id, changes },
    lines: [...(undone.lines ?? []), ...came.map((step) => changeLine(step, input.flags.full === true))],
  };
};

function targetOption(input: CommandInput): { target?: "memory" | "user" } {
  return input.flags.target === undefined ? {} : { target: targetFlag(input) };
}

/** The refused text itself is not in the journal. */
function historyLines(line: HistoryLine, isWhole: boolean): string[] {
  const {
    id,
    time,
    target,
    origin,
    action,
    undoes,
    status,
    undone_by: by,
    refusal,
    reason,
    changes,
    archived,
  } = line;
  const mark = {
    committed: "",
    aborted: "never took effect",
    undone: `undone by ${by}`,
    refused: "refused: ",
  };
  const state = `${mark[status]}${[refusal?.error ?? [], ...(refusal?.ids ?? [])].flat().join(" ")}`;
  const what = undoes === undefined ? action : `${action} of ${undoes}`;
  const head = `${localTime(time)}  ${id}  ${target.padEnd(6)}  ${origin}  ${what}`;
  return [
    printable(state === "" ? head : `${head}  [${state}]`),
    ...changes.map((step) => `${changeLine(step, isWhole)}${archiveMark(step, archived)}${idMark(step)}`),
    ...(reason === undefined ? [] : [`    reason: ${isWhole ? indented(reason, 4) : oneLine(reason)}`]),
  ];
}

function idMark({ before_id, after_id }: HistoryChange): string {
  const ids = [before_id, after_id].filter((id) => id !== undefined);
  return ids.length === 0 ? "" : `  [${ids.join(" -> ")}]`;
}

export const explain: CommandBody = async (input, context) => {
  const asked = await askedRead(input, context);
  const store = await openStore(input, context);
  const text = asked.by === "entry" ? entryName(asked, store, targetFlag(input)).oldText : asked.text;
  const isId = asked.by === "id";
  const explanation = store.explain(text, { ...stagedWritesOf(input, context), isId });
  const lines = explanationLines(explanation, (target) => store.isEnabled(target));
  return {
    json: explanation,
    lines: lines.map((line) => localTimes(printable(line).replaceAll("\n", "⏎"))),
    notes: store.warnings,
  };
};

/** Unlike in commands that write, a bare number is a text. */
async function askedRead(input: CommandInput, context: CommandContext): Promise<Asked> {
  const isFlagged = ["entry", "id", "text"].some((name) => input.flags[name] !== undefined);
  const { text: word } = input.args;
  if (isFlagged || word === undefined) return askedEntry(input, context, { word, command: "explain" });
  return { by: "text", text: await nonEmptyText(input, context, "text") };
}
