// One JSON line per request in `<home>/logs/gateway-access.log`: what was asked of which route, and how it ended. No paths (they may hold
// ids), no query strings, no contents, no addresses and no ids of users. Lines are collected for a moment and written together, so that
// a busy server does not wait for the disk at each request; a kill loses those of the last moment.
import { join } from "node:path";
import { appendRotated } from "@hermes-memory/core/internal/logger";

export type AccessLine = {
  readonly time: string;
  /** `x-request-id`. */
  readonly id: string;
  readonly method: string;
  /** The pattern of the route, such as `/api/sessions/:id`. */
  readonly route: string;
  readonly status: number;
  /** Until the last byte of the reply. */
  readonly ms: number;
  /** `local`, or the kind of the token. */
  readonly caller?: string;
  readonly client?: string;
  readonly mode?: string;
  readonly model?: string;
  readonly stream?: boolean;
  /** Code of the problem. */
  readonly problem?: string;
  /** The client left before the reply was complete. */
  readonly aborted?: boolean;
};

export type AccessLog = ReturnType<typeof openAccessLog>;

const FLUSH_MS = 250;
const MOST_LINES = 500;
const DEFAULT_MAX_BYTES = 5 * 1024 * 1024;

export function accessLogPath(home: string): string {
  return join(home, "logs", "gateway-access.log");
}

/** Rotates as `createLogger` of core does: a file that would become larger than `maxBytes` is renamed to `<path>.1`. */
export function openAccessLog(
  path: string,
  { maxBytes = DEFAULT_MAX_BYTES }: { readonly maxBytes?: number } = {},
) {
  let waiting: string[] = [];
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    const lines = waiting;
    waiting = [];
    try {
      appendRotated(path, lines.join(""), maxBytes);
    } catch {
      dropped += lines.length; // shown in /metrics
    }
  }

  return {
    write(line: AccessLine): void {
      waiting.push(`${JSON.stringify(line)}\n`);
      if (waiting.length >= MOST_LINES) flush();
      else timer ??= setTimeout(flush, FLUSH_MS).unref();
    },
    /** Lines that could not be written. */
    get dropped(): number {
      return dropped;
    },
    /** Writes what is collected. */
    flush,
  };
}
