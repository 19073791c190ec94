// Where an import goes: the session store, or nowhere for a dry run, which reads the store but changes nothing.
import type {
  HomeStore,
  TranscriptOrigin,
  TranscriptRecords,
  TranscriptRow,
  TranscriptState,
} from "@hermes-memory/core/internal/sessions";

export type ImportTarget = Omit<TranscriptRecords, "listProvenance"> &
  Pick<HomeStore, "getMessages" | "getMeta" | "setMeta"> & {
    /** Takes an imported session away again. */
    readonly discard: (id: string) => Promise<void>;
  };

export function storeTarget(store: HomeStore): ImportTarget {
  const { getMessages, getMeta, setMeta } = store;
  return {
    ...store.transcripts,
    getMessages,
    getMeta,
    setMeta,
    discard: async (id) => void (await store.deleteSession(id)),
  };
}

type Planned = {
  readonly origin: TranscriptOrigin;
  readonly messages: number;
  /** Ids of the messages that would be new, each with a NUL behind it, which no id has: a list of texts would take three times the memory. */
  readonly ids: string;
};

/** Rows that would be written have numbers from here on. */
const PLANNED_FROM = 2 ** 52;

/** `store`: what is there already; undefined when there is no database yet. */
export function dryTarget(store: HomeStore | undefined): ImportTarget {
  // What a real import would have stored by now: the same session may come from a second file, and another may copy its messages.
  const planned = new Map<string, Planned>();
  const claims = new Map<string, string>();
  const stateOf = async (id: string): Promise<TranscriptState> => {
    const claim = claims.get(id);
    if (claim !== undefined) return { kind: "followed", session: claim };
    const state = (await store?.transcripts.getTranscriptState(id)) ?? { kind: "none" };
    const own = planned.get(id);
    if (own === undefined || state.kind === "own" || state.kind === "continued" || state.kind === "followed")
      return state;
    return { kind: "imported", origin: own.origin, messages: own.messages };
  };
  const there = store === undefined ? NO_STORE : { ...store, ...store.transcripts };
  return {
    listTranscripts: there.listTranscripts,
    listUnclaimedChats: there.listUnclaimedChats,
    findTranscriptMessage: there.findTranscriptMessage,
    listNotedTranscripts: there.listNotedTranscripts,
    getMessages: there.getMessages,
    getMeta: there.getMeta,
    getTranscriptState: stateOf,
    listTranscriptRows: async (id, page) => {
      const rows = (await store?.transcripts.listTranscriptRows(id, page)) ?? [];
      return rows.length > 0 ? rows : plannedRows(planned.get(id), page);
    },
    writeTranscript: async ({ session, append = [], merge, claim }) => {
      const holder = claim?.[0]?.id;
      if (holder !== undefined && (await stateOf(session.id)).kind !== "followed")
        claims.set(session.id, holder);
      const state = await stateOf(session.id);
      const before = state.kind === "imported" ? state.messages : 0;
      const merged = merge?.order.filter((item) => typeof item !== "number") ?? [];
      const known = merge?.known.map(({ message }) => message) ?? [];
      const ids = [...append, ...merged, ...known].map(
        ({ platformMessageId }) => `${platformMessageId}\u0000`,
      );
      planned.set(session.id, {
        origin: session.origin,
        messages: before + append.length,
        ids: (planned.get(session.id)?.ids ?? "") + ids.join(""),
      });
      return state.kind;
    },
    linkTranscripts: async () => 0,
    setMeta: async () => {},
    discard: async (id) => void planned.delete(id),
  };
}

/** What is read of a home without a database. */
const NO_STORE = {
  listTranscripts: async () => [],
  listUnclaimedChats: async () => [],
  findTranscriptMessage: async () => undefined,
  listNotedTranscripts: async () => [],
  getMessages: async () => [],
  getMeta: async () => null,
} satisfies Partial<ImportTarget>;

/** Only the ids are known, which is what readers ask for. */
function plannedRows(
  session: Planned | undefined,
  { after, limit }: { readonly after: number; readonly limit: number },
): TranscriptRow[] {
  const ids = session?.ids.split("\u0000").slice(0, -1) ?? [];
  const from = Math.max(0, after + 1 - PLANNED_FROM);
  return ids.slice(from, from + limit).map((id, at) => ({
    id: PLANNED_FROM + from + at,
    platform_message_id: id,
    ...{ role: "", content: null, tool_calls: null, tool_call_id: null, tool_name: null },
    ...{ timestamp: 0, finish_reason: null, reasoning: null, line: null, path: null },
  }));
}

const PAGE_ROWS = 500;

/** Rows of the store, read a page at a time. */
export async function* transcriptRows(
  target: Pick<ImportTarget, "listTranscriptRows">,
  session: string,
): AsyncGenerator<TranscriptRow, undefined> {
  let after: number | undefined = 0;
  while (after !== undefined) {
    const page = await target.listTranscriptRows(session, { after, limit: PAGE_ROWS });
    yield* page;
    after = page.at(-1)?.id;
  }
}
