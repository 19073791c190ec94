// What a program that embeds the agent may listen to and change. A hook that fails costs a line in the log, never the turn
// (`preToolCall` is the exception: a check that fails has allowed nothing).

import type { TurnResult } from "./result.ts";
import type { PreToolCall } from "./tools/run-calls.ts";

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
