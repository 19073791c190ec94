// What an agent is made from. Only `home` is needed: everything else comes from its config.yaml and .env.
import type { HermesConfig } from "@hermes-memory/core/config";
import type { ApprovalCallback } from "@hermes-memory/core/curated";
import type { Clock } from "@hermes-memory/core/lib";
import type { Logger } from "@hermes-memory/core/lib/logger";
import type { MemoryUser } from "@hermes-memory/core/memory";
import type { Message, OpenAiMessage } from "@hermes-memory/core/message";
import type { SessionStore } from "@hermes-memory/core/sessions";
import type { ChatModel, ModelSelection } from "../models/index.ts";
import type { EventListener } from "./events.ts";
import type { TurnResult } from "./result.ts";
import type { PreToolCall } from "./tools/run-calls.ts";

export type AgentOptions = {
  /** `$HERMES_HOME`; made when it is not there. */
  readonly home: string;
  /** Default: `<home>/config.yaml`. */
  readonly config?: HermesConfig;
  /** A model object: of the AI SDK (`openai("gpt-5")`), or of this package. Default: as `selection`, environment and config say. */
  readonly model?: ChatModel | object;
  /** Which model, where that is not as config says. */
  readonly selection?: ModelSelection;
  /** Beside the agent's own. Made with the AI SDK's `tool()`. */
  readonly tools?: Readonly<Record<string, unknown>>;
  /** Of `tools`: those that change nothing, so that their calls may run at the same time. */
  readonly readOnlyTools?: readonly string[];
  /** Null or absent: all. */
  readonly toolsets?: readonly string[] | null;
  /**
   * An open store; it is then the caller's to close. One that is bound to a user makes the agent that user's. Null: none. Default:
   * `<home>/state.db`.
   */
  readonly store?: SessionStore | null;
  /** Go on with this session: its id, a beginning of it, or its title. */
  readonly resume?: string;
  /** Go on with the newest session of this platform, or begin one. */
  readonly continueLast?: boolean;
  /** The id of a new session. */
  readonly sessionId?: string;
  /** `cli`, `telegram`, `subagent`, ... Default: that of `user`, then of the store's user, then `HERMES_SESSION_SOURCE`, then `cli`. */
  readonly platform?: string;
  /** The prompt's hint about a platform it does not know. */
  readonly platformHint?: string;
  /**
   * One user of several, by the id they have on `platform`. Binds everything of theirs together: memory files, staged writes,
   * sessions, search, titles and the provider's identity. Neither this nor `user`: the owner of the home. `undefined` is an error.
   */
  readonly userId?: string;
  readonly userName?: string;
  /** The same as `userId`, with the platform the id belongs to; `platform` is that one then unless it is given. */
  readonly user?: MemoryUser;
  /** Where context files are looked for. Default: the process's directory. */
  readonly cwd?: string;
  /** The caller's own instructions, part of the stored prompt. */
  readonly systemMessage?: string;
  /** Instructions for requests alone: neither cached nor stored. */
  readonly ephemeralSystemPrompt?: string;
  /** Messages between the system prompt and the conversation, in requests alone: examples, for instance. */
  readonly prefillMessages?: readonly (Message | OpenAiMessage)[];
  readonly skipContextFiles?: boolean;
  /** No curated memory and no provider: for helpers and batch runs. */
  readonly skipMemory?: boolean;
  readonly passSessionId?: boolean;
  /** Model calls of one turn. Default: `agent.max_turns`. */
  readonly maxTurns?: number;
  /** A conversation to begin with, where there is no session to resume. It is stored with the first turn. */
  readonly history?: readonly (Message | OpenAiMessage)[];
  readonly hooks?: AgentHooks;
  readonly onEvent?: EventListener;
  /** Asks about memory writes, where `memory.write_approval` is on. Without it they are staged. */
  readonly approve?: ApprovalCallback;
  readonly log?: Logger;
  readonly clock?: Clock;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Waits before a model is asked again; rejects when the signal is aborted. Default: with a timer. */
  readonly waitForRetry?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Another agent made this one for a piece of its work. Its session must be in the store, where there is one. */
  readonly delegatedBy?: {
    readonly sessionId: string;
    /** 1 for the child of the agent the user talks to. */
    readonly depth: number;
    /** Names of the tools that agent has: of those it shares, this one gets no others. Absent: any. */
    readonly tools?: readonly string[];
  };
  /** Whether memory and skills are looked after in the background. Default: yes, unless memory is skipped. */
  readonly review?: boolean;
  /** Whether a title is asked of the model after the first exchange. Default true. */
  readonly titles?: boolean;
};

/**
 * Callbacks of the program that embeds the agent. A hook that fails is logged and the turn goes on; `preToolCall` is the exception:
 * when it fails, the tool does not run.
 */
export type AgentHooks = {
  /** Once per turn, before the first model call. A text is added to the user's message of the requests, and nowhere else. */
  readonly preModelCall?: (turn: {
    readonly sessionId: string;
    readonly turn: number;
    readonly userText: string;
  }) => string | undefined | Promise<string | undefined>;
  readonly preToolCall?: PreToolCall;
  /** Changes what the caller gets, after the reply was stored. Not called for interrupted or failed turns. */
  readonly transformOutput?: (text: string) => string | Promise<string>;
  /** After every turn, however it ended. */
  readonly turnEnd?: (result: TurnResult) => void | Promise<void>;
  /** A session began, or goes on with a prompt that was built anew. */
  readonly sessionStart?: (sessionId: string) => void | Promise<void>;
  /** Enough has been said since memory or skills were last looked after. Given, it takes the place of the background review. */
  readonly reviewDue?: (due: {
    readonly sessionId: string;
    readonly memory: boolean;
    readonly skills: boolean;
  }) => void;
};
