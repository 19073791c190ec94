// The imported sessions of the database, for what a reader asks while it reads: unchanged sessions, copies, the same conversation in two
// products.
import {
  type StoredTranscript,
  type TranscriptOrigin,
  transcriptSessionId,
  type UnclaimedChat,
} from "@hermes-memory/core/internal/sessions";
import type { ImportTarget } from "./target.ts";

export class KnownTranscripts {
  readonly #byId = new Map<string, TranscriptOrigin>();
  readonly #byFirst = new Map<string, Set<string>>();
  readonly #byFingerprint = new Map<string, string>();
  #unclaimed: readonly UnclaimedChat[] | undefined;

  constructor(stored: readonly StoredTranscript[]) {
    for (const { id, origin } of stored) this.remember(id, origin);
  }

  remember(id: string, origin: TranscriptOrigin): void {
    this.#byId.set(id, origin);
    // A gateway's session may hold it under another id.
    this.#byId.set(transcriptSessionId(origin.source, origin.native_id), origin);
    if (typeof origin.first === "string") {
      const key = firstKey(origin.source, origin.first);
      const ids = this.#byFirst.get(key) ?? new Set();
      this.#byFirst.set(key, ids.add(id));
    }
    if (typeof origin.fingerprint === "string" && !this.#byFingerprint.has(origin.fingerprint))
      this.#byFingerprint.set(origin.fingerprint, id);
  }

  async unclaimed(target: Pick<ImportTarget, "listUnclaimedChats">): Promise<readonly UnclaimedChat[]> {
    this.#unclaimed ??= await target.listUnclaimedChats();
    return this.#unclaimed;
  }

  /** The chat is the conversation of a transcript from now on. */
  claim(chat: string): void {
    this.#unclaimed = this.#unclaimed?.filter(({ id }) => id !== chat);
  }

  forget(id: string): void {
    const origin = this.#byId.get(id);
    this.#byId.delete(id);
    if (typeof origin?.first === "string")
      this.#byFirst.get(firstKey(origin.source, origin.first))?.delete(id);
    if (typeof origin?.fingerprint === "string" && this.#byFingerprint.get(origin.fingerprint) === id)
      this.#byFingerprint.delete(origin.fingerprint);
  }

  originOf(id: string): TranscriptOrigin | undefined {
    return this.#byId.get(id);
  }

  /** Native id of the session, other than `except`, that begins with this message. */
  beginningWith(source: string, messageId: string, except: string): string | undefined {
    for (const id of this.#byFirst.get(firstKey(source, messageId)) ?? []) {
      const native = this.#byId.get(id)?.native_id;
      if (native !== undefined && native !== except) return native;
    }
    return undefined;
  }

  /** Another product's session with the same first messages of the user. */
  twinOf(id: string, source: string, fingerprint: string): string | undefined {
    const twin = this.#byFingerprint.get(fingerprint);
    return twin !== undefined && twin !== id && this.#byId.get(twin)?.source !== source ? twin : undefined;
  }

  /** Ids of the sessions of one source. */
  idsOf(source: string): string[] {
    return [...this.#byId].flatMap(([id, origin]) => (origin.source === source ? [id] : []));
  }
}

function firstKey(source: string, messageId: string): string {
  return `${source}\u0000${messageId}`;
}
