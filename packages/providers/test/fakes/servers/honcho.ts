// A fake Honcho 3 (API `/v3`). Its peer representation is the list of conclusions; chat, summary and what the server derives from messages
// are set by the test.
import { type FakeReply, type FormPart, rank, type SeenRequest } from "./fake-server.ts";
import {
  asked,
  bodyOf,
  filtered,
  got,
  jsonObject,
  merge,
  missing,
  newestWithin,
  ok,
  paged,
  pathId,
  peerView,
  queryOf,
  sessionView,
  summaryView,
  update,
  workspaceView,
} from "./honcho-answers.ts";
import { HonchoControls, type HonchoQuestion } from "./honcho-controls.ts";
import { type Flags, type Message, type NewMessage, now, type Session, Workspace } from "./honcho-store.ts";
import { bodies, invalidValue, parse, queries } from "./honcho-wire.ts";
import { answerWith, type Call, type Route, route } from "./routes.ts";

const UPLOAD_LIMIT_BYTES = 5 * 2 ** 20;
const MESSAGE_LIMIT_CHARS = 25_000;

export class FakeHoncho extends HonchoControls {
  readonly #routes: readonly Route[] = this.#table();

  protected override handle(request: SeenRequest): FakeReply {
    if (!this.speaksV3 && request.path.startsWith("/v3/")) return missing("Not Found").reply;
    return answerWith(this.#routes, request, (status) => ({
      status,
      body: { detail: status === 404 ? "Not Found" : "Method Not Allowed" },
    }));
  }

  #table(): readonly Route[] {
    const W = "/v3/workspaces/:workspace_id";
    const P = `${W}/peers/:peer_id`;
    const S = `${W}/sessions/:session_id`;
    return [
      route("GET", "/health", () => ok({ status: "ok" })),
      route("POST", "/v3/workspaces", (call) => this.#postWorkspace(call)),
      route("POST", "/v3/workspaces/list", (call) =>
        paged(call, [...this.workspaces.values()].map(workspaceView)),
      ),
      route("PUT", W, (call) => ok(workspaceView(update(call, () => this.#createIn(call))))),
      route("DELETE", W, (call) => this.#deleteWorkspace(call)),
      route("POST", `${W}/search`, (call) => this.#search(call, () => true)),
      route("POST", `${W}/chat`, (call) => this.#chat(call)),
      route("GET", `${W}/queue/status`, (call) => this.#queueStatus(call)),
      route("POST", `${W}/schedule_dream`, (call) => {
        bodyOf(call, bodies.dream);
        return { status: 204 };
      }),
      route("POST", `${W}/scopes`, (call) => this.#postScope(call)),
      route("POST", `${W}/scopes/list`, (call) => paged(call, [...this.#in(call).scopes.values()])),
      route("POST", `${W}/peers`, (call) => this.#postPeer(call)),
      route("POST", `${W}/peers/list`, (call) => {
        const home = this.#in(call);
        return paged(
          call,
          [...home.peers.values()].map((peer) => peerView(home, peer)),
        );
      }),
      route("PUT", P, (call) => {
        const id = pathId(call, "peer_id");
        const peer = update(call, () => this.#createIn(call).ensurePeer(id));
        return ok(peerView(this.#in(call), peer));
      }),
      route("POST", `${P}/sessions`, (call) => {
        const home = this.#in(call);
        const joined = [...home.sessions.values()].filter(({ members }) =>
          members.has(call.params.peer_id ?? ""),
        );
        return paged(
          call,
          joined.map((session) => sessionView(home, session)),
        );
      }),
      route("POST", `${P}/search`, (call) =>
        this.#search(call, ({ peer_id }) => peer_id === call.params.peer_id),
      ),
      route("GET", `${P}/context`, (call) => this.#peerContext(call)),
      route("POST", `${P}/representation`, (call) => this.#representation(call)),
      route("GET", `${P}/card`, (call) => {
        const { target } = queryOf(call, queries.target);
        const { home, peer } = this.#peer(call);
        return ok({ peer_card: home.cardOf(peer, target ?? peer) });
      }),
      route("PUT", `${P}/card`, (call) => {
        const { target } = queryOf(call, queries.target);
        const { peer_card } = bodyOf(call, bodies.card, queries.target);
        const { home, peer } = this.#peer(call);
        home.setCard(peer, target ?? peer, peer_card);
        return ok({ peer_card });
      }),
      route("POST", `${P}/chat`, (call) => this.#chat(call)),
      route("POST", `${W}/sessions`, (call) => this.#postSession(call)),
      route("POST", `${W}/sessions/list`, (call) => {
        const home = this.#in(call);
        return paged(
          call,
          [...home.sessions.values()].map((session) => sessionView(home, session)),
        );
      }),
      route("PUT", S, (call) => {
        const id = pathId(call, "session_id");
        const session = update(call, () => this.#createIn(call).ensureSession(id));
        return ok(sessionView(this.#in(call), session));
      }),
      route("DELETE", S, (call) => this.#deleteSession(call)),
      route("GET", `${S}/context`, (call) => this.#sessionContext(call)),
      route("GET", `${S}/summaries`, (call) => {
        const { session } = this.#session(call);
        return ok({ id: session.id, short_summary: summaryView(session), long_summary: null });
      }),
      route("POST", `${S}/search`, (call) =>
        this.#search(call, ({ session_id }) => session_id === call.params.session_id),
      ),
      route("POST", `${S}/clone`, (call) => this.#clone(call)),
      route("GET", `${S}/peers`, (call) => {
        const { home, session } = this.#session(call);
        return paged(
          call,
          [...session.members.keys()].map((id) => peerView(home, home.ensurePeer(id))),
        );
      }),
      route("POST", `${S}/peers`, (call) => this.#putPeers(call, false)),
      route("PUT", `${S}/peers`, (call) => this.#putPeers(call, true)),
      route("DELETE", `${S}/peers`, (call) => {
        const ids = bodyOf(call, bodies.peerIds);
        const { home, session } = this.#session(call);
        for (const id of ids) session.members.delete(id);
        return ok(sessionView(home, session));
      }),
      route("GET", `${S}/peers/:peer_id/config`, (call) => ok(this.#member(call).flags)),
      route("PUT", `${S}/peers/:peer_id/config`, (call) => {
        const flags = bodyOf(call, bodies.flags);
        const { home, session, peer } = this.#member(call);
        home.join(session, peer, flags);
        return { status: 204 };
      }),
      route("POST", `${S}/messages`, (call) => {
        const { messages } = bodyOf(call, bodies.messages);
        return this.#addMessages(call, messages);
      }),
      route("POST", `${S}/messages/upload`, (call) => this.#upload(call)),
      route("POST", `${S}/messages/list`, (call) => paged(call, this.#session(call).session.messages)),
      route("GET", `${S}/messages/:message_id`, (call) => ok(this.#message(call))),
      route("PUT", `${S}/messages/:message_id`, (call) => {
        const { metadata } = bodyOf(call, bodies.messageUpdate);
        const message = this.#message(call);
        if (metadata) message.metadata = metadata;
        return ok(message);
      }),
      route("POST", `${W}/conclusions`, (call) => this.#postConclusions(call)),
      route("POST", `${W}/conclusions/list`, (call) => paged(call, this.#in(call).conclusions)),
      route("POST", `${W}/conclusions/query`, (call) => {
        const { query, top_k = 10, distance, filters } = bodyOf(call, bodies.conclusionQuery);
        const ranked = rank(query, filtered(this.#in(call).conclusions, filters), ({ content }) => content);
        return ok(
          ranked
            .filter(({ score }) => 1 - score <= (distance ?? 1))
            .slice(0, top_k)
            .map(({ item }) => item),
        );
      }),
      route("DELETE", `${W}/conclusions/:conclusion_id`, (call) => {
        const home = this.#in(call);
        const left = home.conclusions.filter(({ id }) => id !== call.params.conclusion_id);
        if (left.length === home.conclusions.length)
          throw missing(`Conclusion ${call.params.conclusion_id} not found`);
        home.conclusions = left;
        return { status: 204 };
      }),
    ];
  }

  // ---- What a call names

  /** For calls that create what they name. */
  #createIn(call: Call): Workspace {
    return this.ensure(pathId(call, "workspace_id"));
  }

  /** For calls that only read: a workspace nobody created is empty and stays uncreated. */
  #in(call: Call): Workspace {
    const id = pathId(call, "workspace_id");
    return this.workspaces.get(id) ?? new Workspace(id, () => 0);
  }

  #peer(call: Call): { readonly home: Workspace; readonly peer: string } {
    const home = this.#in(call);
    const peer = pathId(call, "peer_id");
    if (!home.peers.has(peer)) throw missing(`Peer ${peer} not found in workspace ${home.id}`);
    return { home, peer };
  }

  #session(call: Call): { readonly home: Workspace; readonly session: Session } {
    const home = this.#in(call);
    const id = pathId(call, "session_id");
    const session = home.sessions.get(id);
    if (session === undefined) throw missing(`Session ${id} not found in workspace ${home.id}`);
    return { home, session };
  }

  #member(call: Call): { home: Workspace; session: Session; peer: string; flags: Flags } {
    const { home, session } = this.#session(call);
    const peer = pathId(call, "peer_id");
    const flags = session.members.get(peer);
    if (flags === undefined) throw missing(`Peer ${peer} not found in session ${session.id}`);
    return { home, session, peer, flags };
  }

  #message(call: Call): Message {
    const { session } = this.#session(call);
    const found = session.messages.find(({ id }) => id === call.params.message_id);
    if (found === undefined) throw missing(`Message ${call.params.message_id} not found`);
    return found;
  }

  // ---- Calls

  #postWorkspace(call: Call): FakeReply {
    const body = bodyOf(call, bodies.workspace);
    const isNew = !this.workspaces.has(body.id);
    return got(isNew, workspaceView(merge(this.ensure(body.id), body)));
  }

  #deleteWorkspace(call: Call): FakeReply {
    const { id } = this.#in(call);
    if (!this.workspaces.has(id)) throw missing(`Workspace ${id} not found`);
    if (this.sessionsOf(id).length > 0)
      return { status: 409, body: { detail: `Workspace ${id} has sessions; delete them first` } };
    this.workspaces.delete(id);
    return { status: 202, body: { message: "Workspace deletion started" } };
  }

  #postPeer(call: Call): FakeReply {
    const body = bodyOf(call, bodies.peer);
    const home = this.#createIn(call);
    const isNew = !home.peers.has(body.id);
    return got(isNew, peerView(home, merge(home.ensurePeer(body.id), body)));
  }

  #postScope(call: Call): FakeReply {
    const { id, metadata } = bodyOf(call, bodies.scope);
    const { scopes } = this.#createIn(call);
    const isNew = !scopes.has(id);
    if (isNew) scopes.set(id, { id, metadata: metadata ?? {}, created_at: now() });
    return got(isNew, scopes.get(id));
  }

  #postSession(call: Call): FakeReply {
    const body = bodyOf(call, bodies.session);
    const home = this.#createIn(call);
    const isNew = !home.sessions.has(body.id);
    const session = merge(home.ensureSession(body.id), body);
    for (const [peer, flags] of Object.entries(body.peers ?? {})) home.join(session, peer, flags);
    return got(isNew, sessionView(home, session));
  }

  #deleteSession(call: Call): FakeReply {
    queryOf(call, queries.none);
    const { home, session } = this.#session(call);
    session.isActive = false;
    this.later(() => {
      home.sessions.delete(session.id);
      home.conclusions = home.conclusions.filter(({ session_id }) => session_id !== session.id);
    });
    return { status: 202, body: { message: "Session deletion started" } };
  }

  #putPeers(call: Call, isReplacing: boolean): FakeReply {
    const peers = bodyOf(call, bodies.peers);
    const id = pathId(call, "session_id");
    const home = this.#createIn(call);
    const session = home.ensureSession(id);
    if (isReplacing) session.members.clear();
    for (const [peer, flags] of Object.entries(peers)) home.join(session, peer, flags);
    return ok(sessionView(home, session));
  }

  #addMessages(call: Call, messages: readonly NewMessage[]): FakeReply {
    const session = pathId(call, "session_id");
    const home = this.#createIn(call);
    const added = messages.map((message) => home.addMessage(session, message));
    const { derive } = this;
    if (derive !== undefined)
      for (const message of added)
        this.later(() => {
          for (const content of derive(message))
            for (const observer_id of home.observersOf(message))
              home.addConclusion({ content, observer_id, observed_id: message.peer_id, session_id: session });
        });
    return { status: 201, body: added };
  }

  #upload(call: Call): FakeReply {
    const parts = (call.request.body as { multipart?: readonly FormPart[] } | undefined)?.multipart ?? [];
    const fields = Object.fromEntries(parts.map(({ name, value }) => [name, value]));
    const form = parse(bodies.upload, fields, "body");
    const type = parts.find(({ name }) => name === "file")?.contentType ?? "application/octet-stream";
    if (Buffer.byteLength(form.file) > UPLOAD_LIMIT_BYTES)
      return { status: 413, body: { detail: `File size exceeds maximum of ${UPLOAD_LIMIT_BYTES} bytes` } };
    if (!/^(text\/|application\/json)/.test(type))
      return { status: 415, body: { detail: `Unsupported file type: ${type}` } };
    const characters = [...form.file];
    const messages: NewMessage[] = [];
    for (let start = 0; start < Math.max(characters.length, 1); start += MESSAGE_LIMIT_CHARS)
      messages.push({
        content: characters.slice(start, start + MESSAGE_LIMIT_CHARS).join(""),
        peer_id: form.peer_id,
        metadata: jsonObject(form.metadata, "metadata"),
        created_at: form.created_at,
      });
    return this.#addMessages(call, messages);
  }

  #clone(call: Call): FakeReply {
    const { message_id } = queryOf(call, queries.clone);
    const { home, session } = this.#session(call);
    const last = session.messages.findIndex(({ id }) => id === message_id);
    if (message_id !== undefined && last < 0) throw missing(`Message ${message_id} not found`);
    const copy = home.ensureSession(`${session.id}-clone-${home.sessions.size}`);
    for (const [peer, flags] of session.members) home.join(copy, peer, flags);
    const copied = message_id === undefined ? session.messages : session.messages.slice(0, last + 1);
    for (const { id: _, ...message } of copied) home.addMessage(copy.id, message);
    return { status: 201, body: sessionView(home, copy) };
  }

  #sessionContext(call: Call): FakeReply {
    const query = queryOf(call, queries.sessionContext);
    if (query.peer_perspective !== undefined && query.peer_target === undefined)
      throw invalidValue("peer_target is required with peer_perspective", ["query", "peer_perspective"]);
    const home = this.#in(call);
    const id = pathId(call, "session_id");
    const session = home.sessions.get(id);
    const wantsSummary = query.summary ?? true;
    const summary = session !== undefined && wantsSummary ? summaryView(session) : null;
    const target = query.peer_target;
    const observer = query.peer_perspective ?? target;
    return ok({
      id,
      messages: newestWithin(
        session?.messages ?? [],
        (query.tokens ?? Infinity) - (summary?.token_count ?? 0),
      ),
      summary,
      peer_representation:
        target === undefined || observer === undefined
          ? null
          : home.representation(observer, target, {
              ...asked(query),
              session: query.limit_to_session ? id : undefined,
            }),
      peer_card: target === undefined || observer === undefined ? null : home.cardOf(observer, target),
    });
  }

  #peerContext(call: Call): FakeReply {
    const query = queryOf(call, queries.peerContext);
    const { home, peer } = this.#peer(call);
    const target = query.target ?? peer;
    return ok({
      peer_id: peer,
      target_id: target,
      representation: home.representation(peer, target, asked(query)),
      peer_card: home.cardOf(peer, target),
    });
  }

  #representation(call: Call): FakeReply {
    const body = bodyOf(call, bodies.representation);
    const { home, peer } = this.#peer(call);
    const session = body.session_id ?? undefined;
    return ok({
      representation: home.representation(peer, body.target ?? peer, { ...asked(body), session }),
    });
  }

  #chat(call: Call): FakeReply {
    const isPeer = call.params.peer_id !== undefined;
    const body = isPeer
      ? bodyOf(call, bodies.chat)
      : { ...bodyOf(call, bodies.workspaceChat), target: undefined };
    const home = isPeer ? this.#peer(call).home : this.#in(call);
    const question: HonchoQuestion = {
      workspace: home.id,
      peer: call.params.peer_id,
      target: body.target ?? undefined,
      session: body.session_id ?? undefined,
      query: body.query,
      level: body.reasoning_level ?? undefined,
    };
    const content = this.#answer(home, question);
    const evidence = { conclusions: [], messages: [], tool_calls: [], reasoning_trace_id: null };
    if (!body.stream) return ok({ content, ...(body.include_evidence ? { evidence } : {}) });
    const pieces = (content ?? "").match(/\S*\s*/g)?.filter((piece) => piece !== "") ?? [];
    const events = [...pieces.map((piece) => ({ delta: { content: piece }, done: false })), { done: true }];
    return {
      status: 200,
      raw: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""),
      headers: { "content-type": "text/event-stream" },
    };
  }

  #answer(home: Workspace, question: HonchoQuestion): string | null {
    if (typeof this.chatAnswer === "function") return this.chatAnswer(question);
    if (this.chatAnswer !== undefined) return this.chatAnswer;
    const { peer, target = peer } = question;
    if (peer === undefined || target === undefined) return null;
    return home.representation(peer, target, {}) || null;
  }

  #search(call: Call, isWithin: (message: Message) => boolean): FakeReply {
    const { query, filters, limit = 10 } = bodyOf(call, bodies.search);
    const all = [...this.#in(call).sessions.values()].flatMap(({ messages }) => messages);
    const ranked = rank(query, filtered(all.filter(isWithin), filters), ({ content }) => content);
    return ok(ranked.slice(0, limit).map(({ item }) => item));
  }

  #queueStatus(call: Call): FakeReply {
    queryOf(call, queries.queue);
    const pending = this.pending.length;
    return ok({
      total_work_units: this.done + pending,
      completed_work_units: this.done,
      in_progress_work_units: 0,
      pending_work_units: pending,
      sessions: {},
    });
  }

  #postConclusions(call: Call): FakeReply {
    const { conclusions } = bodyOf(call, bodies.conclusions);
    const home = this.#in(call);
    for (const { observer_id, observed_id, session_id } of conclusions) {
      for (const peer of [observer_id, observed_id])
        if (!home.peers.has(peer)) throw missing(`Peer ${peer} not found in workspace ${home.id}`);
      if (session_id && !home.sessions.has(session_id))
        throw missing(`Session ${session_id} not found in workspace ${home.id}`);
    }
    return { status: 201, body: conclusions.map((conclusion) => home.addConclusion(conclusion)) };
  }
}
