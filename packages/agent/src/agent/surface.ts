// The agent as entrances and slash commands see it. `Agent` implements it.
import type {
  CompressCommand,
  CompressFeedback,
  ConfirmDigest,
  EngineCommand,
} from "@hermes-memory/core/context";
import type { CommittedWrite, MemoryStore } from "@hermes-memory/core/curated";
import type { Result } from "@hermes-memory/core/lib";
import type { MemoryUser, Person } from "@hermes-memory/core/memory";
import type { Message } from "@hermes-memory/core/message";
import type { SessionStore } from "@hermes-memory/core/sessions";
import type { SkillStore } from "@hermes-memory/core/skills";
import type { CacheSavings, ContextWindow, ModelIdentity, ModelSelection, Usage } from "../models/index.ts";
import type { EventListener } from "./events.ts";
import type { TurnResult } from "./result.ts";

/** Text, or parts: as chat APIs have them (`{ type: "text", text }`, `{ type: "image_url", image_url }`), or as `content` of a `Message`. */
export type UserInput = string | readonly Readonly<Record<string, unknown>>[];

export type RunOptions = {
  /** Aborting it interrupts the turn. */
  readonly signal?: AbortSignal;
  /** Beside the agent's own listener, for this turn. */
  readonly onEvent?: EventListener;
  /** Stored, synced and searched in place of the input, when a platform adds things for the model alone. */
  readonly persistUserMessage?: UserInput;
  /** Seconds. */
  readonly persistUserTimestamp?: number;
  readonly taskId?: string;
};

/** Why something about sessions could not be done. `message` says what happened and what to do. */
export type SessionProblem = {
  readonly kind: "not_found" | "ambiguous" | "same_session" | "busy" | "nothing" | "no_database" | "refused";
  readonly message: string;
};

export type SessionChange = {
  readonly from: string;
  readonly to: string;
  readonly title: string | null;
  readonly messages: number;
};

export type UndoReport = {
  readonly turns: number;
  readonly messages: number;
  /** What the user had typed, for editing and sending again. */
  readonly text: string;
};

export type CompressReport = {
  readonly kind: "compacted" | "pruned" | "unchanged" | "aborted" | "busy" | "failed";
  readonly feedback: CompressFeedback;
  readonly notices: readonly string[];
  readonly sessionId: string;
};

export type CompressChoices = {
  /** Asked before messages that no model could summarise become a digest made without one. Absent: that happens, with a notice. */
  readonly confirmDigest?: ConfirmDigest;
  /** The caller shows the notices of the report, so no events repeat them. */
  readonly showsNotices?: boolean;
};

/** Snake case: `--json` prints it. */
export type AgentStatus = {
  readonly session_id: string;
  readonly title: string | null;
  readonly model: string;
  readonly provider: string;
  readonly turns: number;
  readonly messages: number;
  readonly context: {
    readonly used_tokens: number;
    readonly limit_tokens: number;
    readonly percent: number;
    readonly threshold_tokens: number;
    readonly engine: string;
    readonly compactions: number;
  };
  /** Null: switched off. */
  readonly memory: {
    readonly memory: { readonly used: number; readonly limit: number } | null;
    readonly user: { readonly used: number; readonly limit: number } | null;
    /** The external provider's name, or null. */
    readonly provider: string | null;
  };
  readonly usage: Usage;
  readonly api_calls: number;
  readonly cost_usd: number | null;
  readonly caching: { readonly enabled: boolean; readonly ttl: "5m" | "1h" };
  /** Null before the first call, or when nobody knows the prices. */
  readonly savings: CacheSavings | null;
};

export interface AgentSurface {
  readonly home: string;
  readonly platform: string;
  readonly sessionId: string;
  readonly model: ModelIdentity;
  readonly window: ContextWindow;
  /** Undefined when it could not be opened; the agent then works without it. */
  readonly store: SessionStore | undefined;
  /** For whom the agent works, in its opened home. */
  readonly person: Person;
  /** Whose memory and sessions these are; undefined for the owner of the home, who sees every session. */
  readonly user: MemoryUser | undefined;
  /** The id of `user`. */
  readonly userId: string | undefined;
  /** Curated memory; undefined when it is switched off or could not be opened. */
  readonly memory: MemoryStore | undefined;
  readonly skills: SkillStore;
  /** As it is sent; undefined until the first turn has built or restored it. */
  readonly systemPrompt: string | undefined;
  /** Slash commands of the context engine's plugin. */
  readonly engineCommands: readonly EngineCommand[];
  /** The live list. */
  readonly messages: readonly Message[];
  readonly isRunning: boolean;
  /** What starting up had to work around; for the user. */
  readonly warnings: readonly string[];

  /** One turn. What models, tools, providers and the database do ends up in the result; it rejects only for mistakes of the caller. */
  run(input: UserInput, options?: RunOptions): Promise<TurnResult>;
  /** Stops the running turn or compaction; harmless without one. */
  interrupt(message?: string): void;
  /** Typed while a turn runs: becomes a user message of its own after the tools that run now. False: no turn takes it any more. */
  steer(text: string): boolean;

  status(): Promise<AgentStatus>;
  title(): Promise<string | null>;
  /** Null clears it. Kept until the session is stored when it is not yet. */
  setTitle(title: string | null): Promise<Result<string | null, SessionProblem>>;

  newSession(options?: { readonly title?: string }): Promise<Result<SessionChange, SessionProblem>>;
  /** An id, a unique beginning of one, or a title. */
  resume(target: string): Promise<Result<SessionChange, SessionProblem>>;
  branch(options?: { readonly title?: string }): Promise<Result<SessionChange, SessionProblem>>;
  undo(turns?: number): Promise<Result<UndoReport, SessionProblem>>;
  compress(command?: CompressCommand, choices?: CompressChoices): Promise<CompressReport>;
  switchModel(selection: ModelSelection): Promise<Result<ModelIdentity, SessionProblem>>;
  /** A write to `memory` that a command committed: mirrored to the providers like one of the tool's. `origin`: of a staged record. */
  noteMemoryWrite(write: CommittedWrite, origin?: string): void;

  /** Ends the session (reason `cli_close`), tells the providers, closes what was opened. Harmless when done twice. */
  close(options?: { readonly deleteSession?: boolean }): Promise<void>;
}
