// explain: where a text is, was, or was refused, in plain sentences.
import { type Explanation, fileNameOf, type MemoryStore } from "@hermes-memory/core/curated";
import type { CommandBody, CommandContext, CommandInput } from "../command.ts";
import { localTime, oneLine, printable } from "../printing.ts";
import { nonEmptyText, openStore, stagedWritesOf, targetFlag } from "./memory-command.ts";
import { type Asked, askedEntry, entryName } from "./named-entry.ts";

export const explain: CommandBody = async (input, context) => {
  const asked = await askedRead(input, context);
  const store = await openStore(input, context);
  const text = asked.by === "entry" ? entryName(asked, store, targetFlag(input)).oldText : asked.text;
  const isId = asked.by === "id";
  const explanation = store.explain(text, { ...stagedWritesOf(input, context), isId });
  return { json: explanation, lines: sentences(explanation, store), notes: store.warnings };
};

/** A number is a text like any other here: nothing is changed by it. */
async function askedRead(input: CommandInput, context: CommandContext): Promise<Asked> {
  const isFlagged = ["entry", "id", "text"].some((name) => input.flags[name] !== undefined);
  const { text: word } = input.args;
  if (isFlagged || word === undefined) return askedEntry(input, context, { word, command: "explain" });
  return { by: "text", text: await nonEmptyText(input, context, "text") };
}

export function sentences(explanation: Explanation, store: Pick<MemoryStore, "isEnabled">): string[] {
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
  if (since === undefined) return `${where}. The journal does not tell since when.${pin}`;
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

/** The entry itself, where only a part of it was asked for. */
function quoted(entry: string, asked: string): string[] {
  return entry === asked ? [] : [`  > ${oneLine(entry)}`];
}

function clean(line: string): string {
  return printable(line).replaceAll("\n", "⏎");
}
