// Honcho's wire, version 3 of its API: one method per call. Answers that say that something was stored, or that nothing is there, must have
// the shape that Honcho sends; those that only feed recall are read leniently.
import { takeCodePoints, withoutUndefined } from "@hermes-memory/core/internal/lib";
import { VERSION } from "@hermes-memory/core/internal/version";
import {
  type HttpCall,
  type HttpClient,
  type HttpClientOptions,
  ServiceError,
  segment,
} from "../kit/http.ts";
import {
  type Fields,
  fieldsOf,
  hasList,
  hasText,
  numberIn,
  recordsOf,
  textIn,
  textsIn,
} from "../kit/networked/answers.ts";
import type { HonchoSettings, Level, PeerFlags } from "./settings.ts";

/** Limits of the server. */
export const MESSAGES_PER_POST = 100;
const CONCLUSION_CHARS = 65_535;
const PAGE_SIZE = 100;
/** A search uses the beginning of a long message. */
const SEARCH_CHARS = 1_000;
/** Answers of the model take longer than other calls. */
const CHAT_TIMEOUT_MS = 60_000;

export const OLD_API =
  "The server knows no '/v3' address: it is older than Honcho 3, which is needed, or the address is wrong.";

/** What is stored of a text that is longer than the server takes. */
export function conclusionText(text: string): string {
  return takeCodePoints(text, CONCLUSION_CHARS);
}

export type WireMessage = {
  readonly peer_id: string;
  readonly content: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly created_at?: string;
};

export type StoredMessage = {
  readonly content: string;
  readonly peerId: string;
  readonly metadata: Fields;
};

export type Conclusion = { readonly id: string; readonly content: string };

/** Who looks, and at whom; without a target the observer looks at itself. */
export type View = { readonly observer: string; readonly target: string | undefined };

export type Impression = { readonly representation: string; readonly card: readonly string[] };

export type SessionContext = Impression & {
  readonly summary: string;
  readonly messages: readonly StoredMessage[];
};

type ContextQuery = {
  readonly tokens?: number;
  readonly peer_target?: string;
  readonly peer_perspective?: string;
  readonly search_query?: string;
};

export type Upload = {
  readonly peerId: string;
  readonly fileName: string;
  readonly text: string;
  readonly metadata: Readonly<Record<string, unknown>>;
};

export function honchoHttpOptions({
  baseUrl,
  bearer,
  timeoutMs,
}: HonchoSettings): Pick<HttpClientOptions, "baseUrl" | "headers" | "timeoutMs"> {
  const headers = {
    "x-honcho-host": `hermes-memory/${VERSION}`,
    ...(bearer === "" ? {} : { authorization: `Bearer ${bearer}` }),
  };
  return { baseUrl, timeoutMs, headers: () => headers };
}

export class HonchoWire {
  readonly #http: HttpClient;
  readonly #workspace: string;

  constructor(http: HttpClient, workspace: string) {
    this.#http = http;
    this.#workspace = workspace;
  }

  // ---- Workspaces, peers, sessions: each of these posts gets or creates, so it may be repeated

  /** Throws a `ServiceError` that says so when the server has an older API. */
  async ensureWorkspace(signal: AbortSignal): Promise<void> {
    const json = { id: this.#workspace };
    const call = { method: "POST", path: "/v3/workspaces", json, signal, isRepeatable: true } as const;
    const made = await this.#http.find({ ...call, shape: hasText("id") });
    if (made === null) throw new ServiceError({ kind: "refused", status: 404, message: OLD_API });
  }

  async ensurePeer(id: string, signal: AbortSignal): Promise<void> {
    await this.#post("/peers", { id }, signal, { isRepeatable: true });
  }

  async ensureSession(id: string, signal: AbortSignal): Promise<void> {
    await this.#post("/sessions", { id }, signal, { isRepeatable: true });
  }

  async addPeers(
    session: string,
    flags: Readonly<Record<string, PeerFlags>>,
    signal: AbortSignal,
  ): Promise<void> {
    const peers = Object.entries(flags).map(([peer, { observeMe, observeOthers }]) => [
      peer,
      { observe_me: observeMe, observe_others: observeOthers },
    ]);
    const more = { isRepeatable: true, shape: hasText("id") };
    await this.#post(`/sessions/${segment(session)}/peers`, Object.fromEntries(peers), signal, more);
  }

  /** Flags that the server has; those it does not have stay as given. */
  async peerFlags(session: string, peer: string, given: PeerFlags, signal: AbortSignal): Promise<PeerFlags> {
    const path = this.#path(`/sessions/${segment(session)}/peers/${segment(peer)}/config`);
    const { observe_me, observe_others } = fieldsOf(await this.#http.send({ method: "GET", path, signal }));
    return {
      observeMe: typeof observe_me === "boolean" ? observe_me : given.observeMe,
      observeOthers: typeof observe_others === "boolean" ? observe_others : given.observeOthers,
    };
  }

  async sessionContext(
    session: string,
    { search_query, ...query }: ContextQuery,
    signal: AbortSignal,
  ): Promise<SessionContext> {
    const path = this.#path(`/sessions/${segment(session)}/context`);
    const all = { summary: true, ...query, search_query: searchText(search_query) };
    const call = { method: "GET", path, query: all, signal, shape: hasList("messages") } as const;
    const answer = fieldsOf(await this.#http.send(call));
    return {
      summary: textIn(fieldsOf(answer.summary).content),
      representation: textIn(answer.peer_representation),
      card: textsIn(answer.peer_card),
      messages: recordsOf(answer.messages).map(toMessage),
    };
  }

  /** Sessions that this peer is a member of. */
  async sessionsOf(peer: string, signal: AbortSignal): Promise<readonly string[]> {
    const all = await this.#all(`/peers/${segment(peer)}/sessions`, {}, signal);
    return all.map(({ id }) => textIn(id)).filter((id) => id !== "");
  }

  async peersIn(session: string, signal: AbortSignal): Promise<readonly string[]> {
    const path = this.#path(`/sessions/${segment(session)}/peers`);
    const answer = await this.#http.send({ method: "GET", path, signal, shape: hasList("items") });
    return recordsOf(fieldsOf(answer).items).map(({ id }) => textIn(id));
  }

  async deleteSession(session: string, signal: AbortSignal): Promise<void> {
    await this.#delete(`/sessions/${segment(session)}`, signal);
  }

  // ---- Messages

  /** Not repeatable: the server stores what it gets. */
  async addMessages(session: string, messages: readonly WireMessage[], signal: AbortSignal): Promise<void> {
    const shape = (answer: unknown): boolean => areStored(answer) && answer.length === messages.length;
    await this.#post(`/sessions/${segment(session)}/messages`, { messages }, signal, { shape });
  }

  async upload(session: string, upload: Upload, signal: AbortSignal): Promise<void> {
    const form = new FormData();
    form.append("file", new Blob([upload.text], { type: "text/plain" }), upload.fileName);
    form.append("peer_id", upload.peerId);
    form.append("metadata", JSON.stringify(upload.metadata));
    const path = this.#path(`/sessions/${segment(session)}/messages/upload`);
    await this.#http.send({ method: "POST", path, form, signal, shape: areStored });
  }

  /** The newest first; [] for a session that is not there. */
  async newestMessages(
    session: string,
    pages: number,
    signal: AbortSignal,
  ): Promise<readonly StoredMessage[]> {
    const path = `/sessions/${segment(session)}/messages/list`;
    return (await this.#all(path, { reverse: true }, signal, { pages })).map(toMessage);
  }

  async countMessages(session: string, signal: AbortSignal): Promise<number> {
    const path = this.#path(`/sessions/${segment(session)}/messages/list`);
    const call = { method: "POST", path, query: { size: 1 }, json: {}, signal, isRepeatable: true } as const;
    const shape = (answer: unknown): boolean => numberIn(fieldsOf(answer).total) !== undefined;
    return numberIn(fieldsOf(await this.#http.find({ ...call, shape })).total) ?? 0;
  }

  // ---- What is known about a peer

  async impression(
    { observer, target }: View,
    query: string | undefined,
    signal: AbortSignal,
  ): Promise<Impression> {
    const peer = `/peers/${segment(observer)}`;
    const search_query = searchText(query);
    const path = this.#path(`${peer}/context`);
    // A peer that nobody has created yet is one about whom nothing is known.
    const answer = fieldsOf(
      await this.#http.find({ method: "GET", path, query: { target, search_query }, signal }),
    );
    return { representation: textIn(answer.representation), card: textsIn(answer.peer_card) };
  }

  async representation(
    { observer, target }: View,
    query: string | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const json = withoutUndefined({ target, search_query: searchText(query) });
    const path = this.#path(`/peers/${segment(observer)}/representation`);
    const answer = await this.#http.find({ method: "POST", path, json, signal, isRepeatable: true });
    return textIn(fieldsOf(answer).representation);
  }

  async card({ observer, target }: View, signal: AbortSignal): Promise<readonly string[]> {
    const path = this.#path(`/peers/${segment(observer)}/card`);
    const answer = await this.#http.find({ method: "GET", path, query: { target }, signal, shape: hasCard });
    return textsIn(fieldsOf(answer).peer_card);
  }

  async setCard({ observer, target }: View, card: readonly string[], signal: AbortSignal): Promise<void> {
    const path = this.#path(`/peers/${segment(observer)}/card`);
    const json = { peer_card: card };
    const call = { method: "PUT", path, query: { target }, json, signal, isRepeatable: true } as const;
    await this.#http.send({ ...call, shape: hasCard });
  }

  /** "" when there is no answer. */
  async chat(
    { observer, target }: View,
    ask: { readonly query: string; readonly session: string; readonly level: Level },
    signal: AbortSignal,
  ): Promise<string> {
    const json = withoutUndefined({
      query: ask.query,
      stream: false,
      target,
      session_id: ask.session,
      reasoning_level: ask.level,
    });
    const path = this.#path(`/peers/${segment(observer)}/chat`);
    const answer = await this.#http.send({ method: "POST", path, json, signal, timeoutMs: CHAT_TIMEOUT_MS });
    return textIn(fieldsOf(answer).content);
  }

  // ---- Conclusions

  /** The id that the server gave it. Not repeatable. */
  async addConclusion(
    { observer, target = observer }: View,
    content: string,
    { session, signal }: { readonly session: string | null; readonly signal: AbortSignal },
  ): Promise<string> {
    const conclusion = {
      content: conclusionText(content),
      session_id: session,
      observer_id: observer,
      observed_id: target,
    };
    const json = { conclusions: [conclusion] };
    const [stored] = recordsOf(await this.#post("/conclusions", json, signal, { shape: areStored }));
    return textIn(stored?.id);
  }

  async conclusions(
    { observer, target = observer }: View,
    signal: AbortSignal,
  ): Promise<readonly Conclusion[]> {
    const filters = { observer_id: observer, observed_id: target };
    const all = await this.#all("/conclusions/list", {}, signal, { json: { filters } });
    return all.map(({ id, content }) => ({ id: textIn(id), content: textIn(content) }));
  }

  /** False when it was not there. */
  async deleteConclusion(id: string, signal: AbortSignal): Promise<boolean> {
    return await this.#delete(`/conclusions/${segment(id)}`, signal);
  }

  // ---- Requests

  #path(below: string): string {
    return `/v3/workspaces/${segment(this.#workspace)}${below}`;
  }

  async #post(
    below: string,
    json: unknown,
    signal: AbortSignal,
    more: Partial<HttpCall> = {},
  ): Promise<unknown> {
    return await this.#http.send({ method: "POST", path: this.#path(below), json, signal, ...more });
  }

  /** False when it was not there. */
  async #delete(below: string, signal: AbortSignal): Promise<boolean> {
    const call = { method: "DELETE", path: this.#path(below), signal, isRepeatable: true } as const;
    return (await this.#http.find(call)) !== null;
  }

  /** All pages of a list, or the first few; [] when what is listed is not there. */
  async #all(
    below: string,
    query: NonNullable<HttpCall["query"]>,
    signal: AbortSignal,
    {
      json = {},
      pages = Number.POSITIVE_INFINITY,
    }: { readonly json?: unknown; readonly pages?: number } = {},
  ): Promise<readonly Fields[]> {
    const items: Fields[] = [];
    for (let page = 1; page <= pages; page += 1) {
      const call: HttpCall = {
        ...{ method: "POST", path: this.#path(below), json, signal, isRepeatable: true },
        query: { page, size: PAGE_SIZE, ...query },
        shape: hasList("items"),
      };
      const answer = fieldsOf(await this.#http.find(call));
      const found = recordsOf(answer.items);
      items.push(...found);
      if (found.length === 0 || page >= (numberIn(answer.pages) ?? 1)) break;
    }
    return items;
  }
}

/** What was stored, each with its id. */
function areStored(answer: unknown): answer is readonly Fields[] {
  return Array.isArray(answer) && answer.length > 0 && answer.every(hasText("id"));
}

function hasCard(answer: unknown): boolean {
  const { peer_card } = fieldsOf(answer);
  return peer_card === null || Array.isArray(peer_card);
}

function searchText(query: string | undefined): string | undefined {
  return query === undefined ? undefined : takeCodePoints(query, SEARCH_CHARS);
}

function toMessage({ content, peer_id, metadata }: Fields): StoredMessage {
  return { content: textIn(content), peerId: textIn(peer_id), metadata: fieldsOf(metadata) };
}
