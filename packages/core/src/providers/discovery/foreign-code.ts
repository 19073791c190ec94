// Running code that came with a plugin: bounded in time, whatever it throws turned into a sentence, and whatever it leaves
// behind kept from ending the process. A plugin that blocks the event loop cannot be stopped from in here.
import { err, errnoCode, ok, preview, pyStrip, type Result, takeCodePoints } from "../../lib/index.ts";
import { redactSecrets } from "../../security/index.ts";
import type { Awaitable } from "../contract.ts";
import { withDeadline } from "../manager/deadlines.ts";
import { runAsProvider } from "../manager/stray-errors.ts";

export type ForeignFailure = {
  readonly kind: "threw" | "late";
  /** Reads on after the name of what was called: `failed: ...`. No secrets, no stack, no full stop. */
  readonly message: string;
  /** Of a system or module error; `SyntaxError` for that. */
  readonly code?: string;
};

export type ForeignRules = {
  readonly timeoutMs: number;
  /** Told of failures in work that nobody awaits. They are dropped otherwise: the caller only wanted the outcome. */
  readonly onStray?: (cause: unknown) => void;
};

const MESSAGE_CHARS = 300;
/** More than is shown, so that no secret is cut before it is masked; less than the megabytes a plugin may throw. */
const READ_CHARS = 4_000;

export async function runForeign<T>(
  rules: ForeignRules,
  work: (signal: AbortSignal) => Awaitable<T>,
): Promise<Result<T, ForeignFailure>> {
  const sink = { onStray: rules.onStray ?? (() => {}) };
  try {
    // The deadline inside: what listens to its signal is the plugin's too.
    const timed = await runAsProvider(sink, () => withDeadline<T>({ ms: rules.timeoutMs }, work));
    if (timed.kind === "done") return ok(timed.value);
    return err({ kind: "late", message: `did not finish within ${rules.timeoutMs / 1000} s` });
  } catch (cause) {
    const code = errnoCode(cause) ?? (cause instanceof SyntaxError ? "SyntaxError" : undefined);
    const message = `failed: ${describeForeign(cause)}`;
    return err({ kind: "threw", message, ...(code === undefined ? {} : { code }) });
  }
}

/** One redacted line about anything that can be thrown, also what has no usable message. */
export function describeForeign(cause: unknown): string {
  const said = oneLine(messageOf(cause));
  return said === "" ? "no reason given" : said;
}

/** A text of a plugin, fit for one line of output. */
export function oneLine(text: string): string {
  const line = pyStrip(redactSecrets(takeCodePoints(text, READ_CHARS)).replace(/\s+/g, " "));
  return preview(line.replace(/[.:]$/, ""), MESSAGE_CHARS);
}

function messageOf(cause: unknown): string {
  try {
    return cause instanceof Error ? String(cause.message) : String(cause);
  } catch {
    return ""; // an error whose own description throws
  }
}
