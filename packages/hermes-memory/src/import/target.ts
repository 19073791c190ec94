// Where an import goes: the session store, or nowhere for a dry run, which reads the store but changes nothing.
import type { SessionStore, TranscriptOrigin, TranscriptState } from "@hermes-memory/core/internal/sessions";

export type ImportTarget = Pick<
  SessionStore,
  | "getTranscriptState"
  | "listTranscripts"
  | "listTranscriptRows"
  | "writeTranscript"
  | "linkTranscripts"
  | "findTranscriptMessage"
  | "listNotedTranscripts"
  | "getMessages"
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
  // What a real import would have stored by now: the same session may come from a second file.
  const planned = new Map<string, { readonly origin: TranscriptOrigin; messages: number }>();
  const stateOf = async (id: string): Promise<TranscriptState> => {
    const state = (await store?.getTranscriptState(id)) ?? { kind: "none" };
    const own = planned.get(id);
    if (own === undefined || state.kind === "own" || state.kind === "continued" || state.kind === "followed")
      return state;
    return { kind: "imported", origin: own.origin, messages: own.messages };
  };
  const empty: ImportTarget = {
    getTranscriptState: stateOf,
    listTranscripts: async () => [],
    listTranscriptRows: async () => [],
    findTranscriptMessage: async () => undefined,
    listNotedTranscripts: async () => [],
    getMessages: async () => [],
    getMeta: async () => null,
    writeTranscript: async ({ session, append = [] }) => {
      const state = await stateOf(session.id);
      const before = state.kind === "imported" ? state.messages : 0;
      planned.set(session.id, { origin: session.origin, messages: before + append.length });
      return state.kind;
    },
    linkTranscripts: async () => 0,
    setMeta: async () => {},
    discard: async (id) => void planned.delete(id),
  };
  if (store === undefined) return empty;
  const { listTranscripts, listTranscriptRows, findTranscriptMessage, listNotedTranscripts, getMeta } = store;
  const { getMessages } = store;
  return {
    ...empty,
    ...{
      listTranscripts,
      listTranscriptRows,
      findTranscriptMessage,
      listNotedTranscripts,
      getMeta,
      getMessages,
    },
  };
}
