// The `session_search` tool in the agent's table.
import type { Clock, TextModel } from "@hermes-memory/core/lib";
import type { Message } from "@hermes-memory/core/message";
import {
  type Scope,
  type SessionSearchSettings,
  type SessionStore,
  sessionSearchPreview,
  sessionSearchSchema,
  sessionSearchTool,
} from "@hermes-memory/core/sessions";
import { jsonOutcome } from "./outcome.ts";
import type { AgentTool } from "./tool.ts";

export type SessionSearchAgentToolDeps = {
  /** Undefined when the database could not be opened; the tool then says why. */
  readonly store: () => SessionStore | undefined;
  readonly home: string;
  readonly settings: SessionSearchSettings;
  /** Whose sessions may be seen; empty for everybody's. */
  readonly scope: Scope;
  /** For summaries. */
  readonly summarizer?: TextModel | undefined;
  readonly clock?: Clock | undefined;
  /** Whether an answer is short enough; asked at each call, because the window can change. */
  readonly fits?: ((text: string) => boolean) | undefined;
};

export function sessionSearchAgentTool(deps: SessionSearchAgentToolDeps): AgentTool {
  const { home, settings, scope, summarizer, clock } = deps;
  return {
    schema: sessionSearchSchema({ summarize: settings.summarize !== "off" && summarizer !== undefined }),
    toolset: "session_search",
    isReadOnly: true,
    isHousekeeping: true,
    untrustedSource: "session_search", // what was said, and read, in other conversations
    preview: sessionSearchPreview,
    run: async (args, { sessionId, messages, signal }) =>
      jsonOutcome(
        await sessionSearchTool(deps.store(), args, {
          home,
          settings,
          ...scope,
          summarizer,
          clock,
          currentSessionId: sessionId,
          liveMessageIds: rowIds(messages),
          signal,
          fits: deps.fits,
        }),
      ),
  };
}

function rowIds(messages: readonly Message[]): readonly number[] {
  return messages.flatMap(({ meta }) => (meta.rowId === undefined ? [] : [meta.rowId]));
}
