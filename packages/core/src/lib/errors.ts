// The world is broken (disk, permissions, a damaged file): thrown, and rendered once by each entrance.

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

/** The `code` of a system error (`ENOENT`, `EACCES`, ...), or undefined when it is some other value. */
export function errnoCode(cause: unknown): string | undefined {
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return undefined;
  return typeof cause.code === "string" ? cause.code : undefined;
}

/** One line that says what a caught value was. */
export function describeCause(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
