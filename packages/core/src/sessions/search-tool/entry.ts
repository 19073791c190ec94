// The `session_search` tool as an entry: one line for a person, what runs, the rules it runs under.
import { preview, systemClock } from "../../lib/index.ts";
import type { Message } from "../../message/index.ts";
import { described, jsonOutcome, onOneLine, type Tool, type UseStore } from "../../tools/index.ts";
import type { SessionStore } from "../store.ts";
import { collapseWhitespace } from "../titles.ts";
import { parseCall } from "./arguments.ts";
import type { SearchRequest } from "./port.ts";
import { sessionSearchSchema } from "./schema.ts";
import { type SessionSearchContext, sessionSearchTool } from "./tool.ts";

export type OpenedSessions = {
  /** Undefined when the database could not be opened; the tool then says why. */
  readonly store: SessionStore | undefined;
  readonly context: Omit<SessionSearchContext, "currentSessionId" | "liveMessageIds" | "signal">;
};

/** `summarize`: summaries are on in config, and there is a model for them. */
export function sessionSearchEntry(
  { summarize }: { readonly summarize: boolean },
  use: UseStore<OpenedSessions>,
): Tool {
  return {
    ...described(sessionSearchSchema({ summarize })),
    owner: { kind: "own" },
    policy: {
      toolset: "session_search",
      effect: "read",
      isHousekeeping: true,
      untrustedSource: "session_search", // what was said, and read, in other conversations
    },
    preview: sessionSearchPreview,
    run: (args, call) =>
      use(
        async ({ store, context }) =>
          jsonOutcome(
            await sessionSearchTool(store, args, {
              ...context,
              currentSessionId: call.sessionId,
              liveMessageIds: rowIds(call.messages),
              signal: call.signal,
            }),
          ),
        call,
      ),
  };
}

function rowIds(messages: readonly Message[]): readonly number[] {
  return messages.flatMap(({ meta }) => (meta.rowId === undefined ? [] : [meta.rowId]));
}

/** For a transcript or a spinner: `search past sessions: "kiln glaze"`. */
export function sessionSearchPreview(args: unknown): string {
  const call = parseCall(args, systemClock.now());
  if (!call.ok) return "search past sessions";
  const { profile, request } = call.value;
  return profile === undefined ? lineFor(request) : `${lineFor(request)} (profile ${short(profile)})`;
}

function lineFor(request: SearchRequest): string {
  switch (request.mode) {
    case "scroll":
      return `scroll session ${short(request.sessionId.bare)} around message ${request.anchor ?? "?"}`;
    case "read":
      return `read session ${short(request.sessionId.bare)}`;
    case "browse":
      return "list recent sessions";
    case "discover":
      return `search past sessions: "${short(request.query)}"`;
    default:
      return request satisfies never;
  }
}

function short(text: string): string {
  return preview(onOneLine(collapseWhitespace(text, 61)), 60);
}
