// What an external memory is to us: a plug with a version. Names inside the process are camelCase; the keys of every
// options object are spelled as in the Python documentation, because authors port their plugins from it.
//
// Who calls, who waits, who stops it: the manager is the only caller. It awaits every member, sync or async, catches
// whatever is thrown, and stops waiting at the deadline named beside the member. Where there is an options object, its
// `signal` is aborted at that moment, and at shutdown. `onTurnStart` and `prefetch` are left out while an earlier call hangs.
// A member that blocks the event loop blocks everything: heavy work goes into a worker.

import type { OpenAiMessage } from "../message/index.ts";
import type { ToolDefinition } from "../tools/index.ts";

/** The version of this contract. A provider without `contract` is taken for version 1. */
export const PROVIDER_CONTRACT = 1;

export type Awaitable<T> = T | Promise<T>;

export interface MemoryProvider {
  readonly contract?: number;

  /** How config selects it. Not empty; `builtin` is reserved. */
  readonly name: string;

  /**
   * Are settings and dependencies in place? No network, nothing created. Called before activation, by setup, and for bundled
   * providers by status and doctor. A rejection counts as no. Deadline 2 s.
   */
  isAvailable(): Awaitable<boolean>;

  /** Why `isAvailable` said no and what to do, in one or two sentences without secrets. Called after it said no. Deadline 2 s. */
  unavailableReason?(): Awaitable<string>;

  /**
   * Once per agent, before everything below. May connect, create and start. A rejection is logged; the provider stays registered and its
   * later calls may fail one by one. Deadline 10 s.
   */
  initialize(sessionId: string, options: InitializeOptions): Awaitable<void>;

  /** Text for the system prompt, the same for the whole session: how to use this memory, never what is in it. Deadline 2 s. */
  systemPromptBlock?(options: CallOptions): Awaitable<string>;

  /**
   * What this memory has for the user's message, as raw text without a fence; "" for nothing. Once per turn, on the user's path, so
   * answer fast or from a cache. A rejection costs the turn its recall. Deadline 3 s together with `onTurnStart`; an answer
   * that comes later is kept for the next turn of the same session, so `signal` is aborted only when that is over too.
   */
  prefetch?(query: string, options: RecallOptions): Awaitable<string>;

  /** After a turn, on the background worker: get ready for the next one. May reject. Deadline 120 s. */
  queuePrefetch?(query: string, options: RecallOptions): Awaitable<void>;

  /**
   * Keep a completed turn. On the background worker, in the order of the turns; never for interrupted or failed ones. May reject.
   * Deadline 120 s.
   */
  syncTurn?(user: string, assistant: string, options: SyncOptions): Awaitable<void>;

  /**
   * The tools it offers now, as bare function schemas. Asked at registration and again after `initialize`, so a mode chosen there
   * counts. A throw means no tools. Deadline 2 s; until an asynchronous answer is in, there are none.
   */
  getToolSchemas(): Awaitable<readonly ToolDefinition[]>;

  /** Answers one of those tools with a JSON text. A rejection becomes a tool error. Deadline 120 s. */
  handleToolCall?(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Awaitable<string>;

  /** Start of a user turn (counted from 1), before `prefetch` and within its deadline. `message` is "" when it is not text. May reject. */
  onTurnStart?(turn: number, message: string, options: TurnStartOptions): Awaitable<void>;

  /** A conversation really ended or was committed, never per turn; syncs handed in before have run or timed out. May reject. Deadline 10 s. */
  onSessionEnd?(messages: readonly OpenAiMessage[], options: CallOptions): Awaitable<void>;

  /**
   * The session id changed, or its transcript was cut, without a teardown. Drop what was fetched for the old one. May reject.
   * Deadline 2 s.
   */
  onSessionSwitch?(newSessionId: string, options: SessionSwitchOptions): Awaitable<void>;

  /** These messages are about to be summarised. What it returns is added to the summary request. May reject. Deadline 10 s. */
  onPreCompress?(messages: readonly OpenAiMessage[], options: CallOptions): Awaitable<string>;

  /**
   * A write to the built-in memory was committed, by the agent or by a command, the MCP server or the curator outside of it. `content` is
   * "" for `remove`; the old text is in `metadata.old_text`. On the background worker; from outside an agent it is waited for. A provider
   * that knows what came of it may return that, for the command to print. May reject. Deadline 120 s; 5 s outside an agent.
   */
  onMemoryWrite?(
    action: "add" | "replace" | "remove",
    target: "memory" | "user",
    content: string,
    metadata: MemoryWriteMetadata,
  ): Awaitable<void> | Awaitable<MemoryWriteReport>;

  /**
   * Erase a text for good: everything kept here that contains it, whoever put it there, and what a deletion leaves behind on disk.
   * Letter case counts. With `dry_run` nothing changes and `erased` is what would go. For `hermes memory forget`, after `initialize`. A
   * provider that cannot erase leaves this out, and the command says so. May reject. Deadline 30 s.
   */
  forget?(text: string, options: ForgetOptions): Awaitable<ForgetReport>;

  /** On the parent, after a subagent finished. On the background worker. May reject. Deadline 120 s. */
  onDelegation?(task: string, result: string, options: DelegationOptions): Awaitable<void>;

  /** Flush and close; nothing is called afterwards. May reject. Deadline 2.5 s for all providers together. */
  shutdown?(options: CallOptions): Awaitable<void>;

  /** What setup asks for. May be called on an instance that was never initialised. Synchronous. A throw means no fields. */
  getConfigSchema?(): readonly ConfigField[];

  /** Keeps the settings that are not secret where the provider will look for them. A rejection is shown to the user. Deadline 10 s. */
  saveConfig?(values: Readonly<Record<string, string>>, hermesHome: string): Awaitable<void>;

  /**
   * The settings as they are kept now, by the keys of the schema. Setup offers them again, status shows them. Needed only by a provider
   * that keeps them elsewhere than in `<home>/<name>.json` or the config section `memory.<name>`. A rejection means none. Deadline 2 s.
   */
  readConfig?(hermesHome: string): Awaitable<Readonly<Record<string, unknown>>>;

  /** Replaces the generic wizard, activation included. May reject. No deadline: a person is answering questions. */
  postSetup?(
    hermesHome: string,
    config: Readonly<Record<string, unknown>>,
    options: PostSetupOptions,
  ): Awaitable<void>;

  /**
   * Writes something, recalls it, removes it again, after `initialize`. For `hermes memory test`, which aborts the signal after 60 s.
   * A rejection is the finding.
   */
  selfTest?(signal: AbortSignal): Awaitable<SelfTestReport>;
}

export type CallOptions = {
  /** Aborted at the deadline; nobody waits for the answer any more. */
  readonly signal?: AbortSignal;
};

export type InitializeOptions = CallOptions & {
  /** The active home; use it for all storage. */
  readonly hermes_home: string;
  /** `cli`, `telegram`, `cron`, ... */
  readonly platform?: string;
  /** Providers skip writes for anything but `primary`. */
  readonly agent_context?: "primary" | "subagent" | "cron" | "flush";
  readonly session_title?: string;
  /**
   * One user of several, by their id on `platform`: the two together are the identity. Keep what they told apart from everybody
   * else's; the same id on another platform is another person. Absent: the owner of the home.
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
};

export type RecallOptions = CallOptions & { readonly session_id: string };

export type SyncOptions = RecallOptions & {
  /** The list at the end of the turn, tool calls and results included. Absent when the caller has none. */
  readonly messages?: readonly OpenAiMessage[];
};

export type TurnStartOptions = CallOptions & {
  readonly remaining_tokens?: number;
  readonly model?: string;
  readonly platform?: string;
  readonly tool_count?: number;
};

export type SessionSwitchOptions = CallOptions & {
  readonly parent_session_id: string;
  /** The old conversation is over for good (`/new`, `/reset`). */
  readonly reset: boolean;
  /** Present only when true: same id, transcript cut (`/undo`). */
  readonly rewound?: true;
  /** `new_session`, `resume`, `branch`, `compression`, ... */
  readonly reason?: string;
};

export type DelegationOptions = CallOptions & { readonly child_session_id: string };

export type ForgetOptions = CallOptions & {
  /** Only look: nothing is changed. */
  readonly dry_run?: boolean;
};

export type ForgetReport = {
  /** Facts, notes, documents: whatever this memory counts in. */
  readonly erased: number;
  /** What still holds the text, or may, and what to do about it: one or two sentences without the text itself. Absent: nothing. */
  readonly remaining?: string;
};

export type MemoryWriteReport = {
  /** False: this memory does not have the new text. */
  readonly stored: boolean;
  /** Why not: one or two sentences without the text itself. */
  readonly reason?: string;
};

/** Who wrote. Empty values are left out. */
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
  /** Of `replace` and `remove`: the whole entry as it was. */
  readonly old_text?: string;
};

/** One question of the setup wizard. Spelled as in `plugin.yaml` and the Python documentation. */
export type ConfigField = {
  readonly key: string;
  /** The question; the key when absent. */
  readonly description?: string;
  /** Asked for without echo, kept in `.env`, never handed to `saveConfig`. */
  readonly secret?: boolean;
  readonly required?: boolean;
  readonly default?: string;
  /** The default follows from an earlier answer. */
  readonly default_from?: { readonly field: string; readonly map: Readonly<Record<string, string>> };
  /** Not for secrets. */
  readonly choices?: readonly string[];
  /** Where to get the credential. */
  readonly url?: string;
  /** Name in `.env`. A secret without one gets `<PROVIDER>_<KEY>`; a plain field with one is written to `.env` too. */
  readonly env_var?: string;
  /** Asked only when every answer named here is the one given. */
  readonly when?: Readonly<Record<string, string>>;
};

export type PostSetupOptions = {
  /** Asks the person at the terminal; undefined where there is none. */
  readonly ask?: (
    question: string,
    options?: { readonly secret?: boolean; readonly default?: string },
  ) => Promise<string>;
  /** Tells the person something. */
  readonly print: (line: string) => void;
  /** Values given as `--set key=value`. */
  readonly values: Readonly<Record<string, string>>;
};

export type SelfTestReport = {
  /** In the order they ran: `write`, `recall`, `clean up`. */
  readonly steps: readonly { readonly name: string; readonly ms: number; readonly detail?: string }[];
};
