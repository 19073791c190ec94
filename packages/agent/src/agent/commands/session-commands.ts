// The slash commands about whole sessions: /new, /clear, /branch, /title, /resume, /sessions and /search.
import {
  answerJson,
  type EmptyReason,
  HIDDEN_SOURCES,
  INTERNAL_SOURCES,
  type ListedSession,
  type NamedHit,
  remarksOn,
  type SessionStore,
  sessionDatabaseUnavailable,
  shortSnippet,
  weakRemark,
  withTitles,
} from "@hermes-memory/core/internal/sessions";
import type { AgentSurface } from "../agent.ts";
import type { SessionChange } from "../surface.ts";
import {
  askFirst,
  type CommandCall,
  type CommandReply,
  counted,
  failed,
  hasToWait,
  localMinute,
  type MaybeReply,
  parseCount,
  problemReply,
  type SlashCommand,
  short,
  told,
  withoutOuter,
  withoutQuotes,
} from "./command.ts";

// /new, /clear, /branch, /title

const newCommand: SlashCommand = {
  name: "new",
  aliases: ["reset"],
  group: "session",
  summary: "leave this conversation as it is and start another one",
  usage: "[title] [now]",
  needsIdle: "always",
  run: (call) => startAnew(call, "new"),
};

const clearCommand: SlashCommand = {
  name: "clear",
  group: "session",
  summary: "start another conversation on an empty screen",
  usage: "[now]",
  needsIdle: "always",
  run: (call) => startAnew(call, "clear"),
};

const branchCommand: SlashCommand = {
  name: "branch",
  aliases: ["fork"],
  group: "session",
  summary: "go on in a copy of this conversation; the original stays as it is",
  usage: "[name]",
  needsIdle: "always",
  async run({ agent, args }) {
    const title = withoutQuotes(args);
    const outcome = await agent.branch({ title: title || undefined });
    if (!outcome.ok) return problemReply(outcome.error);
    const { from, to, messages } = outcome.value;
    const named = titleText(outcome.value);
    return told(
      [
        `Branched into session ${to}${named} with ${counted(messages, "message")}.`,
        `The original is still there: /resume ${from}`,
      ],
      outcome.value,
    );
  },
};

const titleCommand: SlashCommand = {
  name: "title",
  group: "session",
  summary: "show the title of this conversation, or set it",
  usage: "[title | --clear]",
  words: ["--clear"],
  async run({ agent, args }) {
    if (args === "") {
      const title = await agent.title();
      const line = title === null ? "This conversation has no title. '/title <words>' gives it one." : title;
      return told([line], { session_id: agent.sessionId, title });
    }
    const wanted = args === "--clear" ? null : withoutQuotes(args);
    if (wanted === "") return undefined;
    const outcome = await agent.setTitle(wanted);
    if (!outcome.ok) return problemReply(outcome.error);
    const { value: title } = outcome;
    return told([title === null ? "The title is gone." : `Title set: ${title}`], {
      session_id: agent.sessionId,
      title,
    });
  },
};

async function startAnew(call: CommandCall, name: "new" | "clear"): Promise<MaybeReply> {
  const { agent } = call;
  const count = agent.messages.length;
  const asked = await askFirst(call, name, () =>
    count === 0 ? undefined : `Leave this conversation (${counted(count, "message")}) and start a new one?`,
  );
  if (!asked.isAgreed) return asked.reply;
  const title = withoutQuotes(asked.rest);
  if (name === "clear" && title !== "") return undefined;
  const outcome = await agent.newSession({ title: title || undefined });
  if (!outcome.ok) return problemReply(outcome.error);
  const { from, to, title: given } = outcome.value;
  return {
    kind: "text",
    lines: [
      `New session ${to}${titleText(outcome.value)}.`,
      ...(title !== "" && given === null
        ? ["The title could not be used; '/title <words>' sets another one."]
        : []),
      ...(count === 0 ? [] : [`The one before is still there: /resume ${from}`]),
    ],
    json: outcome.value,
    clearScreen: name === "clear",
  };
}

function titleText({ title }: SessionChange): string {
  return title === null ? "" : ` '${short(title, 60)}'`;
}

// /resume, /sessions, and a number alone, which chooses from the list that `/resume` has just shown

const DEFAULT_LISTED = 10;
const MOST_LISTED = 100;
const NAME_CHARS = 60;

type ShownList = {
  readonly ids: readonly string[];
  /** The next line chooses from the list if it is a number alone. */
  readonly isOpen: boolean;
};

/** The list that each agent's user saw last. */
const shownLists = new WeakMap<AgentSurface, ShownList>();

const resumeCommand: SlashCommand = {
  name: "resume",
  group: "session",
  summary: "go back to an earlier conversation; without a name: list the latest and choose",
  usage: "[number | id | title]",
  needsIdle: "with_arguments",
  async run({ agent, args }) {
    if (agent.store === undefined) return noDatabase();
    if (args === "") return listSessions(agent, DEFAULT_LISTED, true);
    const wanted = withoutOuter(args);
    if (wanted === "") return undefined;
    const numbered = await idOfNumber(agent, wanted);
    if (numbered !== undefined) return resumeSession(agent, [numbered]);
    // The brackets may belong to the title.
    return resumeSession(agent, wanted === args ? [args] : [wanted, args]);
  },
};

const sessionsCommand: SlashCommand = {
  name: "sessions",
  group: "session",
  summary: "list the latest conversations",
  usage: "[how many]",
  run({ agent, args }) {
    const limit = args === "" ? DEFAULT_LISTED : parseCount(args);
    if (limit === undefined) return undefined;
    return listSessions(agent, Math.min(limit, MOST_LISTED), false);
  },
};

/** Undefined when the line does not choose from an open list. Must be called for every line: a list is open for one line only. */
export async function chooseFromList(agent: AgentSurface, line: string): Promise<CommandReply | undefined> {
  const list = shownLists.get(agent);
  if (!list?.isOpen) return undefined;
  const { ids } = list;
  shownLists.set(agent, { ids, isOpen: false });
  const typed = line.trim();
  if (!/^\d+$/.test(typed)) return undefined;
  if (agent.isRunning) return hasToWait("Going on with another session");
  const id = ids[Number(typed) - 1];
  if (id !== undefined) return resumeSession(agent, [id]);
  return failed(
    "not_found",
    `The list ends at ${ids.length}: ${typed} is no session of it.`,
    "'/resume' shows the list again. To send the number as a message, type it again.",
  );
}

async function listSessions(agent: AgentSurface, limit: number, isChoice: boolean): Promise<CommandReply> {
  if (agent.store === undefined) return noDatabase();
  const sessions = await recentSessions(agent.store, limit);
  if (sessions.length === 0) return told(["No sessions yet."], { sessions: [] });
  shownLists.set(agent, { ids: sessions.map(({ id }) => id), isOpen: isChoice });
  const how = isChoice
    ? "Type a number to go on with that session, or '/resume <id or title>'."
    : "'/resume <number, id or title>' goes on with one.";
  return told(["Latest sessions:", ...sessionLines(agent, sessions), how], {
    sessions: sessionJson(agent, sessions),
  });
}

/** A number means its place in the list that was shown last; without one, in the list that would be shown now. */
async function idOfNumber(agent: AgentSurface, text: string): Promise<string | undefined> {
  const number = parseCount(text);
  if (number === undefined || number > MOST_LISTED || agent.store === undefined) return undefined;
  const ids =
    shownLists.get(agent)?.ids ?? (await recentSessions(agent.store, DEFAULT_LISTED)).map(({ id }) => id);
  return ids[number - 1];
}

/** Resumes the first of the targets that exists. */
async function resumeSession(agent: AgentSurface, targets: readonly string[]): Promise<CommandReply> {
  let missing: CommandReply | undefined;
  for (const target of targets) {
    const outcome = await agent.resume(target);
    if (outcome.ok) {
      shownLists.delete(agent);
      const { to, messages } = outcome.value;
      const named = titleText(outcome.value);
      return told([`Back in session ${to}${named}, ${counted(messages, "message")}.`], outcome.value);
    }
    const { kind, message } = outcome.error;
    if (kind === "same_session")
      return told([`You are already on that session (${agent.sessionId}).`], {
        success: false,
        kind,
        session_id: agent.sessionId,
      });
    if (kind !== "not_found") return problemReply(outcome.error);
    missing ??= failed(kind, message, "'/sessions' lists the latest; '/search <words>' finds older ones.");
  }
  return missing ?? failed("not_found", "No session was named.");
}

function noDatabase(): CommandReply {
  return failed(
    "no_database",
    sessionDatabaseUnavailable(),
    "This conversation goes on without it; 'hermes doctor' says what is wrong.",
  );
}

/** Conversations of the agent's user, the most recently active first; without empty ones and runs of subagents. */
function recentSessions(store: SessionStore, limit: number): Promise<ListedSession[]> {
  return store.listSessionsRich({
    limit,
    orderByLastActive: true,
    minMessageCount: 1,
    excludeSources: INTERNAL_SOURCES,
  });
}

function sessionLines(agent: AgentSurface, sessions: readonly ListedSession[]): string[] {
  const width = String(sessions.length).length;
  return sessions.map((session, index) => {
    const { id, title, preview, last_active, message_count } = session;
    const name = title ?? (preview === "" ? "(untitled)" : preview);
    const mark = id === agent.sessionId ? "  (this one)" : "";
    const number = String(index + 1).padStart(width);
    return `  ${number}  ${localMinute(last_active)}  ${short(name, NAME_CHARS)}  ${id}, ${counted(message_count, "message")}${mark}`;
  });
}

function sessionJson(agent: AgentSurface, sessions: readonly ListedSession[]): object[] {
  return sessions.map(({ id, title, preview, source, last_active, message_count }, index) => ({
    number: index + 1,
    id,
    title,
    preview,
    source,
    last_active,
    message_count,
    is_current: id === agent.sessionId,
  }));
}

// /search: past messages by their words

const MOST_HITS = 6;
const SNIPPET_CHARS = 240;

const searchCommand: SlashCommand = {
  name: "search",
  group: "memory",
  summary: "find messages of this and earlier conversations",
  usage: "<words>",
  async run({ agent, args }) {
    if (agent.store === undefined) return noDatabase();
    if (args === "") return undefined;
    const answer = await agent.store.search(args, {
      excludeSources: HIDDEN_SOURCES,
      limit: MOST_HITS + 1, // one more than is shown tells whether there are more
    });
    const hits = await withTitles(agent.store, answer.hits.slice(0, MOST_HITS));
    const json = answerJson(args, answer, hits);
    const missing = remarksOn(answer);
    if (hits.length === 0) return told([NOTHING_FOUND[answer.empty ?? "no-match"], ...missing], json);
    const isMore = answer.hits.length > MOST_HITS;
    const weak = weakRemark(answer);
    return told(
      [
        ...(weak === undefined ? [] : [weak]),
        ...hits.flatMap((hit) => hitLines(agent, hit)),
        ...missing,
        ...(isMore ? ["There are more: 'hermes sessions search' lists them all, with filters."] : []),
        "Go on with one: '/resume <id>'. Read one: 'hermes sessions show <id>'.",
      ],
      json,
    );
  },
};

function hitLines(agent: AgentSurface, hit: NamedHit): string[] {
  const { title, session_id, timestamp, role, tool_name } = hit;
  const who = role === "tool" && tool_name !== null ? `tool ${tool_name}` : role;
  const name = title === null ? "" : `${short(title, 60)}  `;
  const here = session_id === agent.sessionId ? "  (this one)" : "";
  return [
    `${name}${session_id}  ${localMinute(timestamp)}  ${who}${here}`,
    `  ${short(shortSnippet(hit, SNIPPET_CHARS), SNIPPET_CHARS)}`,
  ];
}

const NO_MATCH = "No messages found. Try fewer or other words, or the beginning of one with a star: config*";
const NOTHING_FOUND: Readonly<Record<EmptyReason, string>> = {
  blank: "Nothing was searched: there are no words in it.",
  "hidden-sources":
    "Found only in runs of subagents, tools and task boards; 'hermes sessions search --all' shows them.",
  "excluded-sessions": NO_MATCH,
  filtered: NO_MATCH,
  "no-match": NO_MATCH,
};

export const SESSION_COMMANDS: readonly SlashCommand[] = [
  newCommand,
  clearCommand,
  resumeCommand,
  sessionsCommand,
  branchCommand,
  titleCommand,
  searchCommand,
];
