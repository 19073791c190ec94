// Writes a reply to the socket: at the pace the script wants, and with the accidents it wants.
import type { ServerResponse } from "node:http";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import type { Frame, Pieces, ReadyReply, WireFormat } from "./format.ts";
import { type Failure, type Pause, type Reply, serverError } from "./script.ts";

/** The way to one client. Whoever waits for anything on it waits for `gone` too. */
export type Line = {
  readonly response: ServerResponse;
  readonly gone: AbortSignal;
  /** Ends it from our side, without a word. */
  hangUp(): void;
};

/** `onAbort` is told when the client ends it before the answer is complete. */
export function openLine(response: ServerResponse, onAbort: () => void): Line {
  const gone = new AbortController();
  let isOurs = false;
  response.once("close", () => {
    gone.abort();
    if (!response.writableEnded && !isOurs) onAbort();
  });
  return {
    response,
    gone: gone.signal,
    hangUp() {
      isOurs = true;
      response.socket?.destroy();
    },
  };
}

/** Long enough for the client to take what was sent: an error of the connection drops what it has not read yet. */
const BEFORE_CUT_MS = 25;

const OVERLOADED: Failure = serverError(529);

export async function sendReply(line: Line, format: WireFormat, reply: ReadyReply, isStream: boolean) {
  if (reply.delayMs !== undefined) await delay(reply.delayMs, line.gone);
  if (reply.pauseBefore !== undefined) await waitFor(reply.pauseBefore, line.gone);
  if (line.gone.aborted) return;
  if (isStream) await sendFrames(line, format, reply);
  else await sendWhole(line, format.whole(reply), breakOf(reply));
}

export async function sendFailure(
  line: Line,
  format: WireFormat,
  failure: Failure,
  model: string,
): Promise<void> {
  if (failure.status === 0) return line.hangUp();
  const { retryAfterSeconds: wait } = failure;
  const own = format.failure(failure, model);
  const body = failure.body ?? own.body;
  const status = failure.body === undefined ? own.status : failure.status;
  line.response
    .writeHead(status, {
      "content-type": typeof body === "string" ? "text/plain; charset=utf-8" : "application/json",
      ...(wait === undefined ? {} : { "retry-after": String(wait) }),
      ...failure.headers,
    })
    .end(typeof body === "string" ? body : JSON.stringify(body));
}

async function sendFrames(line: Line, format: WireFormat, reply: ReadyReply): Promise<void> {
  const { response, gone } = line;
  const { pauseAt, splitBytes = false, pieceDelayMs } = reply;
  const stop = breakOf(reply);
  let isPaused = false;
  let position = 0;
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
  });
  for (const frame of format.frames(reply, piecesFor(reply))) {
    const chars = frame.chars ?? 0;
    // A frame that cannot be divided happens after what falls into it.
    const isBehind = (mark: number): boolean => frame.ends === true || (chars > 0 && position + chars > mark);
    if (pauseAt !== undefined && !isPaused && isBehind(pauseAt.chars)) {
      isPaused = true;
      await waitFor(pauseAt.until, gone);
    }
    if (gone.aborted) return;
    if (stop !== undefined && isBehind(stop.at)) return breakOff(line, format, reply, { stop, frame });
    if (chars > 0 && position > 0 && pieceDelayMs !== undefined) await delay(pieceDelayMs, gone);
    await write(line, encode(frame), splitBytes);
    position += chars;
  }
  response.end();
}

async function breakOff(
  line: Line,
  format: WireFormat,
  { model }: ReadyReply,
  { stop, frame }: { readonly stop: Break; readonly frame: Frame },
): Promise<void> {
  switch (stop.how) {
    case "cut": {
      const bytes = encode(frame);
      await write(line, bytes.subarray(0, bytes.length >> 1), false);
      await sleep(BEFORE_CUT_MS);
      return line.hangUp();
    }
    case "stall":
      return waitFor("forever", line.gone);
    case "fail":
      await write(line, encode(format.failureFrame(OVERLOADED, model)), false);
      line.response.end();
      return;
    default:
      return stop.how satisfies never;
  }
}

async function sendWhole(line: Line, body: unknown, stop: Break | undefined): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(body));
  const { response, gone } = line;
  response.writeHead(200, { "content-type": "application/json", "content-length": bytes.length });
  if (stop === undefined) {
    response.end(bytes);
    return;
  }
  await write(line, bytes.subarray(0, bytes.length >> 1), false);
  if (stop.how === "stall") return waitFor("forever", gone);
  await sleep(BEFORE_CUT_MS);
  line.hangUp();
}

function encode({ event, data }: Frame): Buffer {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return Buffer.from(`${event === undefined ? "" : `event: ${event}\n`}data: ${text}\n\n`);
}

/** Resolves when the bytes have left, or the client has. */
async function write({ response, gone }: Line, bytes: Uint8Array, splitBytes: boolean): Promise<void> {
  for (const part of splitBytes ? splitInsideCharacters(bytes) : [bytes]) {
    if (gone.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    gone.addEventListener("abort", () => resolve(), { once: true });
    response.write(part, () => resolve());
    await promise;
    await turn(); // a client in this process reads now, and does not find several writes in one
  }
}

async function waitFor(pause: Pause, gone: AbortSignal): Promise<void> {
  if (gone.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  gone.addEventListener("abort", () => resolve(), { once: true });
  if (pause === "forever") return promise;
  await Promise.race([promise, "opened" in pause ? pause.opened : pause]);
}

async function delay(ms: number, gone: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: gone }).catch(() => {}); // nobody is left to wait for
}

// Cuts what the model writes into events, such that an event ends wherever the script wants something to happen.

const CHUNK_CHARS = 4;

/** What stops a reply early. */
type Break = { readonly at: number; readonly how: "cut" | "stall" | "fail" };

function breakOf({ cutAfterChars, stallAfterChars, failAfterChars }: Reply): Break | undefined {
  const asked = [
    { at: cutAfterChars, how: "cut" },
    { at: stallAfterChars, how: "stall" },
    { at: failAfterChars, how: "fail" },
  ] as const;
  const breaks = asked.flatMap(({ at, how }) => (at === undefined ? [] : [{ at, how }]));
  return breaks.sort((one, other) => one.at - other.at)[0];
}

/** Remembers how far the reply has come, so it serves one reply and its texts in order. */
function piecesFor(reply: Reply): Pieces {
  const size = Math.max(1, reply.chunkChars ?? CHUNK_CHARS);
  const marks = [breakOf(reply)?.at, reply.pauseAt?.chars].filter((mark) => mark !== undefined);
  let position = 0;
  return (text) => {
    const pieces: string[] = [];
    const chars = [...text];
    for (let start = 0; start < chars.length; ) {
      const here = position + start;
      const next = marks.map((mark) => mark - here).filter((distance) => distance > 0);
      const length = Math.min(size, ...next);
      pieces.push(chars.slice(start, start + length).join(""));
      start += length;
    }
    position += chars.length;
    return pieces;
  };
}

/** The bytes in writes that go apart inside a character. */
function splitInsideCharacters(bytes: Uint8Array): readonly Uint8Array[] {
  const parts: Uint8Array[] = [];
  let start = 0;
  for (const [index, byte] of bytes.entries()) {
    const isFirstOfSeveral = byte >= 0xc0;
    if (!isFirstOfSeveral) continue;
    parts.push(bytes.subarray(start, index + 1));
    start = index + 1;
  }
  return [...parts, bytes.subarray(start)];
}
