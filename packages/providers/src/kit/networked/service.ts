// What one networked memory consists of: its settings and its connection. `NetworkedProvider` makes a memory provider of it. Everything
// that must be the same for all of them is there: who may write, the outbox, recall and its cache, the breaker, erasing, shutdown.
// A service has only its wire, its texts and its scoping.
import type { Clock } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { OpenAiMessage } from "@hermes-memory/core/internal/message";
import type {
  ForgetReport,
  InitializeOptions,
  PostSetupOptions,
  SessionSwitchOptions,
} from "@hermes-memory/core/internal/providers";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import type { HttpClient, HttpClientOptions, HttpFailure } from "../http.ts";
import type { Batch, Delivery, NewItem, OutboxLane } from "../outbox/outbox.ts";
import type { ProviderMode } from "../provider-mode.ts";
import type { UserScope } from "./identity.ts";
import type { Environment, Place, SettingsTable } from "./settings.ts";

/** Settings that every service has. */
export type CommonSettings = {
  readonly mode: ProviderMode;
  readonly userScope: UserScope;
  /** Whether curated entries are mirrored to the server. */
  readonly isMirroring: boolean;
  /** Longest recall, in characters. */
  readonly maxChars: number;
};

export type Service<S extends CommonSettings> = {
  /** The name config selects it by: "mem0". */
  readonly name: string;
  /** Its name in sentences: "Mem0". */
  readonly label: string;
  readonly settings: SettingsTable<S>;
  /** Why it cannot be used and what to do, in one or two sentences; undefined: it can be used. */
  readonly missing: (settings: S) => string | undefined;
  /** One per `initialize`, only with settings that miss nothing. Must not use the network before it returns. */
  readonly connect: (settings: S, context: ConnectionContext) => Connection;
  /** Files of this service outside the outbox, for backups. Absolute paths. */
  readonly backupPaths?: (home: string) => readonly string[];
  /** Replaces the generic wizard. */
  readonly postSetup?: (place: Place, options: PostSetupOptions) => Promise<void>;
};

/** What the base gives to a connection. */
export type ConnectionContext = {
  readonly home: string;
  readonly env: Environment;
  /** The options of `initialize`: session title, profile, chat, ... */
  readonly options: InitializeOptions;
  /** The session of `initialize`. */
  readonly sessionId: string;
  /**
   * The user that this connection serves, as text for the server; undefined: the owner of the home, or everyone with `user_scope: shared`.
   * Two users have different texts; it may hold any character.
   */
  readonly user: string | undefined;
  /** False for subagents, cron jobs and flushes: nothing may be written. The base queues nothing then; tools that write must refuse. */
  readonly isWriting: boolean;
  /** A client with the breaker, the deadline and the closing signal of this provider. */
  readonly http: (
    options: Pick<HttpClientOptions, "baseUrl" | "headers" | "timeoutMs" | "messageOf">,
  ) => HttpClient;
  readonly outbox: OutboxLane;
  readonly log: Logger;
  readonly clock: Clock;
  /** Work that nobody awaits: its failure is logged once, the signal is aborted at shutdown. */
  readonly inBackground: (what: string, work: (signal: AbortSignal) => Promise<void>) => void;
};

/** A finished turn. Both texts are without fences and trimmed; not both are empty. */
export type Turn = {
  readonly sessionId: string;
  readonly user: string;
  readonly assistant: string;
  /** ISO, UTC. */
  readonly at: string;
  /** Counted from 1 within this process and session. */
  readonly number: number;
  readonly messages?: readonly OpenAiMessage[];
};

export type Recalled = {
  /** Without a fence; "" for nothing. */
  readonly text: string;
  /** How many memories it holds. */
  readonly count: number;
};

export type RecallAsk = {
  readonly sessionId: string;
  /** The turn that is running or has just ended. */
  readonly turn: number;
  /** The turn that will show the recall: the running one, or the one after the turn that has just ended. */
  readonly shownInTurn: number;
  /** False in `prefetch`: an earlier recall was not answered in time, so only what is there already is wanted. */
  readonly mayWait?: boolean;
  readonly signal: AbortSignal;
};

export type ServiceTool = {
  readonly definition: ToolDefinition;
  /** Writes something: refused when the agent may not write. */
  readonly isWriting?: boolean;
  /** Begins the error text when a request fails: "Search failed" gives "Search failed: <reason>". */
  readonly failure: string;
  /** Throws `ToolRefusal` for wrong arguments; a `ServiceError` becomes `{ error }`. */
  readonly run: (args: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<object>;
};

/** Wrong arguments of a tool call: the message is the `error` of the answer. */
export class ToolRefusal extends Error {}

/** A curated entry. */
export type Entry = { readonly target: string; readonly text: string };

/** What an entry carries through the outbox. */
export type QueuedEntry = Entry & {
  /** Of the batch: the same for each attempt. */
  readonly id: string;
  readonly sessionId: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** With what `about` added. */
  readonly body: Readonly<Record<string, unknown>>;
};

/** How the service keeps curated entries. The self-test stores, finds and removes one, too. */
export type Entries = {
  /** What an item holds beside target and text. */
  about?(): Pick<NewItem, "sessionId"> & { readonly body?: Readonly<Record<string, unknown>> };
  /** As the server gets it; "" for nothing. */
  cleaned?(text: string): string;
  /** Resolves to what `remove` needs; "" for an entry that `find` finds. */
  add(entry: QueuedEntry, signal: AbortSignal): Promise<string>;
  /** What does not exist counts as removed; a `conflict` is tried again later. */
  remove(id: string, signal: AbortSignal): Promise<void>;
  /** Ids of an entry that was stored without one, by another machine, or by the Python edition. */
  find(entry: QueuedEntry, signal: AbortSignal): Promise<readonly string[]>;
  /** Whether recall finds the text now. */
  recalls(text: string, signal: AbortSignal): Promise<boolean>;
  /** Why the text may not be found at once, if the server works in the background: the self-test then passes without having found it. */
  readonly appearsLater?: string;
};

/** One agent's connection to the service. Methods that use the network throw `ServiceError`. */
export interface Connection {
  /** Set when this agent has no part in the service at all (a cron job): the answer to a tool call. The other members do nothing then. */
  readonly inactive?: string;
  /** A finished turn is waited for until it is at the server, instead of only until it is in the outbox. */
  readonly awaitsTurns?: boolean;
  /** The same text for the whole session; no network. */
  promptBlock(): string;
  readonly tools: readonly ServiceTool[];

  /**
   * Recall for this message. The base calls it after a turn for the next one, and at the first turn while the user waits for at most 3 s.
   * Left out by a service that brings `prefetch` and `queuePrefetch` of its own.
   */
  recall?(query: string, ask: RecallAsk): Promise<Recalled>;
  /** Every turn asks for its own message and waits; what was prepared is used when no answer comes in time. */
  readonly recallsEachTurn?: boolean;
  prefetch?(query: string, ask: RecallAsk): Promise<Recalled>;
  queuePrefetch?(query: string, ask: RecallAsk): Promise<void>;

  /** What a finished turn puts into the outbox. Pure: no network. */
  turnItems(turn: Turn): readonly NewItem[];
  readonly entries: Entries;
  /** What the end of a conversation puts into the outbox, after held items were released. */
  endItems?(sessionId: string, messages: readonly OpenAiMessage[]): readonly NewItem[];
  /** Sends one batch that is no entry. Throws `ServiceError`, which the base turns into `later`, `blocked` or `refused`; or returns the outcome. */
  deliver(batch: Batch, signal: AbortSignal): Promise<Delivery | undefined>;
  /** What the base makes of a failure, unless this knows better. */
  deliveryOf?(failure: HttpFailure): Delivery | undefined;
  /** How many turns may go into one batch. Default 1. */
  readonly turnsAtOnce?: number;

  /** Before a curated write is queued, and after an entry was stored or removed at the server. */
  onEntryChange?(isRemoved: boolean): void;
  onTurnStart?(turn: number, message: string): void;
  /** The recall cache was cleared and held items of the old session released, unless `rewound`. */
  onSessionSwitch?(newSessionId: string, options: SessionSwitchOptions, oldSessionId: string): void;

  /** Cheap request with the key, for `doctor --network`, setup and the self-test. Resolves to a line for the user. */
  check(signal: AbortSignal): Promise<string>;
  /** Erases memories that contain the text at the server. The base has done the outbox. */
  forget(text: string, isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport>;
  /** Erases everything of this connection's user at the server. The base has done the outbox. */
  eraseUser(isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport>;
}
