// Results too long for a conversation: the whole text goes to a file, the model gets its beginning and where the rest is.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  codePointLength,
  describeCause,
  groupThousands,
  randomHex,
  takeCodePoints,
} from "../../lib/index.ts";

export const MAX_RESULT_CHARS = 100_000;
export const MAX_BATCH_CHARS = 200_000;
const PREVIEW_CHARS = 1_500;

export type Spilled = {
  readonly preview: string;
  /** For the model: how long it is, where it is, how to get at the rest. */
  readonly note: string;
  /** Absent when it could not be written. */
  readonly path?: string;
};

/** Which of the results of one batch must go: the long ones, then the longest until the rest fits. Places in the list. */
export function tooLong(lengths: readonly number[]): ReadonlySet<number> {
  const longestFirst = lengths
    .map((_, place) => place)
    .sort((a, b) => at(lengths, b) - at(lengths, a) || a - b);
  const leaving = new Set<number>();
  let total = lengths.reduce((sum, length) => sum + length, 0);
  for (const place of longestFirst) {
    const length = at(lengths, place);
    // What is hardly longer than its own preview gains nothing.
    if (length <= MAX_RESULT_CHARS && (total <= MAX_BATCH_CHARS || length <= 2 * PREVIEW_CHARS)) break;
    leaving.add(place);
    total -= length - PREVIEW_CHARS;
  }
  return leaving;
}

/** Never rejects: a full disk costs the rest of the text, and the note says so. */
export async function spill(text: string, home: string, callId: string): Promise<Spilled> {
  const preview = takeCodePoints(text, PREVIEW_CHARS);
  const size = `The result has ${groupThousands(codePointLength(text))} characters; only the first ${groupThousands(PREVIEW_CHARS)} are shown.`;
  const less = "or call the tool again with arguments that ask for less";
  try {
    const path = await write(text, join(home, "tool-results"), callId);
    const note = `[${size} All of it is in the file ${path}: read it in parts with a tool that reads files, ${less}.]`;
    return { preview, path, note };
  } catch (cause) {
    const note = `[${size} The rest could not be kept (${describeCause(cause)}); ask for less and call the tool again.]`;
    return { preview, note };
  }
}

async function write(text: string, directory: string, callId: string): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const name = callId.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 48);
  const path = join(directory, `${name}-${randomHex(4)}.txt`);
  await writeFile(path, text, { flag: "wx", mode: 0o600 });
  return path;
}

function at(lengths: readonly number[], place: number): number {
  return lengths[place] ?? 0;
}
