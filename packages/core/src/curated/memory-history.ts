// Answers about the past, read from the journal: the list of changes, the entry that an id leads to, and everything known about
// one text (stored, blocked, archived, pending, removed, refused; by which writer and since when).
import { preview, sha256 } from "../lib/index.ts";
import { findingIds, scanThreats, secondGate } from "../security/index.ts";
import { pendingTexts, readPendingWrites } from "./approval/pending.ts";
import { cleanText, entryId, entryIds, fileNameOf, hasId, looksLikeId, type ScanOptions } from "./entries.ts";
import type { Replay, ReplayedChange, ReplayedRefusal } from "./journal-replay.ts";
import { isPinned, NO_PINS, type Pins } from "./pins.ts";
import type { TargetStore } from "./target-store.ts";
import { type Change, type MemoryError, type MemoryTarget, memoryError, type WriteOrigin } from "./types.ts";

// ---- The list of changes ----

/** With the ids of both texts, which other commands accept. */
export type HistoryChange = Change & { readonly before_id?: string; readonly after_id?: string };

/** One change of a curated file, as `hermes memory history --json` has it. */
export type HistoryLine = {
  readonly id: string;
  readonly time: string;
  readonly target: MemoryTarget;
  readonly action: string;
  readonly origin: WriteOrigin;
  readonly status: "committed" | "aborted" | "undone" | "refused";
  readonly session?: string;
  readonly reason?: string;
  /** Shared by changes that can be taken back as one. */
  readonly group?: string;
  readonly changes: readonly HistoryChange[];
  readonly archived?: readonly string[];
  readonly undoes?: string;
  readonly undone_by?: string;
  /** For a refusal: the kind of error, the scanner's findings, length and hash of the text. */
  readonly refusal?: {
    readonly error: string;
    readonly ids: readonly string[];
    readonly length: number;
    readonly sha256: string;
  };
};

type Moment = { readonly sequence: number; readonly time: string };

/**
 * Newest first, by the place in the journal: a clock that was set back changes nothing. Lines of two journals are put in order
 * by their sequence numbers; where those are equal or missing, by their times, and each journal keeps its own order.
 */
export function historyOf(stores: readonly TargetStore[], limit = Number.POSITIVE_INFINITY): HistoryLine[] {
  const waiting = stores.map((store) => {
    const { changes, refusals } = store.replay();
    const records = [...changes, ...refusals].sort((a, b) => a.position - b.position);
    return { target: store.target, records };
  });
  const merged: HistoryLine[] = [];
  while (merged.length < limit) {
    let newest: (typeof waiting)[number] | undefined;
    for (const each of waiting) if (isLater(each.records.at(-1), newest?.records.at(-1))) newest = each;
    const record = newest?.records.pop();
    if (!newest || !record) break;
    merged.push(lineOf(record, newest.target));
  }
  return merged;
}

/** If both moments are equal, `one` counts as later. */
export function isLater(one: Moment | undefined, other: Moment | undefined): boolean {
  if (!one || !other) return one !== undefined;
  return one.sequence === other.sequence ? one.time >= other.time : one.sequence > other.sequence;
}

function lineOf(record: ReplayedChange | ReplayedRefusal, target: MemoryTarget): HistoryLine {
  const { id, time, action, origin, sessionId: session, reason } = record;
  if (record.kind === "refusal") {
    const { error, ids, length, sha256 } = record;
    const refusal = { error, ids, length, sha256 };
    return { id, time, target, action, origin, status: "refused", session, reason, changes: [], refusal };
  }
  const { group, archived, undoes, undoneBy } = record;
  return {
    id,
    time,
    target,
    action,
    origin,
    status: undoneBy === undefined ? record.status : "undone",
    session,
    reason,
    group,
    changes: record.changes.map((step) => withIds(step, target)),
    archived,
    undoes,
    undone_by: undoneBy,
  };
}

function withIds(step: Change, target: MemoryTarget): HistoryChange {
  const { before, after } = step;
  return {
    ...step,
    before_id: before === null ? undefined : entryId(target, before),
    after_id: after === null ? undefined : entryId(target, after),
  };
}

// ---- From an id to the entry that has it, or that replaced the one that had it ----

export type FoundById =
  | {
      readonly kind: "entry";
      readonly text: string;
      /** Ids of the changes that led from the text with the given id to this one. Empty when it has the id itself. */
      readonly followed: readonly string[];
    }
  /** The journal knows the text, but no stored entry replaced it. */
  | { readonly kind: "gone"; readonly text: string; readonly error: MemoryError }
  | { readonly kind: "several"; readonly error: MemoryError }
  | { readonly kind: "unknown"; readonly error: MemoryError };

/** Reads the journal only when no entry has the id. */
export function findById(store: TargetStore, entries: readonly string[], id: string): FoundById {
  const { target, archive } = store;
  const present = entries.filter((entry) => hasId(target, entry, id));
  if (present.length > 1) return { kind: "several", error: severalHaveId(target, entries, present, id) };
  if (present[0] !== undefined) return { kind: "entry", text: present[0], followed: [] };
  const { changes } = store.replay();
  const start = lastDeparture(changes, (text) => hasId(target, text, id));
  if (!start) {
    const error = noMatch(`No entry has the id '${id}'. 'hermes memory show --ids' lists them.`);
    return { kind: "unknown", error };
  }
  const followed: string[] = [];
  for (let step: Departure | undefined = start; step; ) {
    const { change, index, text, after } = step;
    if (after === undefined) {
      const isArchived = archive.entries().some((archived) => archived.text === text);
      const how = isArchived ? "moved to the archive" : "removed";
      const message = `The entry with the id '${id}' was ${how} by change ${change.id}: '${preview(text, 80)}'.`;
      return { kind: "gone", text: start.text, error: noMatch(message) };
    }
    followed.push(change.id);
    if (entries.includes(after)) return { kind: "entry", text: after, followed };
    step = nextDeparture(changes, index, after);
  }
  const error = noMatch(`The entry with the id '${id}' is gone, and the journal does not say how.`);
  return { kind: "gone", text: start.text, error };
}

/** A text leaving the list. `after`: the text that replaced it, if one did. */
type Departure = {
  readonly change: ReplayedChange;
  readonly index: number;
  readonly text: string;
  readonly after: string | undefined;
};

function lastDeparture(
  changes: readonly ReplayedChange[],
  isWanted: (text: string) => boolean,
): Departure | undefined {
  for (let index = changes.length - 1; index >= 0; index -= 1) {
    const found = departuresOf(changes, index).findLast(({ text }) => isWanted(text));
    if (found) return found;
  }
  return undefined;
}

/** Moves forward only, so that a text that was added and removed several times cannot cause an endless loop. */
function nextDeparture(
  changes: readonly ReplayedChange[],
  from: number,
  wanted: string,
): Departure | undefined {
  for (let index = from + 1; index < changes.length; index += 1) {
    const found = departuresOf(changes, index).find(({ text }) => text === wanted);
    if (found) return found;
  }
  return undefined;
}

function departuresOf(changes: readonly ReplayedChange[], index: number): Departure[] {
  const change = changes[index];
  if (!change || change.status === "aborted") return [];
  return change.changes.flatMap(({ before, after, into }, step) =>
    before === null ? [] : [{ change, index, text: before, after: endOf(change, step, after ?? into) }],
  );
}

/** The text at the end of the change: a group may replace an entry more than once. */
function endOf({ changes }: ReplayedChange, step: number, text: string | undefined): string | undefined {
  let now = text;
  for (const { before, after, into } of changes.slice(step + 1))
    if (before !== null && before === now) now = after ?? into;
  return now;
}

function severalHaveId(
  target: MemoryTarget,
  entries: readonly string[],
  matches: readonly string[],
  id: string,
): MemoryError {
  const longer = entryIds(target, entries).filter((each) => each.startsWith(id));
  const message = `Several entries have an id that begins with '${id}': ${longer.join(", ")}. Give more of it.`;
  return memoryError({
    kind: "ambiguous",
    message,
    matches: matches.map((text) => preview(text, 80)),
    entries: matches,
  });
}

function noMatch(message: string): MemoryError {
  return memoryError({ kind: "no_match", message });
}

// ---- Everything about one text ----

type Actor = { readonly origin: WriteOrigin; readonly session?: string; readonly change: string };

/** Where a text is or was: current place, changes on the way, archive. */
export type Explanation = {
  readonly text: string;
  /** The id in the question; `text` is then the text that has it. */
  readonly id?: string;
  /** The entry that replaced the text with that id. `changes` are the ids of the changes on the way. */
  readonly leads_to?: {
    readonly target: MemoryTarget;
    readonly id: string;
    readonly entry: string;
    readonly changes: readonly string[];
  };
  readonly stored: readonly ({
    readonly target: MemoryTarget;
    readonly id: string;
    readonly entry: string;
    readonly position: number;
    readonly pinned: boolean;
    /** Findings that keep this entry out of the prompt. */
    readonly blocked_ids: readonly string[];
    readonly since?: string;
  } & Partial<Actor>)[];
  /** Findings in the text itself, as at a write. */
  readonly blocked_ids: readonly string[];
  readonly refused: readonly {
    target: MemoryTarget;
    time: string;
    error: string;
    ids: readonly string[];
    origin: WriteOrigin;
  }[];
  readonly archived: readonly {
    target: MemoryTarget;
    id: string;
    entry_id: string;
    entry: string;
    since: string;
    origin: WriteOrigin;
  }[];
  readonly pending: readonly { id: string; action: string; summary: string; since: string; origin: string }[];
  readonly removed: readonly ({
    target: MemoryTarget;
    id: string;
    entry: string;
    time: string;
    action: string;
    replaced_by?: string;
  } & Actor)[];
};

type ExplainContext = {
  readonly stores: readonly TargetStore[];
  readonly scan: ScanOptions;
  readonly pendingDirectory?: string;
};

/** A text that is found nowhere, but is the id of a known text, is explained as that text. `isId`: it is an id in any case. */
export function explain(text: string, context: ExplainContext, isId = false): Explanation {
  const asked = cleanText(text);
  const plain = explainText(asked, context);
  if (isId) return explainId(asked.toLowerCase(), context) ?? plain;
  const { stored, refused, archived, pending, removed } = plain;
  const isFound = [stored, refused, archived, pending, removed].some((hits) => hits.length > 0);
  return isFound || !looksLikeId(asked) ? plain : (explainId(asked, context) ?? plain);
}

/** Undefined when nothing is known about this id. */
function explainId(id: string, context: ExplainContext): Explanation | undefined {
  for (const store of context.stores) {
    const { target, entries, archive } = store;
    const found = findById(store, entries, id);
    if (found.kind === "entry" && found.followed.length > 0) {
      const old = store.replay().change(found.followed[0] ?? "");
      const text = old?.changes.find(({ before }) => before !== null && hasId(target, before, id))?.before;
      const leads_to = {
        target,
        id: entryId(target, found.text),
        entry: found.text,
        changes: found.followed,
      };
      return { ...explainText(text ?? found.text, context, true), id, leads_to };
    }
    const text =
      found.kind === "entry" || found.kind === "gone"
        ? found.text
        : archive.entries().find((entry) => hasId(target, entry.text, id))?.text;
    if (text !== undefined) return { ...explainText(text, context, true), id };
  }
  return undefined;
}

/**
 * Entries are found by a substring, ignoring case, or with `isWhole` by their whole text. A refused text is found only by its exact
 * words, because only its hash is kept.
 */
function explainText(
  asked: string,
  { stores, scan, pendingDirectory }: ExplainContext,
  isWhole = false,
): Explanation {
  const needle = asked.toLowerCase();
  const matches = (entry: string): boolean =>
    isWhole ? entry === asked : needle !== "" && entry.toLowerCase().includes(needle);
  const found = stores.map((store) => explainTarget(store, asked, matches, scan));
  const pending = pendingDirectory ? readPendingWrites(pendingDirectory).records : [];
  return {
    text: asked,
    stored: found.flatMap(({ stored }) => stored),
    blocked_ids: [...threatIds(asked, scan), ...findingIds(secondGate(asked, scan))],
    refused: found.flatMap(({ refused }) => refused),
    archived: found.flatMap(({ archived }) => archived),
    pending: pending
      .filter(({ payload }) => pendingTexts(payload).some(matches))
      .map(({ id, action, summary, created_at, origin }) => ({
        id,
        action,
        summary,
        since: new Date(created_at * 1000).toISOString(),
        origin,
      })),
    removed: found.flatMap(({ removed }) => removed),
  };
}

function explainTarget(
  store: TargetStore,
  asked: string,
  matches: (entry: string) => boolean,
  scan: ScanOptions,
): Pick<Explanation, "stored" | "refused" | "archived" | "removed"> {
  const { target, entries, archive } = store;
  const replay = store.replay();
  const pins = readablePins(store);
  const stored = entries.flatMap((entry, index) => {
    if (!matches(entry)) return [];
    const known = replay.known.get(entry);
    return [
      {
        target,
        id: entryId(target, entry),
        entry,
        position: index + 1,
        pinned: isPinned(pins, target, entry),
        blocked_ids: threatIds(entry, scan),
        since: known?.since,
        ...(known && actor(known)),
      },
    ];
  });
  const hash = sha256(asked);
  const isMissing = (text: string): boolean => matches(text) && !entries.includes(text);
  return {
    stored,
    refused: replay.refusals
      .filter((refusal) => refusal.sha256 === hash)
      .map(({ time, error, ids, origin }) => ({ target, time, error, ids, origin })),
    archived: archive
      .entries()
      .filter(({ text }) => isMissing(text))
      .map(({ id, text, time, origin }) => ({
        target,
        id,
        entry_id: entryId(target, text),
        entry: text,
        since: time,
        origin,
      })),
    removed: removals(replay, target, isMissing),
  };
}

/** A damaged pin file must not hide where a text is. */
function readablePins(store: TargetStore): Pins {
  try {
    return store.readPins();
  } catch {
    return NO_PINS;
  }
}

/** The last removal of each text, newest first. */
function removals(
  replay: Replay,
  target: MemoryTarget,
  isAsked: (entry: string) => boolean,
): Explanation["removed"] {
  const last = new Map<string, Explanation["removed"][number]>();
  for (const change of replay.changes) {
    if (change.status === "aborted") continue;
    for (const { before, after } of change.changes) {
      if (before === null || !isAsked(before)) continue;
      last.set(before, {
        target,
        id: entryId(target, before),
        entry: before,
        time: change.time,
        action: change.archived?.includes(before) ? "archive" : change.action,
        ...actor(change),
        replaced_by: after ?? undefined,
      });
    }
  }
  return [...last.values()].reverse();
}

function actor({ origin, sessionId, id }: Pick<ReplayedChange, "origin" | "sessionId" | "id">): Actor {
  return { origin, change: id, session: sessionId };
}

function threatIds(text: string, scan: ScanOptions): string[] {
  return scanThreats(text, "strict", scan).map(({ id }) => id);
}

// ---- In words ----

/** Where a text is or was, in sentences for people. Times are ISO. */
export function explanationLines(
  explanation: Explanation,
  isEnabled: (target: MemoryTarget) => boolean,
): string[] {
  const { text, id, leads_to: now, stored, pending, archived, removed, refused } = explanation;
  const lines = [
    ...(id === undefined ? [] : [`The id ${id} is that of '${text}'.`]),
    ...(now === undefined
      ? []
      : [
          `It was replaced (${now.changes.join(", ")}). The entry is now ${now.id} in ${fileNameOf(now.target)}: '${now.entry}'.`,
        ]),
    ...stored.map((hit) => aboutStored(hit, isEnabled)),
    ...pending.map(
      ({ since, origin, id: pendingId }) =>
        `A write with it waits for approval since ${since}, from ${origin}: ${pendingId}.`,
    ),
    ...archived.map(
      ({ target, id: archivedId, since, origin, entry }) =>
        `In the archive of ${fileNameOf(target)} as ${archivedId} since ${since}, moved there by a write of ${origin}: '${entry}'. 'hermes memory archive restore ${archivedId}' brings it back.`,
    ),
    ...removed.map(aboutRemoved),
    ...refused.map(
      ({ target, time, error, ids, origin }) =>
        `Refused at ${time} for ${fileNameOf(target)}, from ${origin}: ${[error, ...ids].join(", ")}.`,
    ),
  ];
  const { blocked_ids: blocked } = explanation;
  return [
    ...(lines.length > 0 ? lines : ["Never seen here."]),
    ...(blocked.length > 0 ? [`A write of this text is blocked by the scanner: ${blocked.join(", ")}.`] : []),
  ];
}

function aboutStored(
  hit: Explanation["stored"][number],
  isEnabled: (target: MemoryTarget) => boolean,
): string {
  const { target, id, entry, since, origin, change, session, pinned, blocked_ids: blocked } = hit;
  const file = fileNameOf(target);
  const when =
    since === undefined
      ? "; the journal does not say since when"
      : origin === "external"
        ? ` since ${since} or before, written by another program or by hand, change ${change}`
        : ` since ${since}, added by ${origin}${inSession(session)}, change ${change}`;
  return [
    `Stored in ${file} as ${id}${when}: '${entry}'.`,
    ...(pinned ? ["It is pinned."] : []),
    ...(blocked.length > 0 ? [`It is kept out of the prompt: ${blocked.join(", ")}.`] : []),
    ...(isEnabled(target) ? [] : [`${file} is switched off, so no prompt shows it.`]),
  ].join(" ");
}

function aboutRemoved(hit: Explanation["removed"][number]): string {
  const { target, entry, time, action, origin, session, change, replaced_by: now } = hit;
  const verb = now !== undefined ? "Replaced in" : action === "archive" ? "Archived from" : "Removed from";
  const by = origin === "external" ? "another program or by hand" : `${origin}${inSession(session)}`;
  const how = action === "undo" ? " (an undo)" : "";
  const after = now === undefined ? "" : ` The new text: '${now}'.`;
  return `${verb} ${fileNameOf(target)} at ${time} by ${by}${how}, change ${change}: '${entry}'.${after}`;
}

function inSession(session: string | undefined): string {
  return session === undefined ? "" : ` in session ${session}`;
}
