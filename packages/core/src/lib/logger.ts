// Writes one JSON line per event to a file. Logging must not disturb the caller: it prints nothing, throws nothing, and
// counts the lines that could not be written.
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { type Clock, systemClock } from "./basics.ts";

type LogLevel = "info" | "warn" | "error";
/** Values that belong to a line of a log. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Receives lines for a log. Pass an object of your own, or one that writes to a file. */
export interface Logger {
  /** Not written to files. */
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Lines that could not be written. */
  readonly dropped: number;
}

export type LoggerOptions = {
  readonly path: string;
  /** Masks secrets in a text. Passed in, because `security/` is above this folder. */
  readonly redact?: (text: string) => string;
  readonly clock?: Clock;
  /** Size at which the file becomes `<path>.1`. Default 5 MB. */
  readonly maxBytes?: number;
};

const DEFAULT_MAX_BYTES = 5 * 1024 * 1024;
const MAX_DEPTH = 6; // deeper fields are data dumps, not log fields; this also ends cycles

export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  dropped: 0,
};

export function createLogger(options: LoggerOptions): Logger {
  const clock = options.clock ?? systemClock;
  const redact = options.redact ?? ((text: string) => text);
  let dropped = 0;

  function write(level: LogLevel, message: string, fields: LogFields | undefined): void {
    try {
      const event = { time: clock.now().toISOString(), level, message: redact(message) };
      const line = toLine(event, fields, redact);
      appendRotated(options.path, line, options.maxBytes ?? DEFAULT_MAX_BYTES);
    } catch {
      dropped += 1; // `hermes doctor` shows the count
    }
  }

  return {
    debug() {},
    info: (message, fields) => write("info", message, fields),
    warn: (message, fields) => write("warn", message, fields),
    error: (message, fields) => write("error", message, fields),
    get dropped() {
      return dropped;
    },
  };
}

function toLine(event: object, fields: LogFields | undefined, redact: (text: string) => string): string {
  if (fields === undefined) return `${JSON.stringify(event)}\n`;
  const whole = { ...event, fields: plain(fields, redact, 0) };
  // Redacted twice: each text above, then the whole line, where a field name such as "password" identifies its value.
  const line = redact(JSON.stringify(whole));
  return `${isJson(line) ? line : JSON.stringify({ ...event, fields: "[left out by redaction]" })}\n`;
}

function plain(value: unknown, redact: (text: string) => string, depth: number): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function")
    return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "[deeper]";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (Array.isArray(value)) return value.map((item) => plain(item, redact, depth + 1));
  const source = value instanceof Error ? describe(value) : value;
  return Object.fromEntries(
    Object.entries(source).map(([key, item]) => [redact(key), plain(item, redact, depth + 1)]),
  );
}

function describe(error: Error): object {
  return { ...error, name: error.name, message: error.message, stack: error.stack, cause: error.cause };
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** Throws if the file cannot be written. */
export function appendRotated(path: string, line: string, maxBytes: number): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Other processes append to the same file: the one that crosses the limit renames it, the next writer creates a new one.
  else if (size > 0 && size + Buffer.byteLength(line) > maxBytes) renameSync(path, `${path}.1`);
  appendFileSync(path, line, { mode: 0o600 });
}
