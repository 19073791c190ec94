// The file that a write is about to replace, kept until it is clear that nobody edited it between our reading it and our
// putting the new one in its place. Somebody who takes no lock can do that at any moment.
import { linkSync, renameSync, unlinkSync } from "node:fs";
import { describeCause, errnoCode, writeFileAtomic } from "../lib/index.ts";
import { backupPathFor } from "./backup.ts";
import type { OpenMemoryFile } from "./memory-file.ts";

/** Ends the name of a second link to a file that is being replaced. */
export const HELD_SUFFIX = ".old.tmp";

export class HeldFile implements Disposable {
  readonly #opened: OpenMemoryFile;
  readonly #path: string;
  readonly #link: string;
  readonly #warn: (line: string) => void;
  #isLinked = false;

  /** `path` is where the file really is; `link` a name beside it. */
  constructor(opened: OpenMemoryFile, path: string, link: string, warn: (line: string) => void) {
    this.#opened = opened;
    this.#path = path;
    this.#link = link;
    this.#warn = warn;
  }

  /**
   * Gives the file a second name, so that its content outlives the rename and a crash behind it. False: the path no longer
   * leads to the file that was read. Where links do not work, the open file has to do.
   */
  take(): boolean {
    if (this.#opened.file.kind !== "text") return this.isInPlace();
    try {
      linkSync(this.#path, this.#link);
      this.#isLinked = true;
    } catch (cause) {
      if (errnoCode(cause) === "ENOENT") return false;
      this.#warn(
        `A hard link to ${this.#path} could not be made (${errnoCode(cause) ?? describeCause(cause)}). An edit that another program makes during a write is still noticed, but lost if this process is killed at that moment.`,
      );
      return this.isInPlace();
    }
    return this.#opened.hasOneMoreLink();
  }

  /** False when somebody put another file in its place. */
  isInPlace(): boolean {
    return this.#opened.isAt(this.#path);
  }

  /**
   * Call when the new content is in place. What the old file holds now goes to a backup when it is neither what was read nor
   * what was written (a mounted file is overwritten, not replaced); returns the path of that backup.
   */
  keepIfEdited(written: Uint8Array | undefined, file: string, now: Date): string | undefined {
    const { file: read } = this.#opened;
    if (read.kind !== "text") return undefined;
    const bytes = this.#opened.readAgain();
    if (bytes.equals(read.bytes) || (written && bytes.equals(written))) return undefined;
    const wasLinked = this.#isLinked;
    this.#isLinked = false; // until it is in a safe place it must not be tidied away
    const backup = backupPathFor(file, now);
    if (!wasLinked) writeFileAtomic(backup, bytes, { mode: 0o600 });
    else moveTo(this.#link, backup, bytes);
    return backup;
  }

  [Symbol.dispose](): void {
    if (!this.#isLinked) return;
    this.#isLinked = false;
    try {
      unlinkSync(this.#link);
    } catch {
      // Gone already, or left for the next writer to tidy up.
    }
  }
}

/** The file itself becomes the backup, not a copy: a program that is still writing to it finishes there. */
export function moveTo(link: string, backup: string, bytes: Uint8Array): void {
  try {
    renameSync(link, backup);
  } catch (cause) {
    if (errnoCode(cause) !== "EXDEV") throw cause;
    writeFileAtomic(backup, bytes, { mode: 0o600 }); // the memory file is a link to another disk
    unlinkSync(link);
  }
}
