// One call of each method of the session store, so that a promise about all of them can be tested on all of them. A
// method added to the contract and not added here fails the type check.
import type {
  GatewayRecords,
  HomeStore,
  SessionStore,
  TranscriptRecords,
  TurnRecords,
} from "../../src/sessions/index.ts";
import type { DatabaseFile, HomeUpkeep, SummaryNodes } from "../../src/sessions/store.ts";
import { liveOf, traceOf } from "../../testing/session-store/gateway-records.ts";
import { leafOf } from "../../testing/session-store/summary-nodes.ts";

type Data = "location" | "readOnly" | "rules" | "scope" | "user" | "warnings";
/** Of the store of one person, with the ports in it. */
export type Method =
  | Exclude<keyof SessionStore, Data | "close" | "summaries" | "turns" | "gateway" | symbol>
  | keyof SummaryNodes
  | keyof TurnRecords
  | keyof GatewayRecords;
/** Of the store of a whole home only. */
export type HomeMethod = keyof HomeUpkeep | keyof TranscriptRecords | keyof DatabaseFile;

/** Where the calls go: a session, a message of it with role `user`, its title and a summary of it. */
export type Aim = {
  readonly session: string;
  readonly message: number;
  readonly title?: string;
  readonly node?: string;
};
export type Call<Store = SessionStore> = (store: Store, aim: Aim) => Promise<unknown>;

export const READS = {
  getSession: (store, { session }) => store.getSession(session),
  getSessionMark: (store, { session }) => store.getSessionMark(session),
  getOwnPrompt: (store, { session }) => store.getOwnPrompt(session),
  getExtractedId: (store, { session }) => store.getExtractedId(session),
  sessionCount: (store) => store.sessionCount({ excludeChildren: true, excludeSources: ["tool"] }),
  getMessages: (store, { session }) => store.getMessages(session, { includeInactive: true }),
  getMessagesAround: (store, { session, message }) => store.getMessagesAround(session, message),
  getAnchoredView: (store, { session, message }) => store.getAnchoredView(session, message),
  getMessagesAsConversation: (store, { session }) =>
    store.getMessagesAsConversation(session, { includeAncestors: true }),
  listRecentUserMessages: (store, { session }) => store.listRecentUserMessages(session),
  messageCount: (store, { session }) => store.messageCount(session),
  getSessionTitle: (store, { session }) => store.getSessionTitle(session),
  getNextTitleInLineage: (store, { title = "harbour" }) => store.getNextTitleInLineage(title),
  resolveSessionByTitle: (store, { title = "harbour" }) => store.resolveSessionByTitle(title),
  getCompressionTip: (store, { session }) => store.getCompressionTip(session),
  getNewestSession: (store, { session }) => store.getNewestSession(session),
  resolveResumeSessionId: (store, { session }) => store.resolveResumeSessionId(session),
  resolveSessionId: (store, { session }) => store.resolveSessionId(session),
  getCompressionLockHolder: (store, { session }) => store.getCompressionLockHolder(session),
  getSessionLease: (store, { session }) => store.getSessionLease(session),
  listSessionsRich: async (store) => [
    await store.listSessionsRich({ includeArchived: true }),
    await store.listSessionsRich({ orderByLastActive: true, idQuery: "a" }),
    await store.listSessionsRich({ orderByLastActive: true, includeChildren: true }),
  ],
  listSessionIds: (store, { session }) => store.listSessionIds({ prefix: session }),
  listDelegates: (store, { session }) => store.listDelegates([session]),
  listLineage: (store, { session }) => store.listLineage(session),
  listContinued: (store, { session }) => store.listContinued(session),
  listMessageKeys: (store, { session }) => store.listMessageKeys([session]),
  getMessagesById: (store, { message }) => store.getMessagesById([message]),
  listSummaryNodes: (store, { session }) => store.summaries.listSummaryNodes([session]),
  getSummaryNode: (store, { node = "lcm_1" }) => store.summaries.getSummaryNode(node),
  searchSummaryNodes: (store) => store.summaries.searchSummaryNodes("harbour"),
  search: async (store) => [
    await store.search("harbour"),
    await store.search('"harbour crane" OR lamp*'),
    await store.search("灯塔", { perLineage: true, sort: "newest" }),
    await store.search("nothing of the kind", { excludeSources: ["tool"], after: 1 }),
  ],
  searchMessages: (store) => store.searchMessages("harbour crane"),
  searchSessions: (store) => store.searchSessions(),
  searchSessionsById: (store, { session }) => store.searchSessionsById(session),
  listCronJobRuns: (store) => store.listCronJobRuns("job"),
  listKeptResults: (store, { session }) => store.listKeptResults([session]),
  getDisplayHistory: (store, { session }) => store.getDisplayHistory(session),
  getAsk: (store, { session }) => store.gateway.getAsk(session),
  getLiveSession: (store) => store.gateway.getLiveSession("agent:main"),
  listLiveSessions: (store) => store.gateway.listLiveSessions(),
  findMark: (store, { session }) => store.gateway.findMark([`mark of ${session}`]),
  listRecalls: (store, { session }) => store.turns.listRecalls({ sessionId: session }),
  listTurns: (store, { session }) => store.turns.listTurns({ sessionId: session }),
  findRecalls: (store, { session }) => store.turns.findRecalls(session, [`mark of ${session}`]),
  findRounds: (store, { session }) => store.gateway.findRounds(session, () => [`mark of ${session}`], "chat"),
  exportSession: (store, { session }) => store.exportSession(session, { includeInactive: true }),
  exportEach: async (store) => {
    for await (const _session of store.exportEach({ includeInactive: true }));
  },
} as const satisfies Partial<Record<Method, Call>>;

const NOBODY = { platform: "cli", userId: "nobody" };

export const WRITES: Readonly<Record<Exclude<Method, keyof typeof READS>, Call>> = {
  createSession: (store) => store.createSession("another", { source: "cli" }),
  endSession: (store, { session }) => store.endSession(session, "new_session"),
  reopenSession: (store, { session }) => store.reopenSession(session),
  saveOwnPrompt: (store, { session }) => store.saveOwnPrompt(session, "prompt", 1),
  setExtractedId: (store, { session, message }) => store.setExtractedId(session, message),
  updateSessionModel: (store, { session }) => store.updateSessionModel(session, "model"),
  updateTokenCounts: (store, { session }) => store.updateTokenCounts(session, { inputTokens: 1 }),
  appendMessage: (store, { session }) => store.appendMessage(session, { role: "user", content: "more" }),
  appendMany: (store, { session }) => store.appendMany(session, [{ role: "user", content: "more" }]),
  setFinishReason: (store, { session, message }) =>
    store.setFinishReason(session, [message], "content_policy"),
  replaceMessages: (store, { session }) =>
    store.replaceMessages(session, [{ role: "user", content: "other" }]),
  clearMessages: (store, { session }) => store.clearMessages(session),
  rewindToMessage: (store, { session, message }) => store.rewindToMessage(session, message),
  restoreRewound: (store, { session, message }) => store.restoreRewound(session, message),
  undoTurns: (store, { session }) => store.undoTurns(session),
  setSessionTitle: (store, { session }) => store.setSessionTitle(session, "another title"),
  continueSession: (store, { session }) => store.continueSession(session),
  branchSession: (store, { session }) => store.branchSession(session),
  tryAcquireCompressionLock: (store, { session }) => store.tryAcquireCompressionLock(session, "me"),
  renewCompressionLock: (store, { session }) => store.renewCompressionLock(session, "me"),
  releaseCompressionLock: (store, { session }) => store.releaseCompressionLock(session, "me"),
  acquireSessionLease: (store, { session }) => store.acquireSessionLease(session, "me"),
  renewSessionLease: (store, { session }) => store.renewSessionLease(session, "me"),
  releaseSessionLease: (store, { session }) => store.releaseSessionLease(session, "me"),
  breakSessionLease: (store, { session }) => store.breakSessionLease(session, "me"),
  setSessionArchived: (store, { session }) => store.setSessionArchived(session, true),
  setSessionHidden: (store, { session }) => store.setSessionHidden(session, true),
  setSessionPinned: (store, { session }) => store.setSessionPinned(session, true),
  insertSummaryNodes: (store, { session, message }) =>
    store.summaries.insertSummaryNodes([leafOf(session, [message], { node_id: "lcm_2" })]),
  improveSummaryNode: (store, { node = "lcm_1" }) =>
    store.summaries.improveSummaryNode(node, { summary: "better", tokens: 2, method: "model" }),
  deleteSession: (store, { session }) => store.deleteSession(session),
  deleteSessions: (store, { session }) => store.deleteSessions([session]),
  eraseSessions: (store) =>
    ("forUser" in store ? (store as HomeStore).forUser(NOBODY) : store).eraseSessions(),
  deleteSessionIfEmpty: (store, { session }) => store.deleteSessionIfEmpty(session),
  importSessions: (store) => store.importSessions([]),
  saveLiveSession: (store, { session }) => store.gateway.saveLiveSession(liveOf(session)),
  deleteLiveSession: (store, { session }) => store.gateway.deleteLiveSession(`key of ${session}`),
  saveMarks: (store, { session }) => store.gateway.saveMarks(session, ["prefix:9"]),
  addRecall: (store, { session }) => store.turns.addRecall(traceOf(session)),
  addTurn: (store, { session }) =>
    store.turns.addTurn({ session_id: session, at: 1, duration_ms: 1, mode: "agent" }),
  forgetRecalls: (store, { session }) => store.turns.forgetRecalls(`recall of ${session}`),
  saveAsk: (store, { session }) => store.gateway.saveAsk(session, { token: "t9", request: "r9" }),
  saveDelivered: (store, { session }) => store.gateway.saveDelivered(session, `token of ${session}`),
  saveRound: (store, { session }) =>
    store.gateway.saveRound({ session_id: session, mark: "prefix:9", wire: "chat", items: "[]" }),
};

export const HOME_READS = {
  getMeta: (store) => store.getMeta("key"),
  listAllKeptResultIds: (store) => store.listAllKeptResultIds(),
  countEmptySessions: (store) => store.countEmptySessions(),
  getTranscriptState: (store, { session }) => store.transcripts.getTranscriptState(session),
  listTranscripts: (store) => store.transcripts.listTranscripts(),
  listUnclaimedChats: (store) => store.transcripts.listUnclaimedChats(),
  listTranscriptRows: (store, { session }) =>
    store.transcripts.listTranscriptRows(session, { after: 0, limit: 10 }),
  findTranscriptMessage: (store, { session }) => store.transcripts.findTranscriptMessage([session], "m1"),
  listNotedTranscripts: (store) => store.transcripts.listNotedTranscripts("import:codex:"),
  listProvenance: (store, { message }) => store.transcripts.listProvenance([message]),
  listPrunable: (store) => store.listPrunable(),
  checkHealth: (store) => store.file!.checkHealth(),
  stats: (store) => store.stats(),
} as const satisfies Partial<Record<HomeMethod, Call<HomeStore>>>;

export const HOME_WRITES: Readonly<Record<Exclude<HomeMethod, keyof typeof HOME_READS>, Call<HomeStore>>> = {
  setMeta: (store) => store.setMeta("key", "value"),
  writeTranscript: (store) =>
    store.transcripts.writeTranscript({
      session: {
        id: "elsewhere-1",
        source: "elsewhere",
        origin: { source: "elsewhere", native_id: "1" },
        startedAt: 1,
      },
      append: [{ role: "user", content: "from elsewhere", platformMessageId: "m1", timestamp: 1 }],
    }),
  linkTranscripts: (store) =>
    store.transcripts.linkTranscripts([{ id: "elsewhere-1", parent: "elsewhere-0" }]),
  deleteEmptySessions: (store) => store.deleteEmptySessions(),
  pruneSessions: (store) => store.pruneSessions({ olderThanDays: 1 }),
  pruneEmptyGhostSessions: (store) => store.file!.pruneEmptyGhostSessions(),
  finalizeOrphanedCompressionSessions: (store) => store.file!.finalizeOrphanedCompressionSessions(),
  maybeAutoPruneAndVacuum: (store) => store.file!.maybeAutoPruneAndVacuum(),
  optimize: (store) => store.file!.optimize(),
  hideOrphanedDelegates: (store) => store.file!.hideOrphanedDelegates(),
  pruneTurns: (store) => store.pruneTurns(30),
  addSpend: (store) => store.addSpend({ day: "2026-01-31", kind: "token", key: "1" }, { requests: 1 }),
};

export const ALL_READS = { ...READS, ...HOME_READS };
export const ALL_WRITES = { ...WRITES, ...HOME_WRITES };

/** What became of a call: its value, the code of its error, or the error itself where it has none. */
export async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return { value: await call };
  } catch (cause) {
    return cause instanceof Error && "code" in cause && cause.name === "HermesError" ? cause.code : cause;
  }
}
