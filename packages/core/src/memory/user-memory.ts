// The types of the door: one opened home, and the memory of one person in it. Members of the door throw a `HermesError` with a hint;
// names are camelCase. The layers below it, with `Result` and database rows, are in `layers` and `administration` (types.ts).
import type { Clock, TextModel } from "../lib/index.ts";
import type { Logger } from "../lib/logger.ts";
import type { Message, OpenAiMessage } from "../message/index.ts";
import type { Home, Person } from "./types.ts";

/** Which home `openMemory` opens, and where its warnings go. */
export type OpenMemoryOptions = {
  /** `$HERMES_HOME`: a directory, created when the first thing is stored in it. */
  readonly home: string;
  /** Receives warnings. Never a memory text. */
  readonly log?: Logger;
  readonly clock?: Clock;
  readonly env?: Readonly<Record<string, string | undefined>>;
};

/** An opened home: gives the memory of its owner or of one user. Close it, or open it with `await using`. */
export interface Memory extends AsyncDisposable {
  /** Absolute. */
  readonly home: string;
  /** The person the home belongs to: its own files, and the sessions that have no user. */
  readonly owner: UserMemory;
  /** One user of a shared home. Throws `bad-user-id` if platform or id is missing. */
  user(user: { readonly platform: string; readonly id: string | number | bigint }): UserMemory;
  /** The layers of the home, with the memory and the sessions of all users: for whoever runs it. */
  readonly administration: Home;
  /** Waits for what is being stored. May be called twice. */
  close(): Promise<void>;
}

/**
 * The memory of one person: curated entries, and conversations ("chats"). Nothing of another person can be read or changed with it.
 *
 * `chatId` is any text of yours: two users may use the same one. It names the whole conversation, also after a compaction has
 * continued it in another session. The id of one of the person's sessions is accepted too.
 */
export interface UserMemory {
  /** Undefined: the owner of the home. */
  readonly user: { readonly platform: string; readonly id: string } | undefined;

  // ---- Chats ----

  /**
   * Creates the chat's session, if there is none, and says which session stores the chat now. `context` and `remember` do the same; this
   * one is for programs that want to say where the chat comes from.
   */
  openChat(chatId: string, options?: OpenChatOptions): Promise<OpenedChat>;
  /** The memory block of the chat, as `context` puts it into `system`: the entries as they were when the chat began. Empty: there are none. */
  block(chat: string | OpenedChat): Promise<string>;
  /** What is known about a query besides the chat itself, as `context` adds it to a request, and what was found for it. */
  recall(chat: string | OpenedChat, query: string, options?: RecallOptions): Promise<RecallAnswer>;
  /** What to send to a model for the next turn. The system text stays the same, byte for byte, until the chat is compacted. */
  context<F extends MessageFormat = "ai-sdk">(
    chatId: string,
    options?: ContextOptions & { readonly format?: F },
  ): Promise<ChatContext<F>>;
  /**
   * Stores an exchange: what the user said and what was replied. What the chat already has is not stored twice: an exchange with the
   * same texts as the newest one counts as the same one and is not stored again; `known` says so. If people may repeat themselves
   * word for word, pass an `id` for each exchange, such as the id of the request. (Results of the AI SDK have one.) A model call that was
   * stopped or failed is refused with `no-reply`: then store the question alone, as a list.
   */
  remember(chatId: string, text: string, reply: Reply, options?: RememberOptions): Promise<Remembered>;
  /** Stores messages: only the new ones, or the whole list of the chat each time. */
  remember(chatId: string, messages: readonly GivenMessage[], options?: RememberOptions): Promise<Remembered>;
  /**
   * For a server between a client and a model: a request of the client, which shows the chat as it has it. The stored chat becomes the
   * same, and ends with what is asked. A request that is sent again adds nothing. Store the reply with `answer`. Nothing is stored if
   * `signal` was aborted before.
   */
  ask(chat: string | OpenedChat, messages: readonly GivenMessage[], options: AskOptions): Promise<Asked>;
  /**
   * Stores the reply to a request, behind what it asked. An earlier reply to it is taken back if no newer request came. If the chat went
   * on meanwhile, the reply is kept and not shown, and takes back nothing.
   */
  answer(asked: Asked, reply: readonly GivenMessage[]): Promise<{ readonly isShown: boolean }>;
  /**
   * What was said, for people: since the chat began, also before compactions, without their summaries, each message once. Creates
   * nothing. Undefined: there is no such chat.
   */
  transcript<F extends MessageFormat = "ai-sdk">(
    chatId: string,
    options?: TranscriptOptions & { readonly format?: F },
  ): Promise<Transcript<F> | undefined>;
  /** The newest first. Default: 50. */
  chats(options?: { readonly limit?: number; readonly offset?: number }): Promise<readonly Chat[]>;
  /** Undefined: there is no such chat. */
  chat(chatId: string): Promise<Chat | undefined>;
  /** False: there is no such chat. */
  rename(chatId: string, title: string | null): Promise<boolean>;
  /** Deletes the conversation with everything kept about it. False: there is no such chat. */
  forgetChat(chatId: string): Promise<boolean>;
  /**
   * Summarises the older part of a chat with the model, where that is worth it. The chat goes on under the same `chatId`. A chat that
   * does not exist is `unchanged`. Rejects with `unknown-chat` if it is forgotten while the model answers; nothing is written then.
   */
  compact(chatId: string, options: CompactOptions): Promise<Compacted>;
  /**
   * Asks the model once for facts worth keeping in the messages that were not looked at before, and adds them. Rejects with
   * `unknown-chat`, also if the chat is forgotten while the model answers; nothing is written then.
   */
  extract(chatId: string, options: ExtractOptions): Promise<Extracted>;

  // ---- Entries ----

  add(text: string, options?: AddOptions): Promise<Written>;
  list(options?: { readonly target?: EntryTarget }): Promise<readonly Entry[]>;
  /** `id`: of the entry, or of one that it has replaced. */
  update(id: string, text: string, options?: WriteOptions): Promise<Written>;
  remove(id: string, options?: WriteOptions): Promise<Removed>;
  /** Takes a change back; also all changes of one extraction, by its id. Undefined: nothing was changed, and nothing is taken back. */
  undo(change: string | undefined): Promise<Undone>;
  /** The newest first. */
  history(options?: {
    readonly limit?: number;
    readonly target?: EntryTarget;
  }): Promise<readonly EntryChange[]>;
  /** Where a text is or was, who wrote it and when; `text` may be an id. */
  explain(text: string): Promise<EntryExplanation>;

  search(query: string, options?: MemorySearchOptions): Promise<MemorySearchAnswer>;

  /**
   * Everything of this person. Cannot be undone. Waits for the calls that run in this process, and later ones wait for it; it does not
   * wait for a model's answer.
   */
  erase(options?: { readonly dryRun?: boolean }): Promise<Erased>;

  /** The layers of this person. */
  readonly layers: Person;
}

// ---- Chats ----

/** A message in one of the formats this package reads: its own, a row of OpenAI's chat API, an AI SDK message. */
export type GivenMessage = Message | OpenAiMessage | { readonly role: string; readonly content: unknown };

/** A text, messages, or the result of `generateText` or `streamText`. */
export type Reply = string | GivenMessage | readonly GivenMessage[] | object;

/** The format of the messages in a `ChatContext`: AI SDK messages, rows of OpenAI's chat API, or `Message` of this package. */
export type MessageFormat = "ai-sdk" | "openai" | "hermes";

/** What to say next, and how much of the past may come with it. */
export type ContextOptions = {
  /** What the user says now: recall looks for it, and it becomes the last message of `request`. */
  readonly query?: string;
  /** What a program that keeps its own list would send: the rest of the chat is put in front of it. Instead of `query`. */
  readonly messages?: readonly GivenMessage[];
  /** Put in front of the memory in `system`. */
  readonly identity?: string;
  /**
   * The most that history may cost, estimated. Default: 24,000. The oldest turns are left out, and `leftOut` counts their messages. A
   * newest turn that is too long by itself loses the middle of its texts; each such text says how many characters are missing.
   */
  readonly maxTokens?: number;
  /** False: no recall. */
  readonly recall?: boolean;
  /** The format of `messages`. Default: `ai-sdk`, which versions 5, 6 and 7 accept. */
  readonly format?: MessageFormat;
  readonly signal?: AbortSignal;
};

/** Where a new chat comes from. For a chat that is there already the options have no effect. */
export type OpenChatOptions = {
  /** Stored as the source of the session. Default: the user's platform, and `library` for the owner. */
  readonly source?: string;
  /** For the owner: the session gets exactly this id, which is also the chat's. */
  readonly sessionId?: string;
  /** The chat that started this one as a subagent. It is created if there is none. */
  readonly parentChatId?: string;
  /** Marks of its replies (`saveMarks`): the chat begins as a branch of the session that has the first known one. */
  readonly forkOf?: readonly string[];
};

/** The session that stores a chat now. In place of the chat's id for the calls of the same turn, which need not look for it again. */
export type OpenedChat = { readonly chatId: string; readonly sessionId: string; readonly isNew: boolean };

/** The signal ends the waiting for recall. */
export type RecallOptions = { readonly signal?: AbortSignal };

/** What was recalled for a query, and why the rest of what was found was not. */
export type RecallAnswer = {
  /** Fenced as untrusted. Empty: nothing. */
  readonly text: string;
  readonly found: readonly RecallFinding[];
  readonly durationMs: number;
};

/** A piece of text that recall found. */
export type RecallFinding = {
  readonly source: "provider" | "chats" | "archive";
  /** Of a message: its session and its row, as `session#row`. */
  readonly ref?: string;
  /** Its length in code points. */
  readonly chars: number;
  /** `refused`: a threat or a secret was found in it. `left-out`: it did not fit, or its source failed. */
  readonly outcome: "injected" | "refused" | "left-out";
  /** Why, without any of the text. */
  readonly reason?: string;
};

/** The next request of a chat: memory, the stored conversation as far as it fits, and what was recalled. */
export type ChatContext<F extends MessageFormat = "ai-sdk"> = {
  readonly chatId: string;
  /** The session that stores the chat now. */
  readonly sessionId: string;
  /** `identity`, and the entries as they were when the chat began. */
  readonly system: string;
  /** The stored conversation, oldest first, as far as it fits; with `messages`, the new ones at the end. */
  readonly messages: FormattedMessage<F>[];
  /** What was found about the query in other chats, the archive and the provider, fenced as untrusted. Empty: nothing. */
  readonly recall: string;
  /** To spread into a model call: `system` unless it is empty, and `messages` with the query and the recall as the last one. */
  readonly request: { readonly system?: string; readonly messages: FormattedMessage<F>[] };
  /** Stored messages that did not fit. */
  readonly leftOut: number;
  /** An estimate for `request`. */
  readonly tokens: number;
};

/** The rows of a format. */
export type FormattedMessage<F extends MessageFormat> = F extends "openai"
  ? OpenAiMessage
  : F extends "hermes"
    ? Message
    : ChatMessage;

/**
 * Fits `ModelMessage` of the AI SDK 5, 6 and 7, which share only a part of their types. Files in a reply or in a tool's result, and
 * calls that the model's provider ran itself, become texts that say what was there; `format: "hermes"` has all of it.
 */
export type ChatMessage = WithProviderOptions<
  | { role: "system"; content: string }
  | { role: "user"; content: string | (ChatTextPart | ChatFilePart)[] }
  | { role: "assistant"; content: string | (ChatTextPart | ChatReasoningPart | ChatToolCallPart)[] }
  | { role: "tool"; content: ChatToolResultPart[] }
>;

type Json = null | string | number | boolean | Json[] | { [key: string]: Json };
type WithProviderOptions<T> = T & { providerOptions?: { [provider: string]: { [key: string]: Json } } };
type ChatTextPart = WithProviderOptions<{ type: "text"; text: string }>;
/** `data`: base64, or an address. */
type ChatFilePart = WithProviderOptions<{
  type: "file";
  data: string | URL;
  mediaType: string;
  filename?: string;
}>;
type ChatReasoningPart = WithProviderOptions<{ type: "reasoning"; text: string }>;
type ChatToolCallPart = WithProviderOptions<{
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: unknown;
}>;
type ChatToolResultPart = WithProviderOptions<{
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: { type: "text" | "error-text"; value: string } | { type: "json" | "error-json"; value: Json };
}>;

/** How an exchange is recognised as already stored. */
export type RememberOptions = Pick<OpenChatOptions, "source" | "sessionId"> & {
  /**
   * Names the exchange: one with the same id is stored once, one with another id always. If only its beginning was stored, such as the
   * question, the rest is added.
   */
  readonly id?: string;
  /**
   * The list is the whole chat, and the stored one follows it: rows that it no longer has are taken back. What a compaction has
   * summarised cannot be: a change there counts as said now.
   *
   * `shown`: the list is the chat as a client shows it. Calls of `hiddenTools`, which the client does not see, stay stored. A list that
   * is only the newest part of the chat, or that begins with the client's own summary of what came before, takes back nothing before
   * it. A list that has nothing in common with the chat is an edit of its first message. Text that client programs put into messages of the user, such as reminders and recall, is neither compared nor stored.
   */
  readonly follow?: boolean | "shown";
  /** With `follow: "shown"`: names of tools whose calls and results the client does not see. */
  readonly hiddenTools?: readonly string[];
  /** With `follow: "shown"`: a list that has nothing in common with the chat changes nothing, and nothing of it is stored. */
  readonly keepsUnrelated?: boolean;
  readonly signal?: AbortSignal;
};

/** How the list of a request belongs to the chat. */
export type AskOptions = Pick<OpenChatOptions, "source" | "sessionId"> & {
  /**
   * `whole`: as `follow: "shown"` of `remember`. `newest`: only what is new; the same messages again are a repetition as long as the
   * client has not got the reply. `either`: a list with earlier messages is the whole one, unless it has nothing in common with the chat.
   */
  readonly list: "whole" | "newest" | "either";
  /** Names the request: the same text when it is sent again, such as a hash of its body. */
  readonly request: string;
  /** An idempotency key: a request with the same one is the same for good. */
  readonly key?: string;
  /** The client says that it sends the request again. */
  readonly isRetry?: boolean;
  /** Names of tools whose calls and results the client does not see. */
  readonly hiddenTools?: readonly string[];
  readonly signal?: AbortSignal;
};

/** A stored request, for `answer`. */
export type Asked = {
  readonly chatId: string;
  readonly sessionId: string;
  /** The row of the message that was asked. */
  readonly rowId: number;
  /** Of this request alone: `saveDelivered` of the session store takes it when the client has got the reply. */
  readonly token: string;
  readonly hiddenTools: readonly string[];
};

/** What a call of `remember` stored, and the whole chat after it. */
export type Remembered = {
  readonly chatId: string;
  readonly sessionId: string;
  /** How many messages were new. */
  readonly stored: number;
  /** How many the chat already had, and which were not stored again. */
  readonly known: number;
  /** Rows that `follow` took back. */
  readonly takenBack: number;
  /** The whole chat after it, with the ids of its rows: what a context engine works on. */
  readonly messages: readonly Message[];
};

/** Which part of a transcript to give. */
export type TranscriptOptions = {
  /** The format of `messages`. Default: `ai-sdk`. With `hermes` each message has its time and the id of its row. */
  readonly format?: MessageFormat;
  /** The newest so many messages, and as many more as complete the oldest turn. Default: 200. `Infinity`: all. */
  readonly limit?: number;
  /** `next` of another page: only messages before it. */
  readonly before?: number;
};

/** A page of what was said in a chat. */
export type Transcript<F extends MessageFormat = "ai-sdk"> = {
  readonly chatId: string;
  /** The session that stores the chat now. */
  readonly sessionId: string;
  /** Oldest first. */
  readonly messages: FormattedMessage<F>[];
  /** How many older messages there are. */
  readonly leftOut: number;
  /** Pass it as `before` to get the page with older messages. Undefined: there are none. */
  readonly next: number | undefined;
};

/** A conversation in a listing. Counts and times are those of the whole conversation, also after compactions. */
export type Chat = {
  /** For a chat whose id was too long to be part of the session's id, the id of its first session, which names the chat too. */
  readonly chatId: string;
  /** The session that stores the chat now. */
  readonly sessionId: string;
  readonly title: string | null;
  /** Of every role. */
  readonly messages: number;
  readonly startedAt: Date;
  readonly lastActiveAt: Date;
};

/** The model that summarises, and the window that the chat has to fit. */
export type CompactOptions = {
  readonly model: TextModel;
  /** The context window of the model that answers the chat, in tokens. */
  readonly contextLength: number;
  /** What the summary should keep in particular. */
  readonly focus?: string;
  /** Also below the threshold. */
  readonly force?: boolean;
  readonly signal?: AbortSignal;
};

/** What a compaction did. The chat goes on under the same id, in the session `sessionId`. */
export type Compacted = {
  readonly kind: "compacted" | "pruned" | "unchanged" | "aborted" | "busy";
  readonly sessionId: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** For the user: what was summarised or left out, and why nothing was. */
  readonly notices: readonly string[];
};

/** The model that is asked for facts, and how many it may add. */
export type ExtractOptions = {
  readonly model: TextModel;
  /** Default: 10. */
  readonly maxFacts?: number;
  readonly signal?: AbortSignal;
};

/** The facts that were added, those that were not and why, and the id that takes all of them back. */
export type Extracted = {
  /** For `undo`. Undefined: nothing was added. */
  readonly id: string | undefined;
  readonly added: readonly Entry[];
  readonly skipped: readonly { readonly text: string; readonly reason: string }[];
  /** Messages that were looked at. */
  readonly messages: number;
  /** Messages that did not fit into one request: the next call looks at them. */
  readonly remaining: number;
};

// ---- Entries ----

/** `user`: what is known about the person (USER.md). `memory`: everything else (MEMORY.md). */
export type EntryTarget = "memory" | "user";

/** Why an entry is written, and in which chat: shown by `history` and `explain`. */
export type WriteOptions = {
  /** Why, for the history. */
  readonly reason?: string;
  readonly chatId?: string;
};

/** Default target: `memory`. */
export type AddOptions = WriteOptions & { readonly target?: EntryTarget };

/** One curated entry. Its id stays valid for `update` and `remove` until the text changes; then it leads to the new text. */
export type Entry = { readonly id: string; readonly target: EntryTarget; readonly text: string };

/** The entry as it is stored now, and the change that `undo` takes back. */
export type Written = Entry & {
  /** For `undo`. Undefined: the text was already there. */
  readonly change: string | undefined;
  /** From 80 % of the room on, and when a step after the write failed. */
  readonly warning?: string;
  /** Entries that moved to the archive to make room. */
  readonly archived: readonly string[];
};

/** The change that took the entry away, for `undo`. */
export type Removed = {
  /** For `undo`. */
  readonly change: string;
  /** As in `Written`. */
  readonly warning?: string;
};

/** The changes that were taken back, and the entries that are there because of it. */
export type Undone = {
  /** The changes that were taken back. */
  readonly changes: readonly string[];
  /** The entries that came back by it. */
  readonly entries: readonly Entry[];
  /** As in `Written`. */
  readonly warning?: string;
};

/** One change of an entry: who made it, when and why, and the texts before and after. */
export type EntryChange = {
  readonly change: string;
  readonly at: Date;
  readonly target: EntryTarget;
  readonly action: string;
  readonly origin: string;
  readonly status: "committed" | "aborted" | "undone" | "refused";
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly reason?: string;
  readonly group?: string;
  readonly sessionId?: string;
};

/** Where a text is or was, in sentences for people and as changes. */
export type EntryExplanation = {
  readonly text: string;
  readonly isStored: boolean;
  /** One sentence each, for people. */
  readonly lines: readonly string[];
  readonly changes: readonly EntryChange[];
};

// ---- Search ----

/** Where to search, and how many hits of each kind to return. */
export type MemorySearchOptions = {
  /** Default: all three. */
  readonly in?: readonly ("entries" | "archive" | "sessions")[];
  /** Of each kind. Default: 10. */
  readonly limit?: number;
};

/** One hit: a current entry, an archived entry, or a message of a chat. */
export type MemoryHit =
  | (Entry & { readonly kind: "entry" })
  | (Entry & { readonly kind: "archive"; readonly archivedAt: Date })
  | {
      readonly kind: "session";
      readonly chatId: string;
      readonly sessionId: string;
      readonly messageId: number;
      readonly role: string;
      readonly text: string;
      readonly at: Date;
      readonly title: string | null;
    };

/** Hits, and what the answer leaves out. */
export type MemorySearchAnswer = {
  readonly hits: readonly MemoryHit[];
  /** Hits that `limit` left out, at least. */
  readonly leftOut: number;
  /** How the sessions were found, and why nothing was: for people. */
  readonly notes: readonly string[];
};

// ---- Erasing ----

/** What `erase` removed, by kind, and what it could not reach. */
export type Erased = {
  readonly entries: number;
  readonly archived: number;
  readonly changes: number;
  readonly pending: number;
  readonly sessions: number;
  readonly messages: number;
  /** Spilled results, snapshots, backups and other files. */
  readonly files: number;
  readonly provider: {
    readonly name: string | undefined;
    readonly erased: number;
    readonly remaining?: string;
  };
  /** What is left and what to do about it. Empty: nothing is left. */
  readonly remaining: readonly string[];
};
