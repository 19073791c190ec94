// Erasing at the server. It deletes documents with the facts taken from them, and whole banks; it has no call that deletes one fact.
import { setTimeout as sleep } from "node:timers/promises";
import type { ForgetReport } from "../../contract.ts";
import { numberIn, textIn } from "../../kit/networked/answers.ts";
import type { HindsightApi } from "./api.ts";

export type EraseTimes = {
  /** How long to wait for writes that the server has accepted and not processed. */
  readonly settleMs: number;
  readonly pollMs: number;
};

const TIMES: EraseTimes = { settleMs: 8_000, pollMs: 500 };
/** Documents that are read at the same time. */
const AT_ONCE = 8;

type Bank = { readonly api: HindsightApi; readonly bank: string; readonly times?: EraseTimes };
type Run = { readonly isDryRun: boolean; readonly signal: AbortSignal };

/** Deletes the documents that contain the text, or of which a fact contains it. Case-sensitive. */
export async function forgetText(at: Bank, text: string, { isDryRun, signal }: Run): Promise<ForgetReport> {
  const { api, bank } = at;
  const pending = isDryRun ? 0 : await settled(at, signal);
  const documents = await documentsWith(at, text, signal);
  const facts = await factsWith(at, text, signal);
  const ids = new Set([...documents.ids, ...facts.map(({ document_id }) => textIn(document_id))]);
  ids.delete("");
  if (isDryRun) return { erased: ids.size };
  for (const id of ids) await api.deleteDocument(bank, id, signal);
  const left = facts.length === 0 ? [] : await factsWith(at, text, signal);
  return { erased: ids.size, remaining: remainingText(pending, left.length, documents.withoutText) };
}

/** Deletes the bank. The server makes a new one at the next write. */
export async function eraseBank(at: Bank, { isDryRun, signal }: Run): Promise<ForgetReport> {
  const { api, bank } = at;
  if (!isDryRun) await settled(at, signal);
  const { total_documents, total_nodes } = await api.stats(bank, signal);
  const erased = numberIn(total_documents) || numberIn(total_nodes) || 0;
  if (!isDryRun) await api.deleteBank(bank, signal);
  return { erased };
}

function remainingText(pending: number, facts: number, withoutText: number): string | undefined {
  const parts = [
    pending > 0 &&
      `Hindsight has not processed ${pending} accepted writes yet, which may hold the text: run the command again in a minute.`,
    facts > 0 &&
      `${facts} facts that Hindsight derived still hold the text, and its API deletes no single fact: erase the whole bank, or edit them in its control plane.`,
    withoutText > 0 &&
      `${withoutText} documents are stored without their text, so only their facts were searched.`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? undefined : parts.join(" ");
}

async function documentsWith(
  { api, bank }: Bank,
  text: string,
  signal: AbortSignal,
): Promise<{ readonly ids: readonly string[]; readonly withoutText: number }> {
  const listed = await api.documents(bank, signal);
  const ids: string[] = [];
  let withoutText = 0;
  for (let at = 0; at < listed.length; at += AT_ONCE) {
    const read = listed.slice(at, at + AT_ONCE).map(async (document) => {
      const id = textIn(document.id);
      // Servers that list documents without their text give it one by one.
      const whole =
        typeof document.original_text === "string" ? document : await api.document(bank, id, signal);
      return { id, whole };
    });
    for (const { id, whole } of await Promise.all(read)) {
      if (whole !== undefined && typeof whole.original_text !== "string") withoutText += 1;
      if (textIn(whole?.original_text).includes(text) || holdsAsJson(whole?.original_text, text))
        ids.push(id);
    }
  }
  return { ids, withoutText };
}

/** Turns are stored as JSON, where quotation marks and line breaks of the text are escaped. */
function holdsAsJson(stored: unknown, text: string): boolean {
  return textIn(stored).includes(JSON.stringify(text).slice(1, -1));
}

async function factsWith({ api, bank }: Bank, text: string, signal: AbortSignal) {
  return (await api.factsWith(bank, text, signal)).filter((fact) => textIn(fact.text).includes(text));
}

/** How many accepted writes are still unprocessed after the wait. */
async function settled({ api, bank, times = TIMES }: Bank, signal: AbortSignal): Promise<number> {
  const until = performance.now() + times.settleMs;
  for (;;) {
    const pending = await api.pendingCount(bank, signal);
    if (pending === 0 || performance.now() > until) return pending;
    await sleep(times.pollMs, undefined, { signal });
  }
}
