// `hermes memory history`, `undo` and `explain`: what changed, and where a text is, was, or was refused.
import {
  type Explanation,
  fileNameOf,
  type HistoryChange,
  type HistoryLine,
  type MemoryStore,
} from "@hermes-memory/core/internal/curated";
import { type CommandBody, type CommandContext, type CommandInput, unwrap } from "../command.ts";
import { changeLine, indented, localTime, oneLine, printable } from "../printing.ts";
import { changed } from "./entries.ts";
import { memoryFailure, nonEmptyText, openStore, stagedWritesOf, targetFlag } from "./memory-command.ts";
import { type Asked, askedEntry, entryName } from "./named-entry.ts";

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
  const asked = { ...targetOption(input), id: input.args.id };
  const candidate = store.undoCandidate(asked);
  // By its id from here on, so that a newer change of another process is not undone instead.
  const chosen = candidate ? { id: candidate.id, target: candidate.target } : asked;
  const outcome = unwrap(await store.undo(chosen, { origin: "cli" }), memoryFailure);
  const undone = await changed(outcome, store, input, context);
  const steps = outcome.changes ?? [];
  // `changed` has printed the texts that left the file.
  const came = steps.filter(({ before }) => before === null);
  return {
    ...undone,
    json: { ...(undone.json as object), undone: candidate?.id, changes: steps },
    lines: [...(undone.lines ?? []), ...came.map((step) => changeLine(step, input.flags.full === true))],
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

// explain

export const explain: CommandBody = async (input, context) => {
  const asked = await askedRead(input, context);
  const store = await openStore(input, context);
  const text = asked.by === "entry" ? entryName(asked, store, targetFlag(input)).oldText : asked.text;
  const isId = asked.by === "id";
  const explanation = store.explain(text, { ...stagedWritesOf(input, context), isId });
  return { json: explanation, lines: sentences(explanation, store), notes: store.warnings };
};

/** Unlike in commands that write, a bare number is a text. */
async function askedRead(input: CommandInput, context: CommandContext): Promise<Asked> {
  const isFlagged = ["entry", "id", "text"].some((name) => input.flags[name] !== undefined);
  const { text: word } = input.args;
  if (isFlagged || word === undefined) return askedEntry(input, context, { word, command: "explain" });
  return { by: "text", text: await nonEmptyText(input, context, "text") };
}

function sentences(explanation: Explanation, store: Pick<MemoryStore, "isEnabled">): string[] {
  const { text, stored, pending, archived, removed, refused, blocked_ids: blocked } = explanation;
  const { id, leads_to: now } = explanation;
  const lines = [
    ...(id === undefined ? [] : [`The id ${id} is that of: ${oneLine(text)}`]),
    ...(now === undefined
      ? []
      : [
          `That text was replaced (${now.changes.join(", ")}). The entry is now ${now.id} in ${fileNameOf(now.target)}: ${oneLine(now.entry)}`,
        ]),
    ...stored.flatMap((hit) => [aboutStored(hit), ...quoted(hit.entry, text), ...aboutPrompt(hit, store)]),
    ...pending.map(
      ({ id, since, origin, summary }) =>
        `Waiting for approval since ${localTime(since)}, from ${origin}: ${id}  ${oneLine(summary, 120)}`,
    ),
    ...archived.flatMap(({ target, id, since, origin, entry }) => [
      `In the archive of ${fileNameOf(target)} since ${localTime(since)}, moved there by a write of ${origin}. ` +
        `'hermes memory archive restore ${id}' brings it back.`,
      ...quoted(entry, text),
    ]),
    ...removed.flatMap((hit) => [aboutRemoved(hit), ...quoted(hit.entry, text)]),
    ...refused.map(
      ({ target, time, error, ids, origin }) =>
        `Refused at ${localTime(time)} for ${fileNameOf(target)}, from ${origin}: ${[error, ...ids].join(", ")}.`,
    ),
  ];
  const wouldBe =
    blocked.length > 0 ? [`A write of this text is blocked by the scanner: ${blocked.join(", ")}.`] : [];
  return [...(lines.length > 0 ? lines.map(clean) : ["Never seen here."]), ...wouldBe];
}

type Stored = Explanation["stored"][number];

function aboutStored({ target, id, position, since, origin, change, session, pinned }: Stored): string {
  const where = `Stored in ${fileNameOf(target)} (entry ${position}, id ${id})`;
  const pin = pinned ? " It is pinned." : "";
  if (since === undefined) return `${where}. The journal does not say since when.${pin}`;
  if (origin === "external")
    return `${where} since ${localTime(since)} or before, written by another program or by hand, change ${change}.${pin}`;
  return `${where} since ${localTime(since)}, added by ${origin}${inSession(session)}, change ${change}.${pin}`;
}

function aboutPrompt({ target, blocked_ids: ids }: Stored, store: Pick<MemoryStore, "isEnabled">): string[] {
  return [
    ...(ids.length > 0 ? [`  It is kept out of the prompt: ${ids.join(", ")}.`] : []),
    ...(store.isEnabled(target) ? [] : [`  ${fileNameOf(target)} is switched off, so no prompt shows it.`]),
  ];
}

const VERBS: Readonly<Record<string, string>> = {
  archive: "Moved from",
  reset: "Deleted with all of",
  undo: "Taken out of",
};

function aboutRemoved({ target, time, action, origin, session, change, replaced_by }: Removed): string {
  const verb = replaced_by === undefined ? (VERBS[action] ?? "Removed from") : "Replaced in";
  const archive = action === "archive" ? " to the archive" : "";
  const by = origin === "external" ? "another program or by hand" : `${origin}${inSession(session)}`;
  const how = action === "undo" ? " (an undo)" : "";
  const now = replaced_by === undefined ? "" : ` The new text: ${oneLine(replaced_by)}`;
  return `${verb} ${fileNameOf(target)}${archive} at ${localTime(time)} by ${by}${how}, change ${change}.${now}`;
}

type Removed = Explanation["removed"][number];

function inSession(session: string | undefined): string {
  return session === undefined ? "" : ` in session ${session}`;
}

/** The whole entry, where the user gave only a part of it. */
function quoted(entry: string, asked: string): string[] {
  return entry === asked ? [] : [`  > ${oneLine(entry)}`];
}

function clean(line: string): string {
  return printable(line).replaceAll("\n", "⏎");
}
