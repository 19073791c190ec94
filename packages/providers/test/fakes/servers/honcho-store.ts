// The data of a fake Honcho: workspaces with peers, sessions, messages, cards and conclusions. No HTTP in here.
import { rank } from "./fake-server.ts";

type Data = Record<string, unknown>;

export type Peer = { readonly id: string; metadata: Data; configuration: Data; readonly created_at: string };
export type Flags = { observe_me: boolean | null; observe_others: boolean | null };

export type Message = {
  readonly id: string;
  readonly content: string;
  readonly peer_id: string;
  readonly session_id: string;
  metadata: Data;
  readonly created_at: string;
  readonly workspace_id: string;
  readonly token_count: number;
};

export type Conclusion = {
  readonly id: string;
  readonly content: string;
  readonly observer_id: string;
  readonly observed_id: string;
  readonly session_id: string | null;
  readonly level: "explicit";
  readonly created_at: string;
};

export type Session = {
  readonly id: string;
  isActive: boolean;
  metadata: Data;
  configuration: Data;
  readonly created_at: string;
  readonly members: Map<string, Flags>;
  messages: Message[];
  summary: string | undefined;
};

export type NewMessage = {
  readonly peer_id: string;
  readonly content: string;
  readonly metadata?: Data | null | undefined;
  readonly created_at?: string | null | undefined;
  /** For tests that need a message with a known id. */
  readonly id?: string;
};

export type NewConclusion = {
  readonly content: string;
  readonly observer_id: string;
  readonly observed_id: string;
  readonly session_id?: string | null | undefined;
  readonly id?: string;
};

const ID_LENGTH = 21;

/** ISO with microseconds, as Python writes it. */
export function now(): string {
  return new Date().toISOString().replace("Z", "000Z");
}

export function tokensOf(text: string): number {
  return Math.ceil([...text].length / 4);
}

/** One workspace. Whatever a call names and may create is created on the way. */
export class Workspace {
  readonly id: string;
  metadata: Data = {};
  configuration: Data = {};
  readonly created_at = now();
  readonly peers = new Map<string, Peer>();
  readonly sessions = new Map<string, Session>();
  readonly scopes = new Map<string, { id: string; metadata: Data; created_at: string }>();
  /** Key: observer, a blank, target. */
  readonly cards = new Map<string, readonly string[]>();
  conclusions: Conclusion[] = [];
  readonly #nextNumber: () => number;

  constructor(id: string, nextNumber: () => number) {
    this.id = id;
    this.#nextNumber = nextNumber;
  }

  ensurePeer(id: string): Peer {
    const known = this.peers.get(id);
    if (known !== undefined) return known;
    const peer: Peer = { id, metadata: {}, configuration: {}, created_at: now() };
    this.peers.set(id, peer);
    return peer;
  }

  ensureSession(id: string): Session {
    const known = this.sessions.get(id);
    if (known !== undefined) return known;
    const session: Session = {
      id,
      isActive: true,
      metadata: {},
      configuration: {},
      created_at: now(),
      members: new Map(),
      messages: [],
      summary: undefined,
    };
    this.sessions.set(id, session);
    return session;
  }

  /** Flags that are not given keep their value. */
  join(
    session: Session,
    peer: string,
    flags: Partial<Record<keyof Flags, boolean | null | undefined>> = {},
  ): void {
    this.ensurePeer(peer);
    const known = session.members.get(peer) ?? { observe_me: null, observe_others: null };
    session.members.set(peer, {
      observe_me: flags.observe_me === undefined ? known.observe_me : flags.observe_me,
      observe_others: flags.observe_others === undefined ? known.observe_others : flags.observe_others,
    });
  }

  addMessage(sessionId: string, message: NewMessage): Message {
    const session = this.ensureSession(sessionId);
    this.join(session, message.peer_id);
    const stored: Message = {
      id: message.id ?? this.#newId("message"),
      content: message.content,
      peer_id: message.peer_id,
      session_id: sessionId,
      metadata: message.metadata ?? {},
      created_at: message.created_at ?? now(),
      workspace_id: this.id,
      token_count: tokensOf(message.content),
    };
    session.messages.push(stored);
    return stored;
  }

  addConclusion(conclusion: NewConclusion): Conclusion {
    const stored: Conclusion = {
      id: conclusion.id ?? this.#newId("conclusion"),
      content: conclusion.content,
      observer_id: conclusion.observer_id,
      observed_id: conclusion.observed_id,
      session_id: conclusion.session_id ?? null,
      level: "explicit",
      created_at: now(),
    };
    this.conclusions.push(stored);
    return stored;
  }

  /** What each observer of the message concludes: the peer itself unless it is not observed, and every member that observes others. */
  observersOf(message: Message): readonly string[] {
    const session = this.sessions.get(message.session_id);
    const own =
      session?.members.get(message.peer_id)?.observe_me ??
      this.peers.get(message.peer_id)?.configuration.observe_me;
    if (session === undefined || own === false) return [];
    const others = [...session.members].filter(
      ([id, flags]) => id !== message.peer_id && flags.observe_others === true,
    );
    return [message.peer_id, ...others.map(([id]) => id)];
  }

  cardOf(observer: string, target: string): readonly string[] | null {
    return this.cards.get(`${observer} ${target}`) ?? null;
  }

  setCard(observer: string, target: string, facts: readonly string[]): void {
    this.cards.set(`${observer} ${target}`, facts);
  }

  conclusionsOf(observer: string, observed: string): readonly Conclusion[] {
    return this.conclusions.filter((each) => each.observer_id === observer && each.observed_id === observed);
  }

  /** One conclusion per line; with a query those that share a word with it, best first. */
  representation(
    observer: string,
    observed: string,
    {
      query,
      session,
      limit,
    }: { query?: string | null | undefined; session?: string | undefined; limit?: number | null | undefined },
  ): string {
    const all = this.conclusionsOf(observer, observed).filter(
      (each) => session === undefined || each.session_id === session,
    );
    const chosen = query ? rank(query, all, ({ content }) => content).map(({ item }) => item) : all;
    return chosen
      .slice(0, limit ?? undefined)
      .map(({ content }) => content)
      .join("\n");
  }

  /** Everything without times and ids. */
  stored(): unknown {
    const sessions = [...this.sessions.values()].map(({ id, members, messages, summary, metadata }) => [
      id,
      {
        metadata,
        summary: summary ?? null,
        peers: Object.fromEntries(members),
        messages: messages.map(({ peer_id, content, metadata: own }) => ({
          peer_id,
          content,
          metadata: own,
        })),
      },
    ]);
    return {
      metadata: this.metadata,
      peers: [...this.peers.keys()],
      sessions: Object.fromEntries(sessions),
      cards: Object.fromEntries(this.cards),
      conclusions: this.conclusions.map(({ content, observer_id, observed_id, session_id }) => ({
        content,
        observer_id,
        observed_id,
        session_id,
      })),
    };
  }

  #newId(kind: string): string {
    return `${kind}_`.padEnd(ID_LENGTH - 8, "x") + String(this.#nextNumber()).padStart(8, "0");
  }
}
