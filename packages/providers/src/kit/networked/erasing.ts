// Erasing in a networked memory. What waits here is erased first, and a delivery of it that is under way is aborted; what has reached the
// server nevertheless is found there afterwards. A server that cannot be reached is a part of the report and no error: the rest is done.
import type { ForgetReport } from "@hermes-memory/core/internal/providers";
import { describeForeign } from "@hermes-memory/core/internal/providers";
import { ServiceError } from "../http.ts";
import type { OutboxLane } from "../outbox/outbox.ts";
import type { Link } from "./link.ts";
import type { CommonSettings } from "./service.ts";

/** Less than the deadline of the caller, who would otherwise not learn what was erased. */
const SERVER_MS = 25_000;

export type Erasing<S extends CommonSettings> = {
  readonly label: string;
  readonly link: Link<S>;
  readonly outbox: OutboxLane;
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
};

export async function forgetText<S extends CommonSettings>(
  erasing: Erasing<S>,
  text: string,
): Promise<ForgetReport> {
  const { outbox, link, isDryRun } = erasing;
  const { mirrors } = outbox;
  const mirrored = mirrors.containing(text);
  const queued = outbox.forget(text, isDryRun);
  await outbox.erased();
  const connection = link.current();
  const atServer = await askServer(erasing, async (signal) => connection.forget?.(text, isDryRun, signal));
  if (atServer.failure === undefined) {
    // They were needed to find the entries at the server.
    if (!isDryRun) for (const each of mirrored) mirrors.remove(each);
    return sumOf(atServer.report, queued, connection.cannotErase);
  }
  const names =
    isDryRun || mirrored.length === 0
      ? ""
      : ` Until then memory_outbox.db keeps the text of ${mirrored.length === 1 ? "1 mirrored entry" : `${mirrored.length} mirrored entries`}, which is needed to find ${mirrored.length === 1 ? "it" : "them"} there.`;
  return { erased: queued, remaining: `${atServer.failure}${names}` };
}

export async function eraseEverything<S extends CommonSettings>(erasing: Erasing<S>): Promise<ForgetReport> {
  const { label, outbox, link, isDryRun } = erasing;
  const waiting = outbox.eraseAll(isDryRun);
  await outbox.erased();
  if (!link.isOwnMemory) {
    const remaining = `All users share one memory at ${label} (user_scope: shared), so nothing was erased there.`;
    return { erased: waiting, remaining };
  }
  const connection = link.current();
  const atServer = await askServer(erasing, async (signal) => connection.eraseUser?.(isDryRun, signal));
  const queued = waiting + (isDryRun ? 0 : outbox.eraseAll(false)); // what came meanwhile
  if (atServer.failure !== undefined) return { erased: queued, remaining: atServer.failure };
  return sumOf(atServer.report, queued, connection.cannotErase);
}

type AtServer = { readonly report?: ForgetReport; readonly failure?: string };

async function askServer<S extends CommonSettings>(
  { label, link, isDryRun, signal }: Erasing<S>,
  work: (signal: AbortSignal) => Promise<ForgetReport | undefined>,
): Promise<AtServer> {
  const answersBefore = link.answers;
  try {
    return { report: await work(AbortSignal.any([signal, AbortSignal.timeout(SERVER_MS)])) };
  } catch (cause) {
    const reason = cause instanceof ServiceError ? cause.failure.message : describeForeign(cause);
    const what = isDryRun
      ? `${label} could not be searched`
      : link.answers === answersBefore
        ? `Nothing was erased at ${label}`
        : `Not everything was erased at ${label}`;
    const end = /[.!?]$/.test(reason) ? "" : ".";
    return { failure: `${what}: ${reason}${end} Run the command again when it can be reached.` };
  }
}

/** The report of the server with what was erased in the outbox; a service that cannot erase says why. */
function sumOf(
  atServer: ForgetReport | undefined,
  queued: number,
  cannotErase: string | undefined,
): ForgetReport {
  if (atServer !== undefined) return { ...atServer, erased: atServer.erased + queued };
  return cannotErase === undefined ? { erased: queued } : { erased: queued, remaining: cannotErase };
}
