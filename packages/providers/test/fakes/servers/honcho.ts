// A fake Honcho 3 (API `/v3`) with the requests that our provider makes. Its peer representation is the list of conclusions; chat and
// summary are set by the test.
import type { IncomingHttpHeaders } from "node:http";
import { z } from "zod";
import { type FakeReply, FakeServer, type FormPart, rank, type SeenRequest } from "./fake-server.ts";
import { answerWith, type Call, Refusal, type Route, route } from "./routes.ts";

type Data = Record<string, unknown>;
type Flags = { readonly observe_me: boolean | null; readonly observe_others: boolean | null };

export type Message = {
  readonly id: string;
  readonly content: string;
  readonly peer_id: string;
  readonly metadata: Data;
  readonly created_at: string;
};

export type Conclusion = {
  readonly id: string;
  readonly content: string;
  readonly observer_id: string;
  readonly observed_id: string;
  readonly session_id: string | null;
  readonly created_at: string;
};

type Session = {
  readonly id: string;
  readonly members: Map<string, Flags>;
  readonly messages: Message[];
  summary?: string;
};

type Given<T> = { readonly [Key in keyof T]?: T[Key] | null | undefined };
export type NewMessage = Pick<Message, "content" | "peer_id"> & Given<Message>;
export type NewConclusion = Pick<Conclusion, "content" | "observer_id" | "observed_id"> & Given<Conclusion>;

export type HonchoQuestion = {
  readonly peer: string;
  readonly target: string | undefined;
  readonly session: string | undefined;
  readonly query: string;
  readonly level: string | undefined;
};

type Workspace = {
  readonly id: string;
  readonly peers: Set<string>;
  readonly sessions: Map<string, Session>;
  /** Key: observer, a blank, target. */
  readonly cards: Map<string, readonly string[]>;
  conclusions: Conclusion[];
};

// ---- What it accepts

const id = z
  .string()
  .regex(/^[a-zA-Z0-9_-]+$/)
  .max(512);
const record = z.record(z.string(), z.unknown()).nullish();
const about = { metadata: record, configuration: record };
const flags = z.strictObject({ observe_me: z.boolean().nullish(), observe_others: z.boolean().nullish() });
const time = z.iso.datetime({ offset: true, local: true }).nullish();
const texts = z.string().nullish();
const selection = {
  search_query: texts,
  search_top_k: z.coerce.number().nullish(),
  search_max_distance: z.coerce.number().nullish(),
  include_most_frequent: z.unknown().optional(),
  max_conclusions: z.coerce.number().nullish(),
};
const characters = (max: number) => z.string().refine((text) => [...text].length <= max);
const message = z.strictObject({ content: characters(25_000), peer_id: id, ...about, created_at: time });
const conclusion = z.strictObject({
  content: characters(65_535).min(1),
  observer_id: id,
  observed_id: id,
  session_id: id.nullish(),
});

const BODIES = {
  named: z.strictObject({
    id,
    ...about,
    peers: z.record(id, flags).nullish(),
    scopes: z.array(id).nullish(),
  }),
  peers: z.record(id, flags),
  flags,
  messages: z.strictObject({ messages: z.array(message).min(1).max(100) }),
  upload: z.strictObject({
    file: z.string(),
    peer_id: id,
    metadata: z.string().optional(),
    configuration: z.string().optional(),
    created_at: time,
  }),
  list: z.strictObject({ filters: record }),
  representation: z.strictObject({ target: texts, session_id: texts, ...selection }),
  card: z.strictObject({ peer_card: z.array(z.string()) }),
  chat: z.strictObject({
    query: characters(10_000).min(1),
    stream: z.boolean().optional(),
    session_id: texts,
    reasoning_level: z.enum(["minimal", "low", "medium", "high", "max"]).nullish(),
    include_evidence: z.boolean().optional(),
    scope: z.unknown().optional(),
    response_format: record,
    target: texts,
  }),
  conclusions: z.strictObject({ conclusions: z.array(conclusion).min(1).max(100) }),
};

const QUERIES = {
  page: z.strictObject({
    page: z.coerce.number().int().min(1).default(1),
    size: z.coerce.number().int().min(1).max(100).default(50),
    reverse: z.enum(["true", "false"]).optional(),
  }),
  target: z.strictObject({ target: z.string().optional() }),
  peerContext: z.strictObject({ target: z.string().optional(), ...selection }),
  sessionContext: z.strictObject({
    summary: z.enum(["true", "false"]).optional(),
    tokens: z.coerce.number().int().min(1).max(100_000).optional(),
    peer_target: z.string().optional(),
    peer_perspective: z.string().optional(),
    limit_to_session: z.string().optional(),
    sessions: z.unknown().optional(),
    ...selection,
  }),
};

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const detail = parsed.error.issues.map(({ path, message: msg }) => ({
    type: "value_error",
    loc: path,
    msg,
  }));
  throw new Refusal({ status: 422, body: { detail } });
}

// ---- The server

export class FakeHoncho extends FakeServer {
  /** The answer of every chat. By default the representation of the target, null when it is empty. */
  chatAnswer: string | null | ((question: HonchoQuestion) => string | null) | undefined;
  /** False: a server with an older API, which answers 404 on every `/v3` path. */
  speaksV3 = true;
  readonly #workspaces = new Map<string, Workspace>();
  readonly #routes: readonly Route[] = this.#table();
  #lastNumber = 0;

  // ---- For tests

  stored(): unknown {
    const workspaces = [...this.#workspaces.values()];
    const sessions = workspaces.flatMap((workspace) => [...workspace.sessions.values()]);
    return {
      messages: sessions.flatMap(({ messages }) => messages),
      cards: workspaces.flatMap(({ cards }) => [...cards.values()].flat()),
      conclusions: workspaces.flatMap(({ conclusions }) => conclusions),
    };
  }

  messagesOf(workspace: string, session: string): readonly Message[] {
    return this.#workspaces.get(workspace)?.sessions.get(session)?.messages ?? [];
  }

  sessionsOf(workspace: string): readonly string[] {
    return [...(this.#workspaces.get(workspace)?.sessions.keys() ?? [])];
  }

  peersOf(workspace: string): readonly string[] {
    return [...(this.#workspaces.get(workspace)?.peers ?? [])];
  }

  flagsOf(workspace: string, session: string, peer: string): Flags | undefined {
    return this.#workspaces.get(workspace)?.sessions.get(session)?.members.get(peer);
  }

  cardOf(workspace: string, observer: string, target = observer): readonly string[] | null {
    return this.#workspaces.get(workspace)?.cards.get(`${observer} ${target}`) ?? null;
  }

  conclusionsOf(workspace: string, observer: string, observed: string): readonly Conclusion[] {
    const all = this.#workspaces.get(workspace)?.conclusions ?? [];
    return all.filter((each) => each.observer_id === observer && each.observed_id === observed);
  }

  addPeer(workspace: string, peer: string): void {
    this.#workspace(workspace).peers.add(peer);
  }

  /** Makes the peer a member of the session. Flags that are not given keep their value. */
  join(workspace: string, session: string, peer: string, given: Given<Flags> = {}): void {
    const { members } = this.#session(workspace, session);
    const known = members.get(peer) ?? { observe_me: null, observe_others: null };
    this.addPeer(workspace, peer);
    members.set(peer, {
      observe_me: given.observe_me === undefined ? known.observe_me : given.observe_me,
      observe_others: given.observe_others === undefined ? known.observe_others : given.observe_others,
    });
  }

  addMessage(workspace: string, session: string, given: NewMessage): Message {
    this.join(workspace, session, given.peer_id);
    const { content, peer_id } = given;
    const created_at = given.created_at ?? new Date().toISOString();
    const rest = { metadata: given.metadata ?? {}, created_at };
    const stored = { id: given.id ?? this.#newId("message"), content, peer_id, ...rest };
    this.#session(workspace, session).messages.push(stored);
    return stored;
  }

  /** Creates its peers and its session. */
  addConclusion(workspace: string, given: NewConclusion): Conclusion {
    const { content, observer_id, observed_id, session_id = null } = given;
    for (const peer of [observer_id, observed_id]) this.addPeer(workspace, peer);
    if (session_id) this.#session(workspace, session_id);
    const ids = { observer_id, observed_id, session_id };
    const rest = { ...ids, level: "explicit", created_at: new Date().toISOString() };
    const stored = { id: given.id ?? this.#newId("conclusion"), content, ...rest };
    this.#workspace(workspace).conclusions.push(stored);
    return stored;
  }

  setCard(workspace: string, observer: string, target: string, facts: readonly string[]): void {
    for (const peer of [observer, target]) this.addPeer(workspace, peer);
    this.#workspace(workspace).cards.set(`${observer} ${target}`, facts);
  }

  setSummary(workspace: string, session: string, text: string): void {
    this.#session(workspace, session).summary = text;
  }

  // ---- Requests

  protected override isAuthorised(headers: IncomingHttpHeaders, token: string): boolean {
    return headers.authorization === `Bearer ${token}`;
  }

  protected override refusal(): FakeReply {
    return { status: 401, body: { detail: "Invalid JWT" } };
  }

  protected override handle(request: SeenRequest): FakeReply {
    const missed = { status: 404, body: { detail: "Not Found" } };
    return this.speaksV3 ? answerWith(this.#routes, request, () => missed) : missed;
  }

  #newId(kind: string): string {
    this.#lastNumber += 1;
    return `${kind}_${String(this.#lastNumber).padStart(20 - kind.length, "0")}`;
  }

  #workspace(name: string): Workspace {
    const known = this.#workspaces.get(name);
    if (known !== undefined) return known;
    const made = {
      id: name,
      peers: new Set<string>(),
      sessions: new Map(),
      cards: new Map(),
      conclusions: [],
    };
    this.#workspaces.set(name, made);
    return made;
  }

  #session(workspace: string, name: string): Session {
    const { sessions } = this.#workspace(workspace);
    const session = sessions.get(name) ?? { id: name, members: new Map(), messages: [] };
    sessions.set(name, session);
    return session;
  }

  #table(): readonly Route[] {
    const W = "/v3/workspaces/:w";
    const P = `${W}/peers/:p`;
    const S = `${W}/sessions/:s`;
    return [
      route("POST", "/v3/workspaces", (call) => {
        const { id: name } = bodyOf(call, BODIES.named);
        return got(!this.#workspaces.has(name), described(this.#workspace(name).id));
      }),
      route("POST", `${W}/peers`, (call) => {
        const { id: name } = bodyOf(call, BODIES.named);
        const { peers } = this.#in(call);
        const isNew = !peers.has(name);
        peers.add(name);
        return got(isNew, inWorkspace(call, name));
      }),
      route("POST", `${W}/sessions`, (call) => {
        const { id: name, peers } = bodyOf(call, BODIES.named);
        const isNew = !this.#in(call).sessions.has(name);
        const session = this.#session(call.params.w ?? "", name);
        for (const [peer, given] of Object.entries(peers ?? {}))
          this.join(call.params.w ?? "", name, peer, given);
        return got(isNew, sessionView(call, session));
      }),
      route("POST", `${P}/sessions`, (call) => {
        const all = [...this.#in(call).sessions.values()];
        const joined = all.filter(({ members }) => members.has(call.params.p ?? ""));
        return paged(
          call,
          joined.map((session) => sessionView(call, session)),
        );
      }),
      route("GET", `${P}/context`, (call) => {
        const { target = this.#peer(call), ...query } = queryOf(call, QUERIES.peerContext);
        const peer = this.#peer(call);
        const representation = this.#representation(call, peer, target, query.search_query);
        const peer_card = this.cardOf(call.params.w ?? "", peer, target);
        return ok({ peer_id: peer, target_id: target, representation, peer_card });
      }),
      route("POST", `${P}/representation`, (call) => {
        const { target, search_query } = bodyOf(call, BODIES.representation);
        const peer = this.#peer(call);
        return ok({ representation: this.#representation(call, peer, target ?? peer, search_query) });
      }),
      route("GET", `${P}/card`, (call) => {
        const { target = this.#peer(call) } = queryOf(call, QUERIES.target);
        return ok({ peer_card: this.cardOf(call.params.w ?? "", this.#peer(call), target) });
      }),
      route("PUT", `${P}/card`, (call) => {
        const { target = this.#peer(call) } = queryOf(call, QUERIES.target);
        const { peer_card } = bodyOf(call, BODIES.card);
        this.setCard(call.params.w ?? "", this.#peer(call), target, peer_card);
        return ok({ peer_card });
      }),
      route("POST", `${P}/chat`, (call) => this.#chat(call)),
      route("DELETE", S, (call) => {
        const { id: name } = this.#known(call);
        const home = this.#in(call);
        home.sessions.delete(name);
        home.conclusions = home.conclusions.filter(({ session_id }) => session_id !== name);
        return { status: 202, body: { message: "Session deletion started" } };
      }),
      route("GET", `${S}/context`, (call) => this.#context(call)),
      route("GET", `${S}/peers`, (call) =>
        paged(
          call,
          [...this.#known(call).members.keys()].map((name) => inWorkspace(call, name)),
        ),
      ),
      route("POST", `${S}/peers`, (call) => {
        const { w = "", s = "" } = call.params;
        parse(id, s);
        for (const [peer, given] of Object.entries(bodyOf(call, BODIES.peers))) this.join(w, s, peer, given);
        return ok(sessionView(call, this.#session(w, s)));
      }),
      route("GET", `${S}/peers/:p/config`, (call) => {
        const found = this.#known(call).members.get(call.params.p ?? "");
        if (found === undefined) throw missing(`Peer ${call.params.p} not found`);
        return ok(found);
      }),
      route("POST", `${S}/messages`, (call) => this.#add(call, bodyOf(call, BODIES.messages).messages)),
      route("POST", `${S}/messages/upload`, (call) => {
        const parts = (call.request.body as { multipart?: readonly FormPart[] } | undefined)?.multipart ?? [];
        const form = parse(BODIES.upload, Object.fromEntries(parts.map(({ name, value }) => [name, value])));
        const { file: content, peer_id, created_at } = form;
        const metadata = JSON.parse(form.metadata ?? "{}") as Data;
        return this.#add(call, [{ content, peer_id, metadata, created_at }]);
      }),
      route("POST", `${S}/messages/list`, (call) =>
        paged(
          call,
          this.#known(call).messages.map((each) => messageView(call, each)),
        ),
      ),
      route("POST", `${W}/conclusions`, (call) => {
        const { w = "" } = call.params;
        const { conclusions } = bodyOf(call, BODIES.conclusions);
        const { peers, sessions } = this.#in(call);
        for (const { observer_id, observed_id, session_id } of conclusions) {
          for (const peer of [observer_id, observed_id])
            if (!peers.has(peer)) throw missing(`Peer ${peer} not found`);
          if (session_id && !sessions.has(session_id)) throw missing(`Session ${session_id} not found`);
        }
        return { status: 201, body: conclusions.map((each) => this.addConclusion(w, each)) };
      }),
      route("POST", `${W}/conclusions/list`, (call) => paged(call, this.#in(call).conclusions)),
      route("DELETE", `${W}/conclusions/:c`, (call) => {
        const home = this.#in(call);
        const left = home.conclusions.filter((each) => each.id !== call.params.c);
        if (left.length === home.conclusions.length) throw missing(`Conclusion ${call.params.c} not found`);
        home.conclusions = left;
        return { status: 204 };
      }),
    ];
  }

  // ---- What a call names

  #in(call: Call): Workspace {
    return this.#workspace(parse(id, call.params.w));
  }

  #peer(call: Call): string {
    const { p = "" } = call.params;
    if (!this.#in(call).peers.has(p)) throw missing(`Peer ${p} not found`);
    return p;
  }

  #known(call: Call): Session {
    const session = this.#in(call).sessions.get(call.params.s ?? "");
    if (session === undefined) throw missing(`Session ${call.params.s} not found`);
    return session;
  }

  #add(call: Call, messages: readonly NewMessage[]): FakeReply {
    const { w = "", s = "" } = call.params;
    parse(id, s);
    const body = messages.map((each) => messageView(call, this.addMessage(w, s, each)));
    return { status: 201, body };
  }

  /** One conclusion per line; with a query those that share a word with it, best first. */
  #representation(call: Call, observer: string, observed: string, query?: string | null): string {
    const all = this.conclusionsOf(call.params.w ?? "", observer, observed);
    const chosen = query ? rank(query, all, ({ content }) => content).map(({ item }) => item) : all;
    return chosen.map(({ content }) => content).join("\n");
  }

  #context(call: Call): FakeReply {
    const { w = "", s = "" } = call.params;
    const query = queryOf(call, QUERIES.sessionContext);
    const { messages = [], summary } = this.#in(call).sessions.get(s) ?? {};
    const { peer_target: target, peer_perspective: observer = target } = query;
    let left = query.tokens ?? Number.POSITIVE_INFINITY;
    const newest = messages.toReversed().filter(({ content }) => {
      left -= Math.ceil([...content].length / 4);
      return left >= 0;
    });
    const isAsked = target !== undefined && observer !== undefined;
    return ok({
      id: s,
      messages: newest.toReversed().map((each) => messageView(call, each)),
      summary:
        summary === undefined || query.summary === "false"
          ? null
          : {
              content: summary,
              message_id: "",
              summary_type: "short",
              created_at: new Date().toISOString(),
              token_count: 1,
            },
      peer_representation: isAsked ? this.#representation(call, observer, target, query.search_query) : null,
      peer_card: isAsked ? this.cardOf(w, observer, target) : null,
    });
  }

  #chat(call: Call): FakeReply {
    const peer = this.#peer(call);
    const body = bodyOf(call, BODIES.chat);
    const target = body.target ?? undefined;
    const { chatAnswer } = this;
    const content =
      typeof chatAnswer === "function"
        ? chatAnswer({
            peer,
            target,
            session: body.session_id ?? undefined,
            query: body.query,
            level: body.reasoning_level ?? undefined,
          })
        : chatAnswer === undefined
          ? this.#representation(call, peer, target ?? peer) || null
          : chatAnswer;
    const evidence = { conclusions: [], messages: [], tool_calls: [], reasoning_trace_id: null };
    return ok({ content, ...(body.include_evidence ? { evidence } : {}) });
  }
}

// ---- Requests and answers

function bodyOf<T>(call: Call, schema: z.ZodType<T>): T {
  return parse(schema, call.request.body);
}

function queryOf<T>(call: Call, schema: z.ZodType<T>): T {
  return parse(schema, call.request.query);
}

function ok(body: unknown): FakeReply {
  return { status: 200, body };
}

/** The answer of a call that reads or creates. */
function got(isNew: boolean, body: unknown): FakeReply {
  return { status: isNew ? 201 : 200, body };
}

function missing(detail: string): Refusal {
  return new Refusal({ status: 404, body: { detail } });
}

function described(name: string) {
  return { id: name, metadata: {}, configuration: {}, created_at: new Date().toISOString() };
}

function inWorkspace({ params: { w: workspace_id } }: Call, name: string) {
  return { ...described(name), workspace_id };
}

function sessionView(call: Call, session: Session) {
  return { ...inWorkspace(call, session.id), is_active: true };
}

function messageView({ params: { w: workspace_id, s: session_id } }: Call, given: Message) {
  return { ...given, workspace_id, session_id, token_count: Math.ceil(given.content.length / 4) };
}

function paged(call: Call, all: readonly object[]): FakeReply {
  const { page, size, reverse } = queryOf(call, QUERIES.page);
  const filters = call.request.method === "GET" ? {} : (bodyOf(call, BODIES.list).filters ?? {});
  const chosen = all.filter((item) =>
    Object.entries(filters).every(([key, value]) => {
      const own = (item as Data)[key];
      return typeof value !== "object" ? own === value : JSON.stringify(own) === JSON.stringify(value);
    }),
  );
  const items = (reverse === "true" ? chosen.toReversed() : chosen).slice((page - 1) * size, page * size);
  return ok({ items, total: chosen.length, page, size, pages: Math.ceil(chosen.length / size) });
}
