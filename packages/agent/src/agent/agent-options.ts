// The options of `createAgent`. Only `home` is needed: the defaults come from its config.yaml and .env.
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import type { ApprovalCallback } from "@hermes-memory/core/internal/curated";
import type { Clock } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { MemoryUser } from "@hermes-memory/core/internal/memory";
import type { Message, OpenAiMessage } from "@hermes-memory/core/internal/message";
import type { SessionStore } from "@hermes-memory/core/internal/sessions";
import type { ChatModel, ModelSelection } from "../models/index.ts";
import type { EventListener } from "./events.ts";
import type { PreToolCall } from "./tools/run-calls.ts";
import type { TurnResult } from "./turn-result.ts";

/** The options of `createAgent`. */
export type AgentOptions = {
  /** `$HERMES_HOME`. Created when it does not exist. */
  readonly home: string;
  /** Default: `<home>/config.yaml`. */
  readonly config?: HermesConfig;
  /** A model object: of the AI SDK (`openai("gpt-5")`), or of this package. Default: chosen by `selection`, environment and config. */
  readonly model?: ChatModel | object;
  /** Overrides the model that config chooses. */
  readonly selection?: ModelSelection;
  /** More tools, made with the AI SDK's `tool()`. */
  readonly tools?: Readonly<Record<string, unknown>>;
  /** Names of those in `tools` that change nothing, so that their calls may run at the same time. */
  readonly readOnlyTools?: readonly string[];
  /** The toolsets to offer. Null or absent: all. */
  readonly toolsets?: readonly string[] | null;
  /**
   * An open store; it is then the caller's to close. One that is bound to a user makes the agent that user's. Null: none. Default:
   * `<home>/state.db`.
   */
  readonly store?: SessionStore | null;
  /** Resume this session: its id, a unique beginning of it, or its title. */
  readonly resume?: string;
  /** Resume the newest session of this platform, or begin one. */
  readonly continueLast?: boolean;
  /** The id of a new session. */
  readonly sessionId?: string;
  /** `cli`, `telegram`, `subagent`, ... Default: that of `user`, then of the store's user, then `HERMES_SESSION_SOURCE`, then `cli`. */
  readonly platform?: string;
  /** A hint in the prompt about a platform that the agent does not know. */
  readonly platformHint?: string;
  /**
   * One user of several, by the id they have on `platform`. Binds everything of theirs together: memory files, staged writes,
   * sessions, search, titles and the provider's identity. Neither this nor `user`: the owner of the home. `undefined` is an error.
   */
  readonly userId?: string;
  readonly userName?: string;
  /** The same as `userId`, with the platform of the id, which is also the default of `platform`. */
  readonly user?: MemoryUser;
  /** Searched for context files. Default: the process's directory. */
  readonly cwd?: string;
  /** The caller's own instructions, part of the stored prompt. */
  readonly systemMessage?: string;
  /** Instructions added to requests only: neither cached nor stored. */
  readonly ephemeralSystemPrompt?: string;
  /** Messages between the system prompt and the conversation, in requests only; for instance examples. */
  readonly prefillMessages?: readonly (Message | OpenAiMessage)[];
  readonly skipContextFiles?: boolean;
  /** No curated memory and no provider: for subagents and batch runs. */
  readonly skipMemory?: boolean;
  readonly passSessionId?: boolean;
  /** Model calls of one turn. Default: `agent.max_turns`. */
  readonly maxTurns?: number;
  /** A conversation to begin with, where there is no session to resume. It is stored with the first turn. */
  readonly history?: readonly (Message | OpenAiMessage)[];
  readonly hooks?: AgentHooks;
  readonly onEvent?: EventListener;
  /** Asks the user about memory writes, where `memory.write_approval` is on. Without it they become pending writes. */
  readonly approve?: ApprovalCallback;
  readonly log?: Logger;
  readonly clock?: Clock;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Waits before a retry; rejects when the signal is aborted. Default: with a timer. */
  readonly waitForRetry?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** The agent that delegated a task to this one. Its session must be in the store, where there is one. */
  readonly delegatedBy?: {
    readonly sessionId: string;
    /** 1 for the child of the agent the user talks to. */
    readonly depth: number;
    /** Names of the tools of that agent: this one gets no others of those they share. Absent: any. */
    readonly tools?: readonly string[];
  };
  /** Background reviews of memory and skills. Default: true, unless `skipMemory`. */
  readonly review?: boolean;
  /** Ask the model for a title after the first exchange. Default: true. */
  readonly titles?: boolean;
};

/**
 * Callbacks of the program that embeds the agent. A hook that fails is logged and the turn goes on; `preToolCall` is the exception:
 * when it fails, the tool does not run.
 */
export type AgentHooks = {
  /** Once per turn, before the first model call. The text is added to the user's message in requests, and stored nowhere. */
  readonly preModelCall?: (turn: {
    readonly sessionId: string;
    readonly turn: number;
    readonly userText: string;
  }) => string | undefined | Promise<string | undefined>;
  readonly preToolCall?: PreToolCall;
  /** Changes the text that the caller gets, after the reply was stored. Not called for interrupted or failed turns. */
  readonly transformOutput?: (text: string) => string | Promise<string>;
  /** After every turn, however it ended. */
  readonly turnEnd?: (result: TurnResult) => void | Promise<void>;
  /** A session began, or was resumed with a newly built prompt. */
  readonly sessionStart?: (sessionId: string) => void | Promise<void>;
  /** A review of memory or skills is due. With this hook there are no background reviews. */
  readonly reviewDue?: (due: {
    readonly sessionId: string;
    readonly memory: boolean;
    readonly skills: boolean;
  }) => void;
};
