// One call of each method of the session store, so that a promise about all of them can be tested on all of them. A
// method added to the contract and not added here fails the type check.
import type { SessionStore } from "../../src/sessions/index.ts";
import { liveOf, traceOf } from "../../testing/session-store/gateway-records.ts";
import { leafOf } from "../../testing/session-store/summary-nodes.ts";

export type Method = Exclude<
  keyof SessionStore,
  "location" | "readOnly" | "rules" | "scope" | "user" | "warnings" | "close" | symbol
>;

/** Where the calls go: a session, a message of it with role `user`, its title and a summary of it. */
export type Aim = {
  readonly session: string;
  readonly message: number;
  readonly title?: string;
  readonly node?: string;
};
export type Call = (store: SessionStore, aim: Aim) => Promise<unknown>;

export const READS = {
  getSession: (store, { session }) => store.getSession(session),
  getSessionMark: (store, { session }) => store.getSessionMark(session),
  getOwnPrompt: (store, { session }) => store.getOwnPrompt(session),
  getExtractedId: (store, { session }) => store.getExtractedId(session),
  sessionCount: (store) => store.sessionCount({ excludeChildren: true, excludeSources: ["tool"] }),
  getMeta: (store) => store.getMeta("key"),
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
  listSummaryNodes: (store, { session }) => store.listSummaryNodes([session]),
  getSummaryNode: (store, { node = "lcm_1" }) => store.getSummaryNode(node),
  searchSummaryNodes: (store) => store.searchSummaryNodes("harbour"),
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
  listAllKeptResultIds: (store) => store.listAllKeptResultIds(),
  getDisplayHistory: (store, { session }) => store.getDisplayHistory(session),
  countEmptySessions: (store) => store.countEmptySessions(),
  getTranscriptState: (store, { session }) => store.getTranscriptState(session),
  listTranscripts: (store) => store.listTranscripts(),
  listUnclaimedChats: (store) => store.listUnclaimedChats(),
  listTranscriptRows: (store, { session }) => store.listTranscriptRows(session, { after: 0, limit: 10 }),
  findTranscriptMessage: (store, { session }) => store.findTranscriptMessage([session], "m1"),
  listNotedTranscripts: (store) => store.listNotedTranscripts("import:codex:"),
  listProvenance: (store, { message }) => store.listProvenance([message]),
  listPrunable: (store) => store.listPrunable(),
  checkHealth: (store) => store.checkHealth(),
  stats: (store) => store.stats(),
  getHandoffState: (store, { session }) => store.getHandoffState(session),
  listPendingHandoffs: (store) => store.listPendingHandoffs(),
  getAsk: (store, { session }) => store.getAsk(session),
  getLiveSession: (store) => store.getLiveSession("agent:main"),
  listLiveSessions: (store) => store.listLiveSessions(),
  findMark: (store, { session }) => store.findMark([`mark of ${session}`]),
  listRecalls: (store, { session }) => store.listRecalls({ sessionId: session }),
  findRecalls: (store, { session }) => store.findRecalls(session, [`mark of ${session}`]),
  findRounds: (store, { session }) => store.findRounds(session, [`mark of ${session}`], "chat"),
  exportSession: (store, { session }) => store.exportSession(session, { includeInactive: true }),
  exportEach: async (store) => {
    for await (const _session of store.exportEach({ includeInactive: true }));
  },
} as const satisfies Partial<Record<Method, Call>>;

export const WRITES: Readonly<Record<Exclude<Method, keyof typeof READS>, Call>> = {
  createSession: (store) => store.createSession("another", { source: "cli" }),
  endSession: (store, { session }) => store.endSession(session, "new_session"),
  reopenSession: (store, { session }) => store.reopenSession(session),
  saveOwnPrompt: (store, { session }) => store.saveOwnPrompt(session, "prompt", 1),
  setExtractedId: (store, { session, message }) => store.setExtractedId(session, message),
  updateSessionModel: (store, { session }) => store.updateSessionModel(session, "model"),
  updateTokenCounts: (store, { session }) => store.updateTokenCounts(session, { inputTokens: 1 }),
  setMeta: (store) => store.setMeta("key", "value"),
  writeTranscript: (store) =>
    store.writeTranscript({
      session: {
        id: "elsewhere-1",
        source: "elsewhere",
        origin: { source: "elsewhere", native_id: "1" },
        startedAt: 1,
      },
      append: [{ role: "user", content: "from elsewhere", platformMessageId: "m1", timestamp: 1 }],
    }),
  linkTranscripts: (store) => store.linkTranscripts([{ id: "elsewhere-1", parent: "elsewhere-0" }]),
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
    store.insertSummaryNodes([leafOf(session, [message], { node_id: "lcm_2" })]),
  improveSummaryNode: (store, { node = "lcm_1" }) =>
    store.improveSummaryNode(node, { summary: "better", tokens: 2, method: "model" }),
  deleteSession: (store, { session }) => store.deleteSession(session),
  deleteSessions: (store, { session }) => store.deleteSessions([session]),
  eraseSessions: (store) => store.eraseSessions(store.scope ?? { userId: "nobody", userPlatform: "cli" }),
  deleteSessionIfEmpty: (store, { session }) => store.deleteSessionIfEmpty(session),
  deleteEmptySessions: (store) => store.deleteEmptySessions(),
  pruneSessions: (store) => store.pruneSessions({ olderThanDays: 1 }),
  pruneEmptyGhostSessions: (store) => store.pruneEmptyGhostSessions(),
  finalizeOrphanedCompressionSessions: (store) => store.finalizeOrphanedCompressionSessions(),
  maybeAutoPruneAndVacuum: (store) => store.maybeAutoPruneAndVacuum(),
  optimize: (store) => store.optimize(),
  hideOrphanedDelegates: (store) => store.hideOrphanedDelegates(),
  requestHandoff: (store, { session }) => store.requestHandoff(session, "telegram"),
  claimHandoff: (store, { session }) => store.claimHandoff(session),
  completeHandoff: (store, { session }) => store.completeHandoff(session),
  failHandoff: (store, { session }) => store.failHandoff(session, "no answer"),
  importSessions: (store) => store.importSessions([]),
  saveLiveSession: (store, { session }) => store.saveLiveSession(liveOf(session)),
  deleteLiveSession: (store, { session }) => store.deleteLiveSession(`key of ${session}`),
  saveMarks: (store, { session }) => store.saveMarks(session, ["prefix:9"]),
  addRecall: (store, { session }) => store.addRecall(traceOf(session)),
  pruneRecalls: (store) => store.pruneRecalls(30),
  forgetRecalls: (store, { session }) => store.forgetRecalls(`recall of ${session}`),
  saveAsk: (store, { session }) => store.saveAsk(session, { token: "t9", request: "r9" }),
  saveDelivered: (store, { session }) => store.saveDelivered(session, `token of ${session}`),
  saveRound: (store, { session }) =>
    store.saveRound({ session_id: session, mark: "prefix:9", wire: "chat", items: "[]" }),
  addSpend: (store) => store.addSpend({ day: "2026-01-31", kind: "token", key: "1" }, { requests: 1 }),
};

/** Members that a store bound to one user refuses, because they concern everybody. */
export const NOT_FOR_ONE_USER: Readonly<Partial<Record<keyof SessionStore, string>>> = {
  listAllKeptResultIds: "names files of everybody",
  listPendingHandoffs: "a worker of the home takes handoffs, whoever asked for them",
  deleteEmptySessions: "deletes everybody's",
  countEmptySessions: "counts what deleteEmptySessions would delete",
  pruneSessions: "deletes everybody's",
  listPrunable: "lists what pruneSessions would delete",
  pruneEmptyGhostSessions: "deletes everybody's",
  finalizeOrphanedCompressionSessions: "ends everybody's",
  hideOrphanedDelegates: "hides everybody's",
  maybeAutoPruneAndVacuum: "deletes everybody's, and rewrites the file",
  optimize: "rewrites the file",
  checkHealth: "reads the whole file",
  stats: "counts everybody's",
  getMeta: "notes are the home's",
  setMeta: "notes are the home's",
  getTranscriptState: "the owner of the home imports",
  listTranscripts: "the owner of the home imports",
  listUnclaimedChats: "the owner of the home imports",
  listTranscriptRows: "the owner of the home imports",
  writeTranscript: "the owner of the home imports",
  linkTranscripts: "the owner of the home imports",
  findTranscriptMessage: "the owner of the home imports",
  listNotedTranscripts: "the owner of the home imports",
  listProvenance: "names files of the owner of the home",
  pruneRecalls: "deletes everybody's",
  addSpend: "the gateway counts",
};

/** What became of a call: its value, the code of its error, or the error itself where it has none. */
export async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return { value: await call };
  } catch (cause) {
    return cause instanceof Error && "code" in cause && cause.name === "HermesError" ? cause.code : cause;
  }
}
