// What a reader of another agent's transcripts must provide. A format is one file in formats/, its line in readers.ts and a fixture.

/**
 * How well the format is known. S: the producer's source code, D: its documentation, F: recorded files, P: independent parsers,
 * G: a guess.
 */
type Evidence = "S" | "D" | "F" | "P" | "G";

export type TranscriptReader = {
  /** The name after `--from`, and the start of the session ids. */
  readonly source: string;
  /** The product, as its users call it. */
  readonly title: string;
  readonly evidence: Evidence;
  /** Read only with `--experimental`, or when named after `--from`. */
  readonly isExperimental?: true;
  /** Holds the words of people other than the user: read only when the user says who they are and which chat they mean. */
  readonly isMessenger?: true;
  /** Raise it when the same file would give other rows: files read before are then read again. */
  readonly version: number;
  /** Folders and files where the product keeps its transcripts. They need not exist. Empty for exports that the user must name. */
  readonly roots: (place: Place) => readonly string[];
  /** The units below one root. `root` may also be any folder or file that the user named with `--path`. */
  readonly units: (root: string, walking: Walking) => AsyncIterable<Unit>;
  /** Whether a file with an unknown format is this reader's. */
  readonly recognises: (sample: Sample) => boolean;
  /** Streams what the unit holds. Throws only when the unit as a whole cannot be read. */
  readonly read: (unit: Unit, reading: Reading) => AsyncIterable<TranscriptEvent>;
};

/** The machine as the reader sees it; tests pass their own. */
export type Place = {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** Leave out the places of formats that are known less well, where a reader has more than one format. */
  readonly withoutExperimental?: boolean;
  readonly cwd: string;
};

export type Walking = {
  readonly signal: AbortSignal;
  /** A folder or file that exists but cannot be read. The walk goes on. */
  readonly unreadable: (path: string, reason: string) => void;
};

/** What is read in one go and has one row in the ledger: a file, a database, or a folder of files that belong together. */
export type Unit = {
  readonly path: string;
  /** Files whose size and time say whether the unit changed. Without it: `path` alone. Files that do not exist are fine. */
  readonly stamps?: readonly string[];
  /** Units are read in ascending order of this number, then of their path. Without it: the time of the last change. */
  readonly order?: number;
};

/** The beginning of a file, for recognising its format. */
export type Sample = {
  readonly path: string;
  /** At most 64 KiB. */
  readonly head: Uint8Array;
  /** The first line that is a JSON object, or the whole file where it is small and one JSON object or list. Empty if there is none. */
  readonly first: Readonly<Record<string, unknown>>;
};

export type ReadOptions = {
  /** Inactive branches are stored with `active = 0`; off: readers may leave them out. */
  readonly includeBranches: boolean;
  readonly includeReasoning: boolean;
  readonly includeSystem: boolean;
  /** Codex threads for which the user has turned memory off there. */
  readonly includeMemoryDisabled?: boolean | undefined;
  /** How much of tool calls and results is kept. The engine cuts; a reader needs to know only where results are hard to tell from prose. */
  readonly tools: "full" | "brief" | "none";
  /** For messengers: the user's own name or id, that of the bot to read as the assistant, and the only chat to read. */
  readonly me?: string | undefined;
  readonly assistant?: string | undefined;
  readonly chat?: string | undefined;
};

/** What a reader may ask and tell while it reads. */
export type Reading = {
  readonly signal: AbortSignal;
  readonly options: ReadOptions;
  /** Variables of the environment that move files of a product. */
  readonly env?: Place["env"];
  /** Bytes read so far, for the progress line. The functions of kit/ call it. */
  readonly advanced: (bytes: number) => void;
  /** A record that cannot be read. `line` counts from 1; for a database the number of the row or 0. */
  readonly malformed: (line: number, reason: string) => void;
  /** A record, role or block type that this reader does not know. */
  readonly unknown: (type: string) => void;
  /** A place that could not be read although other parts of the unit could. */
  readonly unreadable: (path: string, reason: string) => void;
  /** The file holds a tag with which the user keeps it out of every index, if only in a record that becomes no message. The functions of kit/ call it. */
  readonly optedOut?: () => void;
  /** True when this session was imported with the same mark before: the reader then need not read its messages. */
  readonly isUnchanged: (nativeId: string, mark: string) => boolean;
  /** The native id of an already imported session of this source, other than `except`, whose first message has this id. */
  readonly sessionBeginningWith: (messageId: string, except: string) => string | undefined;
  /** The message ids of an imported session of this source. */
  readonly messageIdsOf: (nativeId: string) => ReadonlySet<string> | Promise<ReadonlySet<string>>;
};

/**
 * A unit may hold several sessions. `session` begins one, or goes back to one that was begun before and adds facts to it; the messages
 * that follow belong to it. `end` closes a session early, which frees its memory; at the end of the unit all are closed.
 */
export type TranscriptEvent =
  | { readonly kind: "session"; readonly facts: SessionFacts }
  | { readonly kind: "message"; readonly message: TranscriptMessage }
  /** Ids of messages given before that are not on the active path of the current session. */
  | { readonly kind: "inactive"; readonly ids: readonly string[] }
  /**
   * The current session is left out, with messages that were imported from it before. The reason is a short phrase for the report, such as "opted out". `keepsStored`:
   * messages that were imported before stay.
   */
  | { readonly kind: "skip"; readonly reason: string; readonly keepsStored?: true }
  | { readonly kind: "end" };

/** Times are in seconds since 1970. Fields that are missing keep what an earlier `session` event said. */
export type SessionFacts = {
  readonly nativeId: string;
  /**
   * A full session id instead of `<source>-<native id>`, and the source of the session; only for Hermes' own files. `parent` and
   * `continues.session` are then full ids too.
   */
  readonly id?: string;
  readonly source?: string | undefined;
  readonly title?: string | undefined;
  readonly cwd?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  readonly cliVersion?: string | undefined;
  readonly gitBranch?: string | undefined;
  /** `subagent`: found only when asked for. `hidden`: machine-made sessions that are no subagents. */
  readonly visibility?: "shown" | "subagent" | "hidden" | undefined;
  /** The native id of the session that started this subagent. */
  readonly parent?: string | undefined;
  /** The session that this one goes on from, by native id or by the id of one of its messages. */
  readonly continues?:
    | {
        readonly how: "compaction" | "fork";
        readonly session?: string | undefined;
        readonly messageId?: string | undefined;
      }
    | undefined;
  /** Set where the format has no times for messages. */
  readonly hasSyntheticTimes?: true | undefined;
  /** The format keeps only a part of the conversation, such as the prompts without the answers. */
  readonly isPartial?: true | undefined;
  /** What tells an unchanged session in a database from a changed one, such as its time of change. */
  readonly mark?: string | undefined;
  /** Totals, where the format gives them for the session and not for each message. */
  readonly usage?: Usage | undefined;
};

export type Usage = {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly cacheReadTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
};

export type TranscriptMessage = {
  /** Without it: the ordinal in the session and a hash of role and text. */
  readonly id?: string | undefined;
  readonly role: "user" | "assistant" | "tool" | "system";
  /** Whole text, with `[image]` and `[file: name]` in the place of attachments. The engine cuts, redacts and strips. */
  readonly text: string;
  /** Seconds since 1970. Without it: a microsecond after the message before. */
  readonly at?: number | undefined;
  /** Where it begins in the unit, counted from 1. */
  readonly line?: number | undefined;
  /** The file, where the unit has several. */
  readonly path?: string | undefined;
  readonly toolCalls?: readonly ToolCall[] | undefined;
  readonly toolCallId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly reasoning?: string | undefined;
  readonly finishReason?: string | undefined;
  readonly model?: string | undefined;
  /** Of this message alone; the engine adds them up. */
  readonly usage?: Usage | undefined;
  /** False for a branch that was left; true if missing. */
  readonly isActive?: boolean | undefined;
};

export type ToolCall = {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
};
