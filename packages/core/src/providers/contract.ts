// The contract between this program and an external memory, with a version. Names inside the process are camelCase; the keys of every
// options object are spelled as in the Python documentation, because authors port their plugins from it.
//
// The manager is the only caller. It awaits every member, synchronous or not, catches everything that is thrown, and stops waiting at
// the deadline named beside the member. The `signal` of an options object is aborted at the deadline and at shutdown. `onTurnStart` and
// `prefetch` are skipped while an earlier call of theirs hangs. A member that blocks the event loop blocks the whole process: heavy
// work belongs in a worker thread.
import { DEFAULT_MEMORY_CONFIG } from "../config/index.ts";
import type { OpenAiMessage } from "../message/index.ts";
import type { ToolDefinition } from "../tools/index.ts";

/** The version of this contract. A provider without `contract` counts as version 1. */
export const PROVIDER_CONTRACT = 1;

/**
 * How long the agent waits for a provider, in milliseconds. `MemoryProvider` names the deadline of each member, docs/providers.md has
 * the same table.
 */
export const DEADLINES_MS = {
  /** Importing a plugin's code and creating its provider. */
  load: 10_000,
  /** Also for `unavailableReason` and `readConfig`. */
  availability: 2_000,
  saveConfig: 10_000,
  initialize: 10_000,
  toolSchemas: 2_000,
  systemPromptBlock: 2_000,
  /** `onTurnStart` and `prefetch` together: recall before a turn. The default of `memory.prefetch_timeout_s` (config/keys.ts). */
  turnStart: DEFAULT_MEMORY_CONFIG.prefetchTimeoutS * 1000,
  toolCall: 120_000,
  preCompress: 10_000,
  sessionEnd: 10_000,
  sessionSwitch: 2_000,
  /** Each task of the background queue: `syncTurn`, `queuePrefetch`, `onMemoryWrite`, `onDelegation`. */
  background: 120_000,
  /** `onMemoryWrite` outside an agent, all writes of one command together. */
  mirror: 5_000,
  /** Also for `eraseUser`. */
  forget: 30_000,
  /** Finishing the background queue before a shutdown or the end of a session. */
  drain: 5_000,
  /** Together with the drain less than 8 s, the most that a hanging provider may add to an exit. */
  shutdown: 2_500,
  /** Replaces the wait (not the deadline) of a call, and of the queue, while the provider is known to hang. */
  hanging: 1_000,
} as const;

export type Deadlines = Readonly<Record<keyof typeof DEADLINES_MS, number>>;

export type Awaitable<T> = T | Promise<T>;

/**
 * An external memory. Only `name`, `isAvailable` and `initialize` are required. The comment of each member says when it is called and how
 * long the caller waits.
 */
export interface MemoryProvider {
  readonly contract?: number;

  /** The name config selects it by. Not empty; `builtin` is reserved. */
  readonly name: string;

  /**
   * Whether settings and dependencies are in place. Must not use the network or create anything. Called before activation, by setup, and
   * for bundled providers by status and doctor. A rejection counts as false. Deadline 2 s.
   */
  isAvailable(): Awaitable<boolean>;

  /** Why `isAvailable` returned false and what the user can do, in one or two sentences without secrets. Deadline 2 s. */
  unavailableReason?(): Awaitable<string>;

  /**
   * Called once per agent, before everything below. May connect, create files and start processes. A rejection is logged; the provider
   * stays registered, and its later calls may fail one by one. Deadline 10 s.
   */
  initialize(sessionId: string, options: InitializeOptions): Awaitable<void>;

  /**
   * Called instead of `initialize` by a caller that only looks: `hermes memory status`, `doctor`. Must create nothing, start nothing and
   * send nothing but reads. Default: such a caller does not start the provider. Deadline 10 s.
   */
  initializeForInspection?(sessionId: string, options: InitializeOptions): Awaitable<void>;

  /** Text for the system prompt, the same for the whole session: how to use this memory, never its contents. Deadline 2 s. */
  systemPromptBlock?(options: CallOptions): Awaitable<string>;

  /**
   * Recall for the user's message, as plain text without a fence; "" for nothing. Called once per turn while the user waits, so
   * answer fast or from a cache. After a rejection the turn has no recall. Deadline 3 s together with `onTurnStart`. A later answer
   * is kept for the next turn of the same session, so `signal` is aborted only after 60 s or when the session changes.
   */
  prefetch?(query: string, options: RecallOptions): Awaitable<string>;

  /** How much the last `prefetch` recalled, for a line on the screen. Undefined: nothing. Synchronous. */
  recallStatus?(): RecallStatus | undefined;

  /** After a turn, in the background queue: prepare the recall for the next turn. May reject. Deadline 120 s. */
  queuePrefetch?(query: string, options: RecallOptions): Awaitable<void>;

  /**
   * Stores a completed turn. In the background queue, in the order of the turns; not called for interrupted or failed turns. May reject.
   * Deadline 120 s.
   */
  syncTurn?(user: string, assistant: string, options: SyncOptions): Awaitable<void>;

  /**
   * The tools it offers now, as bare function schemas. Called at registration and again after `initialize`, so that a mode chosen there
   * takes effect. A throw means no tools. Deadline 2 s; an asynchronous answer at registration counts as no tools.
   */
  getToolSchemas?(): Awaitable<readonly ToolDefinition[]>;

  /** Answers one of those tools with a JSON text. A rejection becomes a tool error. Deadline 120 s. */
  handleToolCall?(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Awaitable<string>;

  /** Start of a user turn (counted from 1), before `prefetch` and sharing its deadline. `message` is "" when it is not text. May reject. */
  onTurnStart?(turn: number, message: string, options: TurnStartOptions): Awaitable<void>;

  /** A conversation ended or was committed; not called per turn. Syncs queued before have run or timed out. May reject. Deadline 10 s. */
  onSessionEnd?(messages: readonly OpenAiMessage[], options: CallOptions): Awaitable<void>;

  /**
   * The session id changed, or the transcript was cut, without a shutdown. Discard recall that was fetched for the old session. May reject.
   * Deadline 2 s.
   */
  onSessionSwitch?(newSessionId: string, options: SessionSwitchOptions): Awaitable<void>;

  /**
   * 2: every `onPreCompress` that was answered is stored durably. With `compression.checkpoint_required` a conversation is compacted only
   * if the active provider says 2 and answers. Default 1: best effort.
   */
  readonly preCompressCheckpointApiVersion?: 1 | 2;

  /** These messages are about to be summarised. The returned text is added to the summary request. May reject. Deadline 10 s. */
  onPreCompress?(messages: readonly OpenAiMessage[], options: CallOptions): Awaitable<string>;

  /**
   * A write to the built-in memory was committed, by the agent, a command, the MCP server or the curator. `content` is "" for `remove`;
   * the old text is in `metadata.old_text`. An agent calls it in the background queue, a command awaits it. A provider may return whether
   * it stored the text, for the command to print. May reject. Deadline 120 s; 5 s outside an agent.
   */
  onMemoryWrite?(
    action: "add" | "replace" | "remove",
    target: "memory" | "user",
    content: string,
    metadata: MemoryWriteMetadata,
  ): Awaitable<void> | Awaitable<MemoryWriteReport | undefined>;

  /**
   * Erases a text for good: every record that contains it, also those of the user, and the bytes that deleted records leave on disk.
   * Case-sensitive. With `dry_run` nothing changes and `erased` counts what would be erased. Called by `hermes memory forget`, after
   * `initialize`. A provider that cannot erase leaves this member out, and the command says so. May reject. Deadline 30 s.
   */
  forget?(text: string, options: ForgetOptions): Awaitable<ForgetReport>;

  /**
   * Erases everything that is stored for the user of `initialize` (without `user_id`: for the owner of the home), down to the bytes on
   * disk, and nothing of others. The provider works on afterwards, with an empty store. With `dry_run` nothing changes and `erased`
   * counts what would be erased. Called by `erase()` of a user's memory, after `initialize`. A provider that cannot leaves this member
   * out, and the caller says so. May reject. Deadline 30 s.
   */
  eraseUser?(options: ForgetOptions): Awaitable<ForgetReport>;

  /** On the parent, after a subagent finished. In the background queue. May reject. Deadline 120 s. */
  onDelegation?(task: string, result: string, options: DelegationOptions): Awaitable<void>;

  /** Flushes and closes; no member is called afterwards. May reject. Deadline 2.5 s for all providers together. */
  shutdown?(options: CallOptions): Awaitable<void>;

  /** The questions of setup. May be called on an instance that was never initialised. Synchronous. A throw means no fields. */
  getConfigSchema?(): readonly ConfigField[];

  /** Saves the settings that are not secret where the provider will look for them. A rejection is shown to the user. Deadline 10 s. */
  saveConfig?(values: Readonly<Record<string, string>>, hermesHome: string): Awaitable<void>;

  /**
   * The saved settings, by the keys of the schema. Setup offers them again, status shows them. Needed only by a provider that saves them
   * elsewhere than in `<home>/<name>.json` or the config section `memory.<name>`. A rejection means none. Deadline 2 s.
   */
  readConfig?(hermesHome: string): Awaitable<Readonly<Record<string, unknown>>>;

  /** Files and folders that belong in a backup of this memory: absolute paths, without network and before `initialize`. Deadline 2 s. */
  backupPaths?(hermesHome: string): Awaitable<readonly string[]>;

  /**
   * Whether the service can be reached with the saved settings: one cheap request, nothing is stored. After `initialize` or
   * `initializeForInspection`. Resolves to a line for the user. A rejection says what is wrong. Called by `doctor --network` and setup.
   */
  checkConnection?(signal: AbortSignal): Awaitable<string>;

  /** Replaces the generic wizard, activation included. May reject. No deadline: the user is answering questions. */
  postSetup?(
    hermesHome: string,
    config: Readonly<Record<string, unknown>>,
    options: PostSetupOptions,
  ): Awaitable<void>;

  /**
   * Writes something, recalls it, and removes it again, after `initialize`. Called by `hermes memory test`, which aborts the signal after
   * 60 s. A rejection means that the test failed.
   */
  selfTest?(signal: AbortSignal): Awaitable<SelfTestReport>;
}

/** Comes with every call of a hook. */
export type CallOptions = {
  /** Aborted at the deadline: the caller no longer waits for the answer. */
  readonly signal?: AbortSignal;
};

/** The home, the user and the kind of conversation that a provider starts for. */
export type InitializeOptions = CallOptions & {
  /** The active home. All storage belongs below it. */
  readonly hermes_home: string;
  /** `cli`, `telegram`, `cron`, ... */
  readonly platform?: string;
  /** Providers skip writes for anything but `primary`. */
  readonly agent_context?: "primary" | "subagent" | "cron" | "flush";
  readonly session_title?: string;
  /**
   * One user of several, by their id on `platform`: the two together are the identity. Store each user's memory separately; the same
   * id on another platform is another user. Absent: the owner of the home.
   */
  readonly user_id?: string;
  readonly user_id_alt?: string;
  readonly user_name?: string;
  readonly chat_id?: string;
  readonly chat_name?: string;
  readonly chat_type?: string;
  readonly thread_id?: string;
  readonly gateway_session_key?: string;
  /** The active profile's name. */
  readonly agent_identity?: string;
  readonly agent_workspace?: string;
  /** Of a resumed or branched agent. */
  readonly parent_session_id?: string;
  /** Config `memory.outbox`. False: writes to a server are not kept on disk. */
  readonly outbox?: boolean;
  /** Config `memory.outbox_max_items`: how many writes to a server may wait for one user. */
  readonly outbox_max_items?: number;
  /** A user asked for sending now (`hermes memory outbox send`): the first attempt does not wait until a pause of the server is over. */
  readonly outbox_send_now?: boolean;
};

/** The session that a recall is for. */
export type RecallOptions = CallOptions & { readonly session_id: string };

/** The session of a finished turn, and its messages. */
export type SyncOptions = RecallOptions & {
  /** The list at the end of the turn, tool calls and results included. Absent when the caller has none. */
  readonly messages?: readonly OpenAiMessage[];
};

/** What is known when a turn starts. */
export type TurnStartOptions = CallOptions & {
  readonly remaining_tokens?: number;
  readonly model?: string;
  readonly platform?: string;
  readonly tool_count?: number;
};

/** How much was recalled for the last turn. */
export type RecallStatus = {
  readonly provider_label: string;
  readonly count: number;
  /** One character in front of the line. */
  readonly glyph: string;
};

/** Why the conversation goes on in another session. */
export type SessionSwitchOptions = CallOptions & {
  readonly parent_session_id: string;
  /** The old conversation is over for good (`/new`, `/reset`). */
  readonly reset: boolean;
  /** Present only when true: same id, transcript cut (`/undo`). */
  readonly rewound?: true;
  /** With `rewound`, where it is known: how many turns were taken back. */
  readonly undone_turns?: number;
  /** `new_session`, `resume`, `branch`, `compression`, ... */
  readonly reason?: string;
};

/** Which child session a delegated task ran in. */
export type DelegationOptions = CallOptions & { readonly child_session_id: string };

/** Whether `forget` only counts. */
export type ForgetOptions = CallOptions & {
  /** Only count; change nothing. */
  readonly dry_run?: boolean;
};

/** What a provider erased, and where the text may be left. */
export type ForgetReport = {
  /** How many facts, notes or documents. */
  readonly erased: number;
  /** Where the text is or may be left, and what to do about it: one or two sentences without the text itself. Absent: nowhere. */
  readonly remaining?: string;
};

/** Whether a provider stored a curated write as well. */
export type MemoryWriteReport = {
  /** False: the provider did not store the new text. */
  readonly stored: boolean;
  /** With `stored: false`: it is kept and sent later. `reason` then says why it is not at the server yet. */
  readonly queued?: boolean;
  /** Why it was not stored: one or two sentences without the text itself. */
  readonly reason?: string;
};

/** Where a write came from. Empty values are left out. */
export type MemoryWriteMetadata = {
  /** `assistant_tool`, `background_review`; outside a conversation `cli`, `mcp` or `curator`. */
  readonly write_origin?: string;
  readonly execution_context?: string;
  readonly session_id?: string;
  readonly parent_session_id?: string;
  readonly platform?: string;
  readonly tool_name?: string;
  readonly task_id?: string;
  readonly tool_call_id?: string;
  /** Of `replace` and `remove`: the whole old entry. */
  readonly old_text?: string;
};

/** One question of the setup wizard. Spelled as in `plugin.yaml` and the Python documentation. */
export type ConfigField = {
  readonly key: string;
  /** The question; the key when absent. */
  readonly description?: string;
  /** Typed without echo, saved in `.env`, never passed to `saveConfig`. */
  readonly secret?: boolean;
  readonly required?: boolean;
  readonly default?: string;
  /** The default follows from an earlier answer. */
  readonly default_from?: { readonly field: string; readonly map: Readonly<Record<string, string>> };
  /** Not for secrets. */
  readonly choices?: readonly string[];
  /** Where to get the credential. */
  readonly url?: string;
  /** Variable in `.env`. A secret without one gets `<PROVIDER>_<KEY>`; a field that is not secret and has one is written to `.env` too. */
  readonly env_var?: string;
  /** How the answer is checked and shown. Default: text; a field with `choices` is a choice. */
  readonly type?: "text" | "number" | "integer" | "boolean";
  /** Bounds of a number. */
  readonly minimum?: number;
  readonly maximum?: number;
  readonly step?: number;
  /** Asked only if every field named here has the given answer. */
  readonly when?: Readonly<Record<string, string>>;
};

/** How a provider's setup step asks questions and prints. */
export type PostSetupOptions = {
  /** Asks the user at the terminal; undefined where there is none. */
  readonly ask?: (
    question: string,
    options?: { readonly secret?: boolean; readonly default?: string },
  ) => Promise<string>;
  /** Prints a line for the user. */
  readonly print: (line: string) => void;
  /** Values from `--set key=value`. */
  readonly values: Readonly<Record<string, string>>;
};

/** The steps of a provider's self-test, with their times. */
export type SelfTestReport = {
  /** In the order they ran: `write`, `recall`, `clean up`. */
  readonly steps: readonly { readonly name: string; readonly ms: number; readonly detail?: string }[];
};
