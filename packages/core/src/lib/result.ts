// How failures travel: those a caller can expect as a `Result`, a broken environment as a thrown `HermesError`.

/** The outcome of a call that can fail in ways a caller handles. Layers return it; the door throws `HermesError` instead. */
export type Result<T, E> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E };

/** A successful `Result`. */
export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

/** A failed `Result`. */
export function err<E>(error: E): { readonly ok: false; readonly error: E } {
  return { ok: false, error };
}

/** Thrown for a full disk, missing permissions, a damaged file and the like. The CLI, MCP server and agent each render it in one place. */
export class HermesError extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "HermesError";
    this.code = code;
    this.hint = options.hint;
  }
}

/** The `code` of a system error (`ENOENT`, `EACCES`, ...), or undefined for any other value. */
export function errnoCode(cause: unknown): string | undefined {
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return undefined;
  return typeof cause.code === "string" ? cause.code : undefined;
}

/** The extended result code of an error that came from SQLite; its low byte is the primary code. */
export function sqliteCode(cause: unknown): number | undefined {
  if (typeof cause !== "object" || cause === null || !("errcode" in cause)) return undefined;
  return typeof cause.errcode === "number" ? cause.errcode : undefined;
}

/** The message of a caught value. */
export function describeCause(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
