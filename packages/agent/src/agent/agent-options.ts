// The options of `createAgent`. Only `memory` or `home` is needed: model and settings come from its config.yaml and .env.
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import type { ContextEngine } from "@hermes-memory/core/internal/context";
import type { ApprovalCallback } from "@hermes-memory/core/internal/curated";
import type { Clock } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { GivenMessage, UserMemory } from "@hermes-memory/core/internal/memory";
import type { MemoryProvider } from "@hermes-memory/core/internal/providers";
import type { HomeStore, SessionStore } from "@hermes-memory/core/internal/sessions";
import type { ChatModel, ModelSelection } from "../models/index.ts";
import type { EventListener } from "./events.ts";
import type { PreToolCall } from "./tools/run-calls.ts";
import type { TurnResult } from "./turn-result.ts";

/**
 * Whose memory, which model, which tools. Used as a library, an agent has the tools `memory`, `session_search` and `read_result`, those
 * of the provider, the context engine and the MCP servers in config.yaml, and the caller's own; it reads no files of the working
 * directory and makes no model call that the turn does not need. `hermes chat` switches the rest on: `administrator`, `contextFiles`,
 * `titles`, `review` and `toolsets: null`. An unknown option is refused (`bad-option`).
 */
export type AgentOptions = {
  /**
   * The person the agent works for: `memory.owner` or `memory.user(...)` of `openMemory`. The caller closes the memory, which closes its
   * agents first. Pass either this or `home`.
   */
  readonly memory?: UserMemory;
  /** `$HERMES_HOME`: opened and closed by the agent, and created when it does not exist. Without `user`: the owner of the home. */
  readonly home?: string;
  /**
   * With `home`: one user of several. Binds everything of theirs together: memory files, staged writes, sessions, search, titles and
   * the provider's identity. `user: undefined` is an error: a program that lost its user must not get the owner's memory.
   */
  readonly user?: { readonly platform: string; readonly id: string | number | bigint };
  /** With `home`: the owner's memory files, and the sessions of all users. For whoever runs the home, such as `hermes chat`. */
  readonly administrator?: boolean;
  /**
   * The conversation, as in `memory.context(chatId)` and `memory.remember(chatId, ...)`: continued where it stands, or begun. Instead
   * of `sessionId`, `resume` and `continueLast`.
   */
  readonly chatId?: string;
  /** What `loadConfig` returned. Default: `<home>/config.yaml`. With `memory`, curated memory and skills follow the config that it was opened with. */
  readonly config?: HermesConfig;
  /** A model object: of the AI SDK (`openai("gpt-5")`), or of this package. Default: chosen by `selection`, environment and config. */
  readonly model?: ChatModel | object;
  /**
   * Tokens that the model takes, instead of `model.context_length` in config and what its server and our tables say. For a model they
   * do not know, 256,000 are assumed with a line in `agent.warnings`. Not for a model that `switchModel` chooses later.
   */
  readonly contextLength?: number;
  /** Overrides the model that config chooses. */
  readonly selection?: ModelSelection;
  /** Who the agent is, at the beginning of the prompt. Replaces SOUL.md or "You are Hermes ...", and what the prompt says about Hermes. */
  readonly identity?: string;
  /** The caller's instructions, part of the stored prompt. */
  readonly instructions?: string;
  /** More tools, made with the AI SDK's `tool()`. */
  readonly tools?: Readonly<Record<string, unknown>>;
  /** Names of those in `tools` that change nothing, so that their calls may run at the same time. */
  readonly readOnlyTools?: readonly string[];
  /**
   * The toolsets to offer. Absent: all except `skills`, `todo` and `delegation`. Null: all. `[]`: none. `tools` are always offered.
   */
  readonly toolsets?: readonly string[] | null;
  /** External memory: an object for this agent alone, instead of the provider that config selects. False: none. */
  readonly provider?: MemoryProvider | false;
  /**
   * Keeps the conversation within the window: an object for this agent alone, instead of the engine that config selects. It works on
   * `Message`, or with `contract: 1` on chat rows. Its exceptions cannot break a turn.
   */
  readonly contextEngine?: ContextEngine;
  /**
   * An open store; it is then the caller's to close. Bound to the person the agent works for; one that is bound to another person is
   * refused (`user-mismatch`). Null: nothing is stored. Default: `<home>/state.db`.
   */
  readonly store?: HomeStore | SessionStore | null;
  /** Resume this session: its id, a unique beginning of it, or its title. */
  readonly resume?: string;
  /** Resume the newest session of this platform, or begin one. */
  readonly continueLast?: boolean;
  /** The id of the session. One that exists is continued. */
  readonly sessionId?: string;
  /**
   * Where the conversation takes place, stored as the source of its sessions: `telegram`, `webui`, `subagent`, ... Default: the user's
   * platform; for the owner `HERMES_SESSION_SOURCE`, then `library`; for the administrator then `cli`.
   */
  readonly platform?: string;
  /** A hint in the prompt about a platform that the agent does not know. */
  readonly platformHint?: string;
  /** Told to the memory provider. */
  readonly chat?: ChatIdentity;
  /** AGENTS.md and the other context files of `cwd` become part of the prompt. Default: false. */
  readonly contextFiles?: boolean;
  /** With `contextFiles`: where they are searched. Default: the process's directory. */
  readonly cwd?: string;
  /** Instructions added to requests only: neither cached nor stored. */
  readonly ephemeralSystemPrompt?: string;
  /** Messages between the system prompt and the conversation, in requests only; for instance examples. */
  readonly prefillMessages?: readonly GivenMessage[];
  /** No curated memory and no provider: for subagents and batch runs. */
  readonly skipMemory?: boolean;
  readonly passSessionId?: boolean;
  /** Model calls of one turn. Default: `agent.max_turns`. */
  readonly maxTurns?: number;
  /**
   * A conversation to begin with, where there is no session to resume. It is stored with the first turn. Messages of this package, rows
   * of OpenAI's chat API, or `ModelMessage`s of the AI SDK 5, 6 and 7.
   */
  readonly history?: readonly GivenMessage[];
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
  /** Background reviews of memory and skills, which spend model calls of their own. Default: false. */
  readonly review?: boolean;
  /** Ask the model for a title after the first exchange. Default: false. */
  readonly titles?: boolean;
};

/** The chat a gateway answers in, for memory providers that keep something per chat, thread or gateway session. */
export type ChatIdentity = {
  /** Default: `chatId`. */
  readonly id?: string;
  readonly name?: string;
  /** `dm`, `group`, `channel`, ... */
  readonly type?: string;
  readonly threadId?: string;
  readonly gatewaySessionKey?: string;
  readonly userName?: string;
  /** Another id of the user, such as a phone number. */
  readonly userIdAlt?: string;
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
