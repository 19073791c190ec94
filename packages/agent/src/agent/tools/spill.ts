// Results too long for a conversation: the whole text goes to a file, the model gets its beginning and how to read the rest.
import { codePointLength, describeCause, takeCodePoints } from "@hermes-memory/core/lib";
import {
  keepResult,
  longestStart,
  lostResultNote,
  type ResultLimits,
  resultNote,
} from "@hermes-memory/core/sessions";
import { RESULTS_OF_A_BATCH, shareOf } from "./result-limits.ts";

const PREVIEW_CHARS = 1_500;
/** A preview, with the note behind it, may take this part of what a whole result may. */
const PREVIEW_SHARE = 0.25;

export type Spilled = {
  readonly preview: string;
  /** For the model: how long it is, and how to get at the rest. */
  readonly note: string;
  /** Absent when it could not be written. */
  readonly path?: string;
};

/** Which of the results of one batch must go: the long ones, then the longest until the rest fits. Places in the list. */
export function tooLong(texts: readonly string[], limits: ResultLimits): ReadonlySet<number> {
  const results = texts.map((text, place) => ({ place, share: shareOf(text, limits) }));
  // Of two that are about as long the later one goes: what was asked for first is read first.
  const step = ({ share }: { readonly share: number }): number =>
    share > 1 ? share : Math.round(share * 20) / 20;
  const longestFirst = results.toSorted((a, b) => step(b) - step(a) || b.place - a.place);
  const leaving = new Set<number>();
  let total = results.reduce((sum, { share }) => sum + share, 0);
  for (const { place, share } of longestFirst) {
    // What is hardly longer than its own preview gains nothing.
    const isShort = codePointLength(texts[place] ?? "") <= 2 * PREVIEW_CHARS && share <= PREVIEW_SHARE;
    if (share <= 1 && (total <= RESULTS_OF_A_BATCH || isShort)) break;
    leaving.add(place);
    total -= share;
  }
  return leaving;
}

export type SpillTarget = {
  /** The directory of kept results. */
  readonly directory: string;
  readonly limits: ResultLimits;
  /** How many results of this batch are spilled: their previews share its room. */
  readonly among: number;
  /** The tool that reads kept results, when the model has it. */
  readonly reader: string | undefined;
};

/** Never rejects: a full disk costs the rest of the text, and the note says so. */
export async function spill(text: string, callId: string, target: SpillTarget): Promise<Spilled> {
  const whole = text.toWellFormed(); // half a surrogate pair cannot be written
  const preview = previewOf(whole, target);
  const [chars, shownChars] = [codePointLength(whole), codePointLength(preview)];
  try {
    const { id, path } = await keepResult(target.directory, callId, whole);
    return { preview, path, note: resultNote({ id, chars, shownChars, reader: target.reader }) };
  } catch (cause) {
    return { preview, note: lostResultNote(chars, shownChars, describeCause(cause)) };
  }
}

function previewOf(text: string, { limits, among }: SpillTarget): string {
  const share = Math.min(PREVIEW_SHARE, RESULTS_OF_A_BATCH / 4 / among);
  return longestStart(
    takeCodePoints(text, PREVIEW_CHARS),
    PREVIEW_CHARS,
    (start) => shareOf(start, limits) <= share,
  );
}
