// Answers "what about this text?": stored, blocked, archived, waiting, removed, refused; by whom and since when.
import { sha256 } from "../lib/index.ts";
import { findingIds, scanThreats, secondGate } from "../security/index.ts";
import { lookAtPending, pendingTexts } from "./approval/pending.ts";
import { cleanText, type ScanOptions } from "./content-check.ts";
import { entryId, hasId, looksLikeId } from "./entry-id.ts";
import { findById } from "./find-by-id.ts";
import type { Replay, ReplayedChange } from "./journal/replay.ts";
import { isPinned } from "./pins.ts";
import type { TargetStore } from "./target-store.ts";
import type { MemoryTarget, WriteOrigin } from "./types.ts";

type Actor = { readonly origin: WriteOrigin; readonly session?: string; readonly change: string };

export type Explanation = {
  readonly text: string;
  /** The id that was asked for; `text` is then the text that has it. */
  readonly id?: string;
  /** Where that id leads, when its text was replaced. `changes` are the ids of the changes on the way. */
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
  /** What the scanner says about the text itself, as it would at a write. */
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

/** A text that is found nowhere, but is the id of one that is known, stands for that one. */
export function explain(
  text: string,
  stores: readonly TargetStore[],
  scan: ScanOptions,
  options: { pendingDirectory?: string; isId?: boolean },
): Explanation {
  const plain = explainText(text, stores, scan, options);
  const { stored, refused, archived, pending, removed } = plain;
  if (options.isId) return explainId(plain.text.toLowerCase(), stores, scan, options) ?? plain;
  if (
    !looksLikeId(plain.text) ||
    [stored, refused, archived, pending, removed].some((hits) => hits.length > 0)
  )
    return plain;
  return explainId(plain.text, stores, scan, options) ?? plain;
}

/** Undefined when nothing is known of this id. */
function explainId(
  id: string,
  stores: readonly TargetStore[],
  scan: ScanOptions,
  options: { pendingDirectory?: string },
): Explanation | undefined {
  for (const store of stores) {
    const { target, entries, archive } = store;
    const found = findById(store, entries, id);
    const known = found.kind === "gone" || found.kind === "entry" ? found : undefined;
    if (known?.kind === "entry" && known.followed.length > 0) {
      const old = store.replay().change(known.followed[0] ?? "");
      const text = old?.changes.find(({ before }) => before !== null && hasId(target, before, id))?.before;
      const leads_to = {
        target,
        id: entryId(target, known.text),
        entry: known.text,
        changes: known.followed,
      };
      return { ...explainText(text ?? known.text, stores, scan, options, true), id, leads_to };
    }
    const text = known?.text ?? archive.entries().find((entry) => hasId(target, entry.text, id))?.text;
    if (text !== undefined) return { ...explainText(text, stores, scan, options, true), id };
  }
  return undefined;
}

/** Entries are found by a substring, letter case aside; a refused text only by its exact words, for only its hash is kept. */
function explainText(
  text: string,
  stores: readonly TargetStore[],
  scan: ScanOptions,
  options: { pendingDirectory?: string },
  isWhole = false,
): Explanation {
  const asked = cleanText(text);
  const needle = asked.toLowerCase();
  const matches = (entry: string): boolean =>
    isWhole ? entry === asked : needle !== "" && entry.toLowerCase().includes(needle);
  const found = stores.map((store) => explainTarget(store, asked, matches, scan));
  const pending = options.pendingDirectory ? lookAtPending(options.pendingDirectory).records : [];
  return {
    text: asked,
    stored: found.flatMap(({ stored }) => stored),
    blocked_ids: [
      ...scanThreats(asked, "strict", scan).map(({ id }) => id),
      ...findingIds(secondGate(asked, scan)),
    ],
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
  const isKept = pinsOf(store);
  const stored = entries.flatMap((entry, index) => {
    if (!matches(entry)) return [];
    const known = replay.known.get(entry);
    return [
      {
        target,
        id: entryId(target, entry),
        entry,
        position: index + 1,
        pinned: isKept(entry),
        blocked_ids: scanThreats(entry, "strict", scan).map(({ id }) => id),
        ...(known ? { since: known.since, ...actor(known) } : {}),
      },
    ];
  });
  const hash = sha256(asked);
  return {
    stored,
    refused: replay.refusals
      .filter((refusal) => refusal.sha256 === hash)
      .map(({ time, error, ids, origin }) => ({ target, time, error, ids, origin })),
    archived: archive
      .entries()
      .filter(({ text }) => matches(text) && !entries.includes(text))
      .map(({ id, text, time, origin }) => ({
        target,
        id,
        entry_id: entryId(target, text),
        entry: text,
        since: time,
        origin,
      })),
    removed: removals(replay, target, (entry) => matches(entry) && !entries.includes(entry)),
  };
}

/** Reading forgives: a damaged pin file must not hide where a text is. */
function pinsOf(store: TargetStore): (entry: string) => boolean {
  try {
    const pins = store.readPins();
    return (entry) => isPinned(pins, store.target, entry);
  } catch {
    return () => false;
  }
}

/** The last time each text went, newest first. */
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
      const wasArchived = change.archived?.includes(before) ?? false;
      const action = wasArchived ? "archive" : change.action;
      const replacement = after === null ? {} : { replaced_by: after };
      last.set(before, {
        target,
        id: entryId(target, before),
        entry: before,
        time: change.time,
        action,
        ...actor(change),
        ...replacement,
      });
    }
  }
  return [...last.values()].reverse();
}

function actor({ origin, sessionId, id }: Pick<ReplayedChange, "origin" | "sessionId" | "id">): Actor {
  return { origin, change: id, ...(sessionId === undefined ? {} : { session: sessionId }) };
}
