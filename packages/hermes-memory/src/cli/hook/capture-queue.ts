// Transcripts that wait for their import: one small file each in `<home>/capture`, and a marker that one process works on them. A hook
// only writes its file and starts that process if there is none, so ten events in a row still lead to one import at a time.
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { errnoCode, isRecord } from "@hermes-memory/core/internal/lib";
import { type HookClientName, isHookClient } from "./protocols.ts";

/** Without `path`, everything new of the client is imported. */
export type CaptureRequest = { readonly client: HookClientName; readonly path?: string };

/** The worker touches its marker every `BEAT_MS`. A marker this old belongs to a process that was killed. */
export const BEAT_MS = 5000;
const DEAD_AFTER_MS = 30_000;
const WAITING = ".waiting.json";
const STARTED = ".started";
/** Sessions are not continued after that, so their marker is not needed. */
const STARTED_KEPT_MS = 7 * 24 * 60 * 60 * 1000;

export class CaptureQueue {
  readonly #folder: string;
  readonly #marker: string;

  constructor(home: string) {
    this.#folder = join(home, "capture");
    this.#marker = join(this.#folder, "worker");
  }

  /** Later requests of a session replace earlier ones: an import reads the whole transcript. */
  add(request: CaptureRequest, sessionId: string | undefined): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const name = `${request.client}-${sessionId ?? nameOf(request.path ?? "all")}`;
    const temporary = join(this.#folder, `${name}.${process.pid}.tmp`);
    writeFileSync(temporary, JSON.stringify(request), { mode: 0o600 });
    renameSync(temporary, join(this.#folder, name + WAITING));
  }

  /**
   * True when this process has to start the worker. Two processes that find the same dead marker may both get true; then two workers
   * run, and an import takes the lock of the home.
   */
  claim(now: number): boolean {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    try {
      writeFileSync(this.#marker, "", { flag: "wx", mode: 0o600 });
      return true;
    } catch (cause) {
      if (errnoCode(cause) !== "EEXIST") throw cause;
    }
    if (Math.abs(now - changedAt(this.#marker)) < DEAD_AFTER_MS) return false; // it is in the future after the clock was set back
    this.beat();
    return true;
  }

  /** Shows that the worker is alive. */
  beat(): void {
    try {
      utimesSync(this.#marker, new Date(), new Date());
    } catch (cause) {
      if (errnoCode(cause) !== "ENOENT") throw cause; // released meanwhile
    }
  }

  release(): void {
    rmSync(this.#marker, { force: true });
  }

  /**
   * The next request. `done` has to be called after its import and removes it, unless it was added again meanwhile. Of a worker that is
   * killed, the request still waits.
   */
  next(): { readonly request: CaptureRequest; readonly done: () => void } | undefined {
    for (const name of this.#names().filter((each) => each.endsWith(WAITING))) {
      const path = join(this.#folder, name);
      const addedAt = changedAt(path);
      const request = parseRequest(path);
      if (request)
        return { request, done: () => changedAt(path) === addedAt && rmSync(path, { force: true }) };
      rmSync(path, { force: true });
    }
    return undefined;
  }

  /** Whether a session gets the memory now. `isReset`: its earlier context is gone, so it needs the memory again. */
  isFirstStart(sessionId: string, isReset: boolean, now: number): boolean {
    const path = join(this.#folder, sessionId + STARTED);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeFileSync(path, "", { flag: "wx", mode: 0o600 });
      return true;
    } catch (cause) {
      if (errnoCode(cause) !== "EEXIST") return true; // a read-only home: better twice than never
    }
    if (!isReset || Math.abs(now - changedAt(path)) < TWICE_WITHIN_MS) return false;
    utimesSync(path, now / 1000, now / 1000);
    return true;
  }

  /** Removes files that nobody needs any more. */
  tidy(now: number): void {
    for (const name of this.#names()) {
      const isOld = now - changedAt(join(this.#folder, name)) > STARTED_KEPT_MS;
      if (isOld && /\.(?:started|tmp|taken)$/.test(name)) rmSync(join(this.#folder, name), { force: true });
    }
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder).sort();
    } catch (cause) {
      if (errnoCode(cause) === "ENOENT") return [];
      throw cause;
    }
  }
}

/** One event that reaches us twice, because two settings files name our hook, does so within this time. */
const TWICE_WITHIN_MS = 2000;

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** A file name for a session without a usable id, from the path of its transcript. */
function nameOf(path: string): string {
  return path.replace(/[^\w-]/g, "-").slice(-128);
}

function parseRequest(path: string): CaptureRequest | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (!isRecord(value) || typeof value.client !== "string" || !isHookClient(value.client)) return undefined;
    return { client: value.client, ...(typeof value.path === "string" ? { path: value.path } : {}) };
  } catch {
    return undefined;
  }
}
