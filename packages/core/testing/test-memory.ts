// For tests of programs that use the library: a real memory in a temporary home, a text model with prepared answers, and a clock that
// stands still. They need no test runner.
import { accessSync, constants, mkdtempSync, statfsSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock, TextModel } from "../src/lib/index.ts";
import { type EntryTarget, type Memory, type OpenMemoryOptions, openMemory } from "../src/memory/index.ts";

/** What a memory for a test begins with: config, entries, clock. */
export type TestMemoryOptions = Omit<OpenMemoryOptions, "home"> & {
  /** What config.yaml would have, for example `{ memory: { provider: "holographic" } }`. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Entries that the memory begins with: of the owner, unless they name a user. A text alone goes to the target `memory`. */
  readonly entries?: readonly (string | TestEntry)[];
};

/** An entry of a user, or with a target. */
export type TestEntry = {
  readonly text: string;
  readonly target?: EntryTarget;
  readonly user?: { readonly platform: string; readonly id: string };
};

/**
 * Opens a memory in a new temporary home, which is removed when it is closed: `await using memory = await openTestMemory()`. Nothing
 * in it is a fake. The home is on a RAM disk where the system has one. Rejects like `openMemory`, and if an entry is refused.
 */
export async function openTestMemory(options: TestMemoryOptions = {}): Promise<Memory> {
  const { config, entries = [], ...others } = options;
  const home = mkdtempSync(join(ramDisk() ?? tmpdir(), "hermes-memory-"));
  await using opening = new AsyncDisposableStack(); // removes the home if it cannot be opened
  opening.defer(() => removeHome(home));
  // JSON is YAML.
  if (config !== undefined) writeFileSync(join(home, "config.yaml"), `${JSON.stringify(config, null, 2)}\n`);
  const memory = opening.use(await openMemory({ ...others, home }));
  for (const entry of entries) {
    const { text, target, user } = typeof entry === "string" ? { text: entry } : entry;
    await (user === undefined ? memory.owner : memory.user(user)).add(text, { target });
  }
  const opened = opening.move();
  const close = () => opened.disposeAsync(); // does nothing the second time
  return {
    home,
    owner: memory.owner,
    administration: memory.administration,
    user: (user) => memory.user(user),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** SQLite waits for the disk at every commit; in memory that costs nothing. Some containers have only a few megabytes. */
const LEAST_BYTES = 32 * 1024 * 1024;

function ramDisk(): string | undefined {
  const path = "/dev/shm";
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize >= LEAST_BYTES ? path : undefined;
  } catch {
    return undefined; // macOS and Windows have none
  }
}

/** Windows does not delete open files, and lock files are closed about a second after their last use. */
function removeHome(home: string): Promise<void> {
  return rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 300 });
}

type TextModelRequest = Parameters<TextModel["complete"]>[0];

/** One answer for every request; or one for each, in this order, where an `Error` makes the request fail; or a function. */
export type PreparedAnswers =
  | string
  | readonly (string | Error)[]
  | ((request: TextModelRequest, number: number) => string | Promise<string>);

/** A `TextModel` for tests that records what it was asked. */
export type FakeTextModel = TextModel & {
  /** What was asked, in order. */
  readonly requests: readonly TextModelRequest[];
};

/** A text model that gives prepared answers and records what it was asked. A request for which no answer is left rejects. */
export function fakeTextModel(answers: PreparedAnswers): FakeTextModel {
  const requests: TextModelRequest[] = [];
  return {
    requests,
    async complete(request) {
      requests.push(request);
      request.signal?.throwIfAborted();
      if (typeof answers === "string") return answers;
      if (typeof answers === "function") return answers(request, requests.length);
      const answer = answers[requests.length - 1];
      if (answer === undefined)
        throw new Error(
          `The fake text model has ${answers.length} answers and got request ${requests.length}.`,
        );
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

/** A clock for tests that moves when it is told to. */
export type TestClock = Clock & {
  /** Moves the clock forward, or back if negative. */
  tick(ms: number): void;
  set(now: Date): void;
};

/** A clock that stands still until it is moved. Default: 2026-01-01 at noon, UTC. */
export function testClock(start: Date | string = "2026-01-01T12:00:00Z"): TestClock {
  let nowMs = new Date(start).getTime();
  if (Number.isNaN(nowMs)) throw new RangeError(`'${String(start)}' is no date.`);
  return {
    now: () => new Date(nowMs),
    tick: (ms) => {
      nowMs += ms;
    },
    set: (now) => {
      nowMs = now.getTime();
    },
  };
}
