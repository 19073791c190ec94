// What goes from the outbox to Hindsight: turns, mirrored entries and the mission of a bank; and erasing there. Each write is stored once:
// - from 0.9.1 on the server knows the batch by its operation id;
// - before that, and with `retain_async: false`, an append is looked up in the document before it is sent again;
// - on a server that cannot append, a batch is a document named after it, and sending it again replaces it.
import { setTimeout as sleep } from "node:timers/promises";
import { outsideJsonOr, sha256, withoutUndefined } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { ForgetReport } from "@hermes-memory/core/internal/providers";
import { ServiceError } from "../kit/http.ts";
import { fieldsOf, numberIn, textIn } from "../kit/networked/answers.ts";
import { inParallel, reportOf } from "../kit/networked/erasing.ts";
import type { Entry, QueuedEntry } from "../kit/networked/service.ts";
import type { Batch, Delivery } from "../kit/outbox/outbox.ts";
import type { HindsightApi, RetainItem } from "./api.ts";
import type { HindsightSettings } from "./settings.ts";
import { itemOfTurns, type TurnBody } from "./turns.ts";

/** Attempts for which a write waits until the server has finished what it accepted before. */
const PATIENT_ATTEMPTS = 10;
const BUSY_MS = 2_000;
/** Before a repeated delivery looks: the request of a process that was killed may still be on its way to the server. */
const ARRIVAL_MS = 1_000;

/** Where one memory is, and the operation that writes it; "" for none. */
type Stored = { readonly bank: string; readonly document: string; readonly operation: string };

export class Writes {
  readonly #api: HindsightApi;
  readonly #settings: HindsightSettings;
  readonly #log: Logger;
  readonly #banksWithMission = new Set<string>();

  constructor(api: HindsightApi, settings: HindsightSettings, log: Logger) {
    this.#api = api;
    this.#settings = settings;
    this.#log = log;
  }

  /** Stores one item with the settings that all have. Resolves to the operation of the server. */
  async retain(
    bank: string,
    { tags = [], ...item }: RetainItem,
    operationId: string,
    signal: AbortSignal,
  ): Promise<string> {
    const { isAsync, retainContext, observationScopes } = this.#settings;
    await this.#sendMissions(bank, signal);
    const whole: RetainItem = {
      context: retainContext,
      ...item,
      tags: tags.length > 0 ? tags : undefined,
      observation_scopes: observationScopes,
    };
    return await this.#api.retain(bank, { item: whole, isAsync, operationId }, signal);
  }

  // ---- Curated entries ----

  async addEntry({ target, text, id, body }: QueuedEntry, signal: AbortSignal): Promise<string> {
    const bank = textIn(body.bank);
    const document = entryDocument({ target, text });
    const item: RetainItem = {
      content: text,
      context: target === "user" ? "profile of the user (USER.md)" : "notes of the agent (MEMORY.md)",
      metadata: { source: "curated-memory", target },
      document_id: document,
      tags: this.#settings.retainTags,
    };
    const operation = await this.retain(bank, item, id, signal);
    return JSON.stringify({ bank, document, operation } satisfies Stored);
  }

  /** Unless the server still works on it: it would appear after it was deleted. */
  async removeEntry(stored: string, signal: AbortSignal): Promise<void> {
    const fields = fieldsOf(outsideJsonOr(stored, undefined));
    const [bank, operation] = [textIn(fields.bank), textIn(fields.operation)];
    if (operation !== "" && (await this.#api.isPending(bank, operation, signal))) {
      await this.#api.cancel(bank, operation, signal);
      if (await this.#api.isPending(bank, operation, signal))
        throw new ServiceError({ kind: "conflict", message: busyText(bank) });
    }
    await this.#api.deleteDocument(bank, textIn(fields.document), signal);
  }

  /** The bank was deleted, and its mission with it. */
  forgetMission(bank: string): void {
    this.#banksWithMission.delete(bank);
  }

  // ---- Turns ----

  async sendTurns(batch: Batch, signal: AbortSignal): Promise<Delivery> {
    const { sessionId, attempt } = batch;
    const { canAppend, hasOperationIds } = await this.#api.server(signal);
    const isAppending = canAppend && sessionId !== "";
    const needsLook = attempt > 1 && isAppending && !(this.#settings.isAsync && hasOperationIds);
    const turns = batch.items.map(({ body }) => body as TurnBody);
    if (needsLook) await sleep(ARRIVAL_MS, undefined, { signal });
    for (const [index, group] of byBank(turns).entries()) {
      const { bank } = group[0];
      const item = itemOfTurns(group);
      if (needsLook) {
        const earlier = await this.#findAppended(bank, sessionId, item.content, signal);
        if (earlier === "stored") continue;
        if (earlier === "unknown" && attempt < PATIENT_ATTEMPTS)
          return { kind: "later", reason: busyText(bank), retryAfterMs: BUSY_MS };
      }
      const id = index === 0 ? batch.id : derivedUuid(batch.id, index);
      const place: Partial<RetainItem> = isAppending
        ? { document_id: sessionId, update_mode: "append" }
        : { document_id: `${sessionId || "turns"}-${id}` };
      await this.retain(bank, { ...item, ...place }, id, signal);
    }
    return { kind: "delivered" };
  }

  /** Whether an earlier attempt arrived; unknown while the server has unprocessed writes. */
  async #findAppended(
    bank: string,
    document: string,
    content: string,
    signal: AbortSignal,
  ): Promise<"stored" | "missing" | "unknown"> {
    const found = await this.#api.document(bank, document, signal);
    if (textIn(found?.original_text).includes(content)) return "stored";
    return (await this.#api.pendingCount(bank, signal)) > 0 ? "unknown" : "missing";
  }

  // ---- Missions ----

  /** Before the first write to a bank, so that its facts are extracted by the mission. */
  async #sendMissions(bank: string, signal: AbortSignal): Promise<void> {
    const { bankMission, retainMission } = this.#settings;
    if ((bankMission === "" && retainMission === "") || this.#banksWithMission.has(bank)) return;
    try {
      const missions = {
        reflect_mission: bankMission || undefined,
        retain_mission: retainMission || undefined,
      };
      await this.#api.setMissions(bank, withoutUndefined(missions), signal);
    } catch (cause) {
      // A server that refuses the mission still stores turns; an outage concerns both.
      if (!(cause instanceof ServiceError) || !isRefusal(cause)) throw cause;
      this.#log.warn(`Hindsight refused the mission of a bank: ${cause.message}`, { bank });
    }
    this.#banksWithMission.add(bank);
  }
}

function isRefusal({ failure }: ServiceError): boolean {
  return ["refused", "not-found", "conflict"].includes(failure.kind);
}

function busyText(bank: string): string {
  return `Hindsight has not finished earlier writes to the bank ${bank}.`;
}

/** What finds an entry that was stored by another program. */
export function storedEntry(bank: string, entry: Entry): string {
  return JSON.stringify({ bank, document: entryDocument(entry), operation: "" } satisfies Stored);
}

/** Follows from the text, so that the same entry is one document. */
function entryDocument({ target, text }: Entry): string {
  return `curated-${target}-${sha256(text).slice(0, 32)}`;
}

/** Neighbours in the same bank. A session has one bank, unless the settings changed while its turns waited. */
function byBank(turns: readonly TurnBody[]): readonly (readonly [TurnBody, ...TurnBody[]])[] {
  const groups: [TurnBody, ...TurnBody[]][] = [];
  for (const turn of turns) {
    const last = groups.at(-1);
    if (last !== undefined && last[0].bank === turn.bank) last.push(turn);
    else groups.push([turn]);
  }
  return groups;
}

function derivedUuid(id: string, index: number): string {
  const hex = sha256(`${id} ${index}`);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

// ---- Erasing ----
// The server deletes documents with the facts taken from them, and whole banks; it has no call that deletes one fact.

export type EraseTimes = {
  /** How long to wait for writes that the server has accepted and not processed. */
  readonly settleMs: number;
  readonly pollMs: number;
};

const TIMES: EraseTimes = { settleMs: 8_000, pollMs: 500 };

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
  return reportOf(ids.size, remainsOf(pending, left.length, documents.withoutText));
}

/** Deletes the bank. The server makes a new one at the next write. */
export async function eraseBank(at: Bank, { isDryRun, signal }: Run): Promise<ForgetReport> {
  const { api, bank } = at;
  const pending = isDryRun ? 0 : await settled(at, signal);
  const { total_documents, total_nodes } = await api.stats(bank, signal);
  const erased = numberIn(total_documents) || numberIn(total_nodes) || 0;
  if (!isDryRun) await api.deleteBank(bank, signal);
  return reportOf(erased, remainsOf(pending, 0, 0));
}

function remainsOf(pending: number, facts: number, withoutText: number): readonly (string | false)[] {
  return [
    pending > 0 &&
      `Hindsight has not processed ${pending} accepted writes yet, which may bring something back: run the command again in a minute.`,
    facts > 0 &&
      `${facts} facts that Hindsight derived still hold the text, and its API deletes no single fact: erase the whole bank, or edit them in its control plane.`,
    withoutText > 0 &&
      `${withoutText} documents are stored without their text, so only their facts were searched.`,
  ];
}

async function documentsWith(
  { api, bank }: Bank,
  text: string,
  signal: AbortSignal,
): Promise<{ readonly ids: readonly string[]; readonly withoutText: number }> {
  // Servers that list documents without their text give it one by one.
  const read = await inParallel(await api.documents(bank, signal), async (listed) => {
    const id = textIn(listed.id);
    const whole = typeof listed.original_text === "string" ? listed : await api.document(bank, id, signal);
    return { id, stored: whole === undefined ? "" : whole.original_text };
  });
  const found = read.filter(({ stored }) => textIn(stored).includes(text) || holdsAsJson(stored, text));
  const withoutText = read.filter(({ stored }) => typeof stored !== "string").length;
  return { ids: found.map(({ id }) => id), withoutText };
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
