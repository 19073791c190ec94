// Where an import goes: the session store, or nowhere for a dry run, which reads the store but changes nothing.
import type { SessionStore } from "@hermes-memory/core/internal/sessions";

export type ImportTarget = Pick<
  SessionStore,
  | "getTranscriptState"
  | "listTranscripts"
  | "listTranscriptRows"
  | "writeTranscript"
  | "linkTranscripts"
  | "findTranscriptMessage"
  | "getMeta"
  | "setMeta"
> & {
  /** Takes an imported session away again. */
  readonly discard: (id: string) => Promise<void>;
};

export function storeTarget(store: SessionStore): ImportTarget {
  return { ...store, discard: async (id) => void (await store.deleteSession(id)) };
}

/** `store`: what is there already; undefined when there is no database yet. */
export function dryTarget(store: SessionStore | undefined): ImportTarget {
  const empty: ImportTarget = {
    getTranscriptState: async () => ({ kind: "none" }),
    listTranscripts: async () => [],
    listTranscriptRows: async () => [],
    findTranscriptMessage: async () => undefined,
    getMeta: async () => null,
    writeTranscript: async () => "none",
    linkTranscripts: async () => 0,
    setMeta: async () => {},
    discard: async () => {},
  };
  if (store === undefined) return empty;
  const { writeTranscript: _write, linkTranscripts: _link, setMeta: _set, ...reads } = storeTarget(store);
  return {
    ...empty,
    ...reads,
    discard: empty.discard,
    writeTranscript: async ({ session }) => (await store.getTranscriptState(session.id)).kind,
  };
}
