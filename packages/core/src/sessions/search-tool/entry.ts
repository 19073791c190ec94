// The `session_search` tool as an entry of the tool table: schema, one-line preview, policy and `run`.
import { preview } from "../../lib/index.ts";
import type { Message } from "../../message/index.ts";
import {
  described,
  type JsonSchema,
  jsonOutcome,
  onOneLine,
  type Tool,
  type ToolDefinition,
  type UseStore,
} from "../../tools/index.ts";
import type { SessionStore } from "../store.ts";
import { collapseWhitespace } from "../titles.ts";
import { WEAK_ANSWER } from "./answer-parts.ts";
import { DEFAULT_RESULTS, MAX_RESULTS, parseCall, type SearchRequest } from "./request.ts";

import { type SessionSearchContext, sessionSearchTool } from "./tool.ts";

type OpenedSessions = {
  /** Undefined when the database could not be opened. The tool then reports why. */
  readonly store: SessionStore | undefined;
  readonly context: Omit<SessionSearchContext, "currentSessionId" | "liveMessageIds" | "signal">;
};

/** `summarize`: true when summaries are enabled in config and a model is configured for them. */
export function sessionSearchEntry(
  { summarize }: { readonly summarize: boolean },
  use: UseStore<OpenedSessions>,
): Tool {
  return {
    ...described(sessionSearchSchema({ summarize })),
    answer: SEARCH_ANSWER,
    owner: { kind: "own" },
    policy: {
      toolset: "session_search",
      effect: "read",
      isHousekeeping: true,
      untrustedSource: "session_search", // it returns text from other conversations
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

/** A line for a transcript or a spinner: `search past sessions: "kiln glaze"`. */
export function sessionSearchPreview(args: unknown): string {
  try {
    const { profile, request } = parseCall(args);
    return profile === undefined ? lineFor(request) : `${lineFor(request)} (profile ${short(profile)})`;
  } catch {
    return "search past sessions"; // the call will be refused
  }
}

function lineFor(request: SearchRequest): string {
  switch (request.mode) {
    case "scroll":
      return `scroll session ${short(request.sessionId)} around message ${request.anchor ?? "?"}`;
    case "read":
      return `read session ${short(request.sessionId)}`;
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

/** One schema for the four shapes; `mode` tells which one it is. */
const SEARCH_ANSWER: JsonSchema = {
  type: "object",
  properties: {
    success: { type: "boolean" },
    mode: { type: "string", enum: ["discover", "scroll", "read", "browse"] },
    query: { type: "string" },
    results: {
      type: "array",
      items: { type: "object" },
      description: "DISCOVERY, BROWSE: one per conversation.",
    },
    count: { type: "integer" },
    stage: { type: "string", description: "DISCOVERY: how the hits were found." },
    confidence: { type: "number" },
    not_searched: { description: "What the search could not cover." },
    session_id: { type: "string" },
    messages: { type: "array", items: { type: "object" }, description: "SCROLL, READ." },
    message_count: { type: "integer" },
    truncated: { type: "boolean" },
    messages_before: { type: "integer" },
    messages_after: { type: "integer" },
    message: {
      type: "string",
      description: "For the model: why it is empty, what was left out, how to go on.",
    },
  },
  required: ["success"],
};

// ---- The schema ----
// A plain object schema, because strict model backends refuse other constructs.

type SessionSearchSchemaOptions = {
  /** True when config `session_search.summarize` is not `off` and a model for it exists. */
  readonly summarize?: boolean;
};

/** The definition of the tool `session_search`, with or without its `summarize` argument. */
export function sessionSearchSchema({ summarize = false }: SessionSearchSchemaOptions = {}): ToolDefinition {
  return {
    name: "session_search",
    description: [...DESCRIPTION, "", summarize ? WITH_SUMMARIES : WITHOUT_SUMMARIES].join("\n"),
    parameters: {
      type: "object",
      properties: summarize ? { ...PROPERTIES, summarize: SUMMARIZE } : PROPERTIES,
      required: [],
    },
  };
}

const DESCRIPTION = [
  "Search and read past conversations: everything said in earlier sessions is stored, word for word.",
  "",
  "Use it, unasked, before you ask the user to repeat something: when they refer to earlier work ('as we did last time', 'that bug', 'where were we?'), name a person, project or decision you do not know, or an earlier solution would help.",
  "",
  "Four shapes, chosen by the arguments you pass:",
  "1. DISCOVERY: query. Finds the best message of each conversation: session_id, title, snippet (matches between >>> and <<<), match_message_id, messages (up to 5 on each side; the match has anchor: true), bookend_start and bookend_end (how the session began and ended), link. Only the first result is whole; compact ones show the match alone. folded: true is the output of an earlier session_search: read the conversation around it. stage: exact, strict (all words) or widened.",
  "2. SCROLL: session_id and around_message_id. Shows the messages around one, all roles. To scroll FORWARD pass the last id you see, to scroll BACKWARD the first; that message comes again. Fewer than window in messages_before or messages_after: the session begins or ends there.",
  "3. READ: session_id alone. Shows the session from its beginning; of a long one the first 20 and the last 10 messages.",
  "4. BROWSE: no query and no session_id. Lists recent sessions.",
  "",
  'Query syntax: plain words or a question are enough (all words first, then some of them and other forms). For exact control: OR between words, "quoted phrase", NOT to exclude, AND, and a prefix with * (deploy*).',
  `confidence (0 to 1): how well a plain question is answered. When message is '${WEAK_ANSWER}', do not present the results as the answer. not_searched: what the search could not cover.`,
  "A link of the form @session:<profile>/<id> is read by passing session_id='<profile>/<id>'.",
  "The current conversation is left out; scope='lineage' searches the parts of it that were compacted away.",
  "Long messages are cut and then carry content_truncated: true; SCROLL shows more of them.",
];

const WITHOUT_SUMMARIES = "No LLM is involved: what you get are the stored messages themselves.";
const WITH_SUMMARIES =
  "DISCOVERY and the other shapes give the stored messages themselves. With summarize: true a query gives a recap of each matching conversation instead, written by a model, with message ids as [#id]: scroll there for the exact words.";

const PROPERTIES = {
  query: { type: "string", description: "DISCOVERY: what to look for. Leave it out to browse or read." },
  limit: {
    type: "integer",
    description: `How many sessions, 1 to ${MAX_RESULTS}. Default ${DEFAULT_RESULTS}.`,
  },
  sort: {
    type: "string",
    enum: ["newest", "oldest"],
    description: "DISCOVERY: order by time instead of by relevance.",
  },
  detail: {
    type: "string",
    enum: ["adaptive", "full"],
    description:
      "DISCOVERY: adaptive (default) shows up to three results whole, of more only the first; full shows all of them whole.",
  },
  session_id: { type: "string", description: "SCROLL and READ: the session, also as <profile>/<id>." },
  around_message_id: { type: "integer", description: "SCROLL: the message to look around." },
  window: { type: "integer", description: "SCROLL: messages on each side, 1 to 20. Default 5." },
  role_filter: {
    type: "string",
    description:
      "DISCOVERY: comma-separated roles to search. Default user,assistant, then every role when that finds nothing.",
  },
  scope: {
    type: "string",
    enum: ["others", "lineage", "all"],
    description:
      "others (default): everything but the current conversation. lineage: only the current conversation, without what you still have before you. all: both.",
  },
  after: {
    type: "string",
    description: "Only from this moment on: a date, a date with time, or an age such as 12h, 7d, 3mo.",
  },
  before: { type: "string", description: "Only before this moment; written like after." },
  source: {
    type: "string",
    description:
      "Only these sources, comma-separated: cli, telegram, cron, ... kanban, subagent and tool are hidden unless named.",
  },
  profile: { type: "string", description: "Look in the database of another profile (read-only)." },
} as const;

const SUMMARIZE = {
  type: "boolean",
  description: "DISCOVERY: give a written recap of each matching session instead of its messages.",
} as const;

/** The schema without summaries, which is the default. */
export const sessionSearchToolSchema: ToolDefinition = sessionSearchSchema();
