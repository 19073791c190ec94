// A session store for one person, over the store of the whole home: a gateway creates one for each user, and one for the owner of
// the home, who has the sessions without a user. Sessions of others do not exist for it.
// Each group of the contract has its function below, so a new member without a rule fails the type check. The rules:
// - Reads get the person's scope (`scoped`). A call that names another person is refused with `bad-user-id`.
// - Writes that name a session check first that the person may see it (`own`). If not, they do what they do for an unknown id.
// - A new session belongs to the person. Its id must be free in the whole file; otherwise it is refused with `bad-session-id`.
// - Members that affect all users are refused with `not-for-one-user`.
// If administration, or another program, has put sessions of two persons into one tree, deleting or archiving one end may change
// the other.
import { HermesError, sha256 } from "../lib/index.ts";
import { sessionError } from "./errors.ts";
import {
  checkSessionId,
  hasMarks,
  MARK_KEYS,
  mentionsMarks,
  modelConfigText,
  ORPHANED,
  parseConfig,
  plainConfig,
  readOwner,
  readScope,
  type Scope,
  type SessionUser,
  scopeOfUser,
  USER_PLATFORM,
  type WITHOUT_USER,
} from "./identity.ts";
import type { ExportedSession } from "./rows.ts";
import type {
  GatewayRecords,
  Lineage,
  MessageRecords,
  NewLineageSession,
  NewSession,
  SessionClaims,
  SessionRecords,
  SessionSearch,
  SessionStore,
  StoreMaintenance,
  SummaryNodes,
  TranscriptRecords,
} from "./store.ts";

/**
 * `person`: a user, or `WITHOUT_USER` for the owner of the home. Throws `bad-user-id` if it names nobody. Closing it closes only this
 * handle. The underlying store stays open; whoever opened it closes it.
 */
export function bindStore(store: SessionStore, person: SessionUser | typeof WITHOUT_USER): SessionStore {
  const bound = new Binding(store, person);
  const close = async () => bound.close();
  return {
    location: store.location,
    readOnly: store.readOnly,
    rules: store.rules,
    warnings: store.warnings,
    scope: bound.scope,
    user: bound.user,
    close,
    [Symbol.asyncDispose]: close,
    ...sessionRecords(bound),
    ...messageRecords(bound),
    ...lineage(bound),
    ...summaryNodes(bound),
    ...sessionSearch(bound),
    ...sessionClaims(bound),
    ...transcriptRecords(),
    ...storeMaintenance(bound),
    ...gatewayRecords(bound),
  };
}

function sessionRecords(bound: Binding): SessionRecords {
  const { store } = bound;
  return {
    createSession: (id, options) => bound.create(id, options),
    endSession: (id, reason) => bound.own(id, (seen) => store.endSession(seen, reason)),
    reopenSession: (id) => bound.own(id, (seen) => store.reopenSession(seen)),
    updateSessionModel: (id, model) => bound.own(id, (seen) => store.updateSessionModel(seen, model)),
    async updateTokenCounts(id, update) {
      if (!(await bound.sees(id))) await bound.create(id);
      await store.updateTokenCounts(id, update);
    },
    getSession: async (id, scope) => store.getSession(id, bound.scoped(scope)),
    saveOwnPrompt: (id, text, version) => bound.own(id, (seen) => store.saveOwnPrompt(seen, text, version)),
    getOwnPrompt: async (id, scope) => store.getOwnPrompt(id, bound.scoped(scope)),
    setExtractedId: (id, message) => bound.own(id, (seen) => store.setExtractedId(seen, message)),
    getExtractedId: async (id, scope) => store.getExtractedId(id, bound.scoped(scope)),
    setSessionTitle: async (id, title, options) => store.setSessionTitle(id, title, bound.scoped(options)),
    getSessionTitle: async (id, scope) => store.getSessionTitle(id, bound.scoped(scope)),
    getNextTitleInLineage: async (base, scope) => store.getNextTitleInLineage(base, bound.scoped(scope)),
    resolveSessionByTitle: async (title, options) =>
      store.resolveSessionByTitle(title, bound.scoped(options)),
    setSessionArchived: (id, archived) => bound.own(id, (seen) => store.setSessionArchived(seen, archived)),
    setSessionPinned: (id, pinned) => bound.own(id, (seen) => store.setSessionPinned(seen, pinned)),
    setSessionHidden: (id, hidden) => bound.own(id, (seen) => store.setSessionHidden(seen, hidden)),
  };
}

function messageRecords(bound: Binding): MessageRecords {
  const { store } = bound;
  return {
    appendMessage: (id, message) => bound.own(id, (seen) => store.appendMessage(seen, message)),
    appendMany: (id, messages, options) => bound.own(id, (seen) => store.appendMany(seen, messages, options)),
    setFinishReason: (id, messageIds, reason, options) =>
      bound.own(id, (seen) => store.setFinishReason(seen, messageIds, reason, options)),
    replaceMessages: (id, messages, options) =>
      bound.own(id, (seen) => store.replaceMessages(seen, messages, options)),
    clearMessages: (id, options) => bound.own(id, (seen) => store.clearMessages(seen, options)),
    getMessages: async (id, options) => store.getMessages(id, bound.scoped(options)),
    getMessagesById: async (ids, scope) => store.getMessagesById(ids, bound.scoped(scope)),
    getDisplayHistory: async (id, scope) => store.getDisplayHistory(id, bound.scoped(scope)),
    getMessagesAround: async (id, message, options) =>
      store.getMessagesAround(id, message, bound.scoped(options)),
    getAnchoredView: async (id, message, options) =>
      store.getAnchoredView(id, message, bound.scoped(options)),
    getMessagesAsConversation: async (id, options) =>
      store.getMessagesAsConversation(id, bound.scoped(options)),
    listRecentUserMessages: async (id, options) => store.listRecentUserMessages(id, bound.scoped(options)),
    listMessageKeys: async (ids, options) => store.listMessageKeys(ids, bound.scoped(options)),
    getSessionMark: async (id, scope) => store.getSessionMark(id, bound.scoped(scope)),
    messageCount: async (id, scope) => store.messageCount(id, bound.scoped(scope)),
    listKeptResults: async (ids, options) => store.listKeptResults(ids, bound.scoped(options)),
    listAllKeptResultIds: notForOneUser("listAllKeptResultIds"),
    rewindToMessage: (id, message, options) =>
      bound.own(id, (seen) => store.rewindToMessage(seen, message, options)),
    restoreRewound: (id, since, options) =>
      bound.own(id, (seen) => store.restoreRewound(seen, since, options)),
    undoTurns: (id, turns, options) => bound.own(id, (seen) => store.undoTurns(seen, turns, options)),
  };
}

function lineage(bound: Binding): Lineage {
  const { store } = bound;
  const made = async (parent: string, make: (seen: string) => Promise<NewLineageSession>) => {
    const child = await bound.own(parent, make);
    await bound.takeOverLease(child.id);
    return child;
  };
  return {
    getCompressionTip: async (id, scope) => store.getCompressionTip(id, bound.scoped(scope)),
    getNewestSession: async (id, scope) => store.getNewestSession(id, bound.scoped(scope)),
    resolveResumeSessionId: async (id, scope) => store.resolveResumeSessionId(id, bound.scoped(scope)),
    resolveSessionId: async (text, scope) => store.resolveSessionId(text, bound.scoped(scope)),
    listLineage: async (id, scope) => store.listLineage(id, bound.scoped(scope)),
    listContinued: async (id, scope) => store.listContinued(id, bound.scoped(scope)),
    continueSession: (id, options) => made(id, (seen) => store.continueSession(seen, options)),
    branchSession: (id, options) => made(id, (seen) => store.branchSession(seen, options)),
  };
}

function summaryNodes(bound: Binding): SummaryNodes {
  const { store } = bound;
  return {
    async insertSummaryNodes(nodes) {
      bound.refuseIfClosed();
      const named = new Set(nodes.map((node) => node.session_id));
      // A lineage has one node per first message, so a node stored under another user's root would block that user's node.
      for (const { lineage_root: root } of nodes) if (await bound.isOthers(root)) named.add(root);
      for (const id of named)
        if (!(await bound.sees(id)))
          return bound.asUnknown(id, (unseen) =>
            store.insertSummaryNodes(nodes.map((node) => ({ ...node, session_id: unseen }))),
          );
      return store.insertSummaryNodes(nodes);
    },
    async improveSummaryNode(id, better) {
      const isSeen = (await store.getSummaryNode(id, bound.scoped(undefined))) !== null;
      if (isSeen) return store.improveSummaryNode(id, better);
      return bound.asUnknown(id, (unseen) => store.improveSummaryNode(unseen, better));
    },
    listSummaryNodes: async (ids, scope) => store.listSummaryNodes(ids, bound.scoped(scope)),
    getSummaryNode: async (id, scope) => store.getSummaryNode(id, bound.scoped(scope)),
    searchSummaryNodes: async (query, options) => store.searchSummaryNodes(query, bound.scoped(options)),
  };
}

function sessionSearch(bound: Binding): SessionSearch {
  const { store } = bound;
  return {
    search: async (query, options) => store.search(query, bound.scoped(options)),
    searchMessages: async (query, options) => store.searchMessages(query, bound.scoped(options)),
    sessionCount: async (options) => store.sessionCount(bound.scoped(options)),
    listSessionsRich: async (options) => store.listSessionsRich(bound.scoped(options)),
    searchSessions: async (options) => store.searchSessions(bound.scoped(options)),
    searchSessionsById: async (query, options) => store.searchSessionsById(query, bound.scoped(options)),
    listCronJobRuns: async (job, options) => store.listCronJobRuns(job, bound.scoped(options)),
    listSessionIds: async (options) => store.listSessionIds(bound.scoped(options)),
  };
}

function sessionClaims(bound: Binding): SessionClaims {
  const { store } = bound;
  return {
    acquireSessionLease: async (id, holder, options) =>
      bound.own(checkSessionId(id), (seen) => store.acquireSessionLease(seen, holder, options)),
    renewSessionLease: (id, holder, options) =>
      bound.own(id, (seen) => store.renewSessionLease(seen, holder, options)),
    releaseSessionLease: (id, holder) => bound.own(id, (seen) => store.releaseSessionLease(seen, holder)),
    getSessionLease: (id) => bound.own(id, (seen) => store.getSessionLease(seen)),
    breakSessionLease: (id, holder) => bound.own(id, (seen) => store.breakSessionLease(seen, holder)),
    tryAcquireCompressionLock: (id, holder, options) =>
      bound.own(id, (seen) => store.tryAcquireCompressionLock(seen, holder, options)),
    renewCompressionLock: (id, holder, options) =>
      bound.own(id, (seen) => store.renewCompressionLock(seen, holder, options)),
    releaseCompressionLock: (id, holder) =>
      bound.own(id, (seen) => store.releaseCompressionLock(seen, holder)),
    getCompressionLockHolder: (id) => bound.own(id, (seen) => store.getCompressionLockHolder(seen)),
    requestHandoff: (id, platform) => bound.own(id, (seen) => store.requestHandoff(seen, platform)),
    claimHandoff: (id) => bound.own(id, (seen) => store.claimHandoff(seen)),
    completeHandoff: (id) => bound.own(id, (seen) => store.completeHandoff(seen)),
    failHandoff: (id, error) => bound.own(id, (seen) => store.failHandoff(seen, error)),
    getHandoffState: async (id, scope) => store.getHandoffState(id, bound.scoped(scope)),
    listPendingHandoffs: notForOneUser("listPendingHandoffs"),
  };
}

/** An import reads files of this machine, which belong to the owner of the home. */
function transcriptRecords(): TranscriptRecords {
  return {
    getTranscriptState: notForOneUser("getTranscriptState"),
    listUnclaimedChats: notForOneUser("listUnclaimedChats"),
    listTranscripts: notForOneUser("listTranscripts"),
    listTranscriptRows: notForOneUser("listTranscriptRows"),
    writeTranscript: notForOneUser("writeTranscript"),
    linkTranscripts: notForOneUser("linkTranscripts"),
    findTranscriptMessage: notForOneUser("findTranscriptMessage"),
    listNotedTranscripts: notForOneUser("listNotedTranscripts"),
    listProvenance: notForOneUser("listProvenance"),
  };
}

function storeMaintenance(bound: Binding): StoreMaintenance {
  const { store } = bound;
  return {
    deleteSession: (id, options) => bound.own(id, (seen) => store.deleteSession(seen, options)),
    async deleteSessions(ids, options) {
      bound.refuseIfClosed();
      const seen: unknown[] = [];
      for (const id of ids) if (await bound.sees(id)) seen.push(id);
      return store.deleteSessions(seen, options);
    },
    deleteSessionIfEmpty: (id) => bound.own(id, (seen) => store.deleteSessionIfEmpty(seen)),
    eraseSessions: async (options) => store.eraseSessions(bound.scoped(options)),
    listDelegates: async (ids, scope) => store.listDelegates(ids, bound.scoped(scope)),
    exportSession: async (id, options) => store.exportSession(id, bound.scoped(options)),
    async *exportEach(options) {
      const { onLoss, ...others } = bound.scoped(options);
      // A session whose row is lost has no known owner any more.
      const told = onLoss && {
        onLoss: (loss: Parameters<typeof onLoss>[0]) => onLoss({ ...loss, standIns: [] }),
      };
      yield* store.exportEach({ ...others, ...told });
    },
    async importSessions(sessions, work) {
      bound.refuseIfClosed();
      const skipped: { readonly id: string; readonly reason: string }[] = [];
      const outcome = await store.importSessions(bound.imported(sessions, skipped), work);
      return { ...outcome, skipped: [...outcome.skipped, ...skipped] };
    },
    deleteEmptySessions: notForOneUser("deleteEmptySessions"),
    countEmptySessions: notForOneUser("countEmptySessions"),
    pruneSessions: notForOneUser("pruneSessions"),
    listPrunable: notForOneUser("listPrunable"),
    pruneEmptyGhostSessions: notForOneUser("pruneEmptyGhostSessions"),
    finalizeOrphanedCompressionSessions: notForOneUser("finalizeOrphanedCompressionSessions"),
    hideOrphanedDelegates: notForOneUser("hideOrphanedDelegates"),
    maybeAutoPruneAndVacuum: notForOneUser("maybeAutoPruneAndVacuum"),
    optimize: notForOneUser("optimize"),
    checkHealth: notForOneUser("checkHealth"),
    stats: notForOneUser("stats"),
    getMeta: notForOneUser("getMeta"),
    setMeta: notForOneUser("setMeta"),
  };
}

function gatewayRecords(bound: Binding): GatewayRecords {
  const { store } = bound;
  return {
    saveAsk: (id, ask) => bound.own(id, (seen) => store.saveAsk(seen, ask)),
    getAsk: async (id, scope) => store.getAsk(id, bound.scoped(scope)),
    saveDelivered: (id, token) => bound.own(id, (seen) => store.saveDelivered(seen, token)),
    saveLiveSession: (live) =>
      bound.own(live.session_id, (seen) => store.saveLiveSession({ ...live, session_id: seen })),
    getLiveSession: async (key, scope) => store.getLiveSession(key, bound.scoped(scope)),
    listLiveSessions: async (options) => store.listLiveSessions(bound.scoped(options)),
    deleteLiveSession: async (key, scope) => store.deleteLiveSession(key, bound.scoped(scope)),
    saveMarks: (id, marks) => bound.own(id, (seen) => store.saveMarks(seen, marks)),
    findMark: async (marks, scope) => store.findMark(marks, bound.scoped(scope)),
    addRecall: (trace) =>
      bound.own(trace.session_id, (seen) => store.addRecall({ ...trace, session_id: seen })),
    listRecalls: async (options) => store.listRecalls(bound.scoped(options)),
    findRecalls: async (id, marks, scope) => store.findRecalls(id, marks, bound.scoped(scope)),
    pruneRecalls: notForOneUser("pruneRecalls"),
    forgetRecalls: async (text, options) => store.forgetRecalls(text, bound.scoped(options)),
    saveRound: (round) =>
      bound.own(round.session_id, (seen) => store.saveRound({ ...round, session_id: seen })),
    findRounds: async (id, marks, wire, scope) => store.findRounds(id, marks, wire, bound.scoped(scope)),
    addSpend: notForOneUser("addSpend"),
  };
}

function notForOneUser(member: keyof SessionStore & string): () => Promise<never> {
  return async () => {
    throw sessionError(
      "not-for-one-user",
      `${member} affects the sessions of all users, but this store is bound to one person.`,
      { hint: "Use the store of the whole home." },
    );
  };
}

const TAKEN = "a session with this id exists";

function scopeOfPerson(person: SessionUser | typeof WITHOUT_USER | undefined): Scope {
  if (person !== undefined && "withoutUser" in person) return readScope(person);
  const { platform, userId } = (person ?? {}) as Partial<SessionUser>;
  return readScope({ userId, userPlatform: platform });
}

class Binding {
  readonly store: SessionStore;
  /** Undefined: the owner of the home. */
  readonly user: SessionUser | undefined;
  readonly scope: Scope;
  #isClosed: boolean;

  constructor(store: SessionStore, person: SessionUser | typeof WITHOUT_USER) {
    this.store = store;
    this.scope = scopeOfPerson(person);
    const { userId, userPlatform } = this.scope;
    this.user =
      userId === undefined || userPlatform === undefined ? undefined : { platform: userPlatform, userId };
    this.#isClosed = false;
  }

  close(): void {
    this.#isClosed = true;
  }

  refuseIfClosed(): void {
    if (!this.#isClosed) return;
    throw sessionError("session-db-closed", `This person's store on ${this.store.location} was closed.`, {
      hint: "Bind the store of the whole home again with bindStore.",
    });
  }

  /** The options of a read, limited to this person. Throws `bad-user-id` when they name another one. */
  scoped<Options extends Scope>(options: Options | undefined): Options & Scope {
    this.refuseIfClosed();
    this.#refuseOthers(readScope(options));
    return { ...options, ...this.scope } as Options & Scope;
  }

  #refuseOthers(given: Scope): void {
    const isOwn = (key: keyof Scope) => given[key] === undefined || given[key] === this.scope[key];
    if (isOwn("userId") && isOwn("userPlatform") && isOwn("withoutUser")) return;
    throw sessionError("bad-user-id", "This store is bound to one person, and another one was passed.", {
      hint: "Leave the user out, or use the store of the whole home.",
    });
  }

  /** True when this is the id of one of the person's sessions. */
  async sees(id: unknown): Promise<boolean> {
    this.refuseIfClosed();
    return typeof id === "string" && (await this.store.resolveSessionId(id, this.scope)) === id;
  }

  /** True when this is the id of a session that the person may not see. */
  async isOthers(id: unknown): Promise<boolean> {
    if (typeof id !== "string" || (await this.sees(id))) return false;
    if ((await this.store.resolveSessionId(id)) !== id) return false;
    return !(await this.sees(id)); // the person may have created it in another process meanwhile
  }

  async own<T>(id: string, call: (id: string) => Promise<T>): Promise<T> {
    return (await this.sees(id)) ? call(id) : this.asUnknown(id, call);
  }

  /**
   * Makes the call with a substitute id that no session has, always the same one for the same id. The store then behaves as for
   * an unknown id, and its errors name the id that was asked for.
   */
  async asUnknown<T>(id: string, call: (id: string) => Promise<T>): Promise<T> {
    if (typeof id !== "string" || id === "") return call(id); // no session has such an id
    const unseen = this.#unseen(id);
    try {
      return await call(unseen);
    } catch (cause) {
      if (!(cause instanceof HermesError)) throw cause;
      const { code, message, hint } = cause;
      throw new HermesError(code, message.replaceAll(unseen, id), {
        hint: hint?.replaceAll(unseen, id),
        cause: cause.cause,
      });
    }
  }

  #unseen(id: string): string {
    const { platform = null, userId = null } = this.user ?? {};
    return `unseen-${sha256(JSON.stringify([platform, userId, id])).slice(0, 32)}`;
  }

  /** A lease may be taken before its session is created. Until then it is stored under the substitute id. */
  async takeOverLease(id: string): Promise<void> {
    const held = await this.store.getSessionLease(this.#unseen(id));
    if (held === null) return;
    const { holder, acquired_at, expires_at } = held;
    await this.store.acquireSessionLease(id, holder, { ttl: expires_at - acquired_at });
    await this.store.releaseSessionLease(this.#unseen(id), holder);
  }

  async create(id: string, options: NewSession = {}): Promise<string> {
    this.refuseIfClosed();
    this.#refuseOthers(readOwner(options));
    await this.#refuseTaken(id);
    const { modelConfig, parentSessionId, ...others } = options;
    const owner = this.user === undefined ? { userId: null } : scopeOfUser(this.user);
    const row = { ...others, ...owner, modelConfig: await this.#ownConfig(plainConfig(modelConfig)) };
    if (parentSessionId)
      await this.own(parentSessionId, (parent) =>
        this.store.createSession(id, { ...row, parentSessionId: parent }),
      );
    else await this.store.createSession(id, row);
    await this.#refuseTaken(id); // another person may have created it first
    await this.takeOverLease(id);
    return id;
  }

  async #refuseTaken(id: string): Promise<void> {
    if (!(await this.isOthers(id))) return;
    throw sessionError("bad-session-id", `The session '${id}' cannot be created: ${TAKEN}.`, {
      hint: "Choose another id.",
    });
  }

  /**
   * Removes the mark that names another platform's user. A subagent run whose session the person does not have stays a run, marked
   * as orphaned, so that it is not deleted with another person's session. The other marks have no effect without a parent; they
   * stay as given, because a mark that disappeared would say that the session exists.
   */
  async #ownConfig(
    config: Readonly<Record<string, unknown>> | null,
    platform?: string,
  ): Promise<Record<string, unknown> | null> {
    if (config === null) return null;
    const own: Record<string, unknown> = { ...config };
    if (platform === undefined) delete own[USER_PLATFORM];
    else own[USER_PLATFORM] = platform;
    for (const key of Object.values(MARK_KEYS)) {
      const named = own[key];
      if (named === undefined || named === null) continue;
      if (typeof named !== "string") delete own[key];
      else if (key === MARK_KEYS.delegateFrom && !(await this.sees(named))) own[key] = ORPHANED;
    }
    return own;
  }

  /**
   * Sessions of an import, changed to belong to this person. Those whose id another person's session has go to `skipped`. A subagent
   * run that comes before its session waits for it.
   */
  async *imported(
    sessions: AsyncIterable<ExportedSession> | Iterable<ExportedSession>,
    skipped: { readonly id: string; readonly reason: string }[],
  ): AsyncGenerator<ExportedSession> {
    const waiting = new Map<string, ExportedSession[]>(); // by the session they are runs of
    let failure: { readonly cause: unknown } | undefined;
    try {
      for await (const session of sessions) {
        const isRow = typeof session === "object" && session !== null && !Array.isArray(session);
        if (!isRow) yield session;
        else if (await this.isOthers(session.id)) skipped.push({ id: session.id, reason: TAKEN });
        else {
          const awaited = await this.#awaited(session);
          if (awaited === undefined) yield* this.#withRuns(session, waiting);
          else if (!waiting.get(awaited)?.push(session)) waiting.set(awaited, [session]);
        }
      }
    } catch (cause) {
      failure = { cause }; // sessions that came before the failure are imported
    }
    for (const [id, runs] of waiting) {
      waiting.delete(id); // its session may be a descendant of one of its own runs
      for (const run of runs) yield* this.#withRuns(run, waiting);
    }
    if (failure !== undefined) throw failure.cause;
  }

  /** Yields the session, then the runs that waited for it. */
  async *#withRuns(
    session: ExportedSession,
    waiting: Map<string, ExportedSession[]>,
  ): AsyncGenerator<ExportedSession> {
    const due = [session];
    for (let next = due.pop(); next !== undefined; next = due.pop()) {
      yield await this.#ownRow(next); // stored, or skipped, when the loop continues
      for (const run of waiting.get(next.id) ?? []) due.push(run);
      waiting.delete(next.id);
    }
  }

  /** The session this one is a run of, if that session does not exist yet. */
  async #awaited({ model_config }: ExportedSession): Promise<string | undefined> {
    const config = typeof model_config === "string" ? parseConfig(model_config) : null;
    const named = config?.[MARK_KEYS.delegateFrom];
    if (typeof named !== "string" || named === ORPHANED) return undefined;
    return (await this.sees(named)) ? undefined : named;
  }

  async #ownRow(session: ExportedSession): Promise<ExportedSession> {
    const { platform, userId = null } = this.user ?? {};
    const { source, parent_session_id: parent } = session;
    const text = typeof session.model_config === "string" ? session.model_config : null;
    const config = parseConfig(text);
    const isFromThere = platform === undefined || platform === source;
    const isPlain = isFromThere && !(config === null ? mentionsMarks(text) : hasMarks(config));
    const own = await this.#ownConfig(config ?? {}, isFromThere ? undefined : platform);
    return {
      ...session,
      user_id: userId,
      model_config: isPlain ? text : modelConfigText(own),
      parent_session_id: (await this.isOthers(parent)) ? null : parent,
    };
  }
}
