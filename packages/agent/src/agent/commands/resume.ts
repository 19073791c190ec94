// /resume, /sessions, and the number alone that chooses from the list `/resume` has shown.
import { sessionDatabaseUnavailable } from "@hermes-memory/core/sessions";
import type { AgentSurface } from "../surface.ts";
import type { CommandReply, SlashCommand } from "./command.ts";
import { counted, short } from "./format.ts";
import { parseCount, withoutOuter } from "./parse.ts";
import { failed, hasToWait, problemReply, told, wrongUsage } from "./reply.ts";
import {
  forgetList,
  LISTED,
  listedIds,
  recentSessions,
  rememberList,
  sessionJson,
  sessionLines,
  takeOpenList,
} from "./session-list.ts";

const MOST_LISTED = 100;

export const resumeCommand: SlashCommand = {
  name: "resume",
  group: "session",
  summary: "go back to an earlier conversation; without a name: list the latest and choose",
  usage: "[number | id | title]",
  needsIdle: "with_arguments",
  async run({ agent, args }) {
    if (agent.store === undefined) return noDatabase();
    if (args === "") return listSessions(agent, LISTED, true);
    const wanted = withoutOuter(args);
    if (wanted === "") return wrongUsage(resumeCommand);
    const numbered = await idOfNumber(agent, wanted);
    if (numbered !== undefined) return resumeSession(agent, [numbered]);
    // A title may have brackets of its own.
    return resumeSession(agent, wanted === args ? [args] : [wanted, args]);
  },
};

export const sessionsCommand: SlashCommand = {
  name: "sessions",
  group: "session",
  summary: "list the latest conversations",
  usage: "[how many]",
  run({ agent, args }) {
    const limit = args === "" ? LISTED : parseCount(args);
    if (limit === undefined) return wrongUsage(sessionsCommand);
    return listSessions(agent, Math.min(limit, MOST_LISTED), false);
  },
};

/** Undefined when the line does not choose from an open list. Asked for every line, because a list is open for one line only. */
export async function chooseFromList(agent: AgentSurface, line: string): Promise<CommandReply | undefined> {
  const ids = takeOpenList(agent);
  const typed = line.trim();
  if (ids === undefined || !/^\d+$/.test(typed)) return undefined;
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
  const sessions = await recentSessions(agent, agent.store, limit);
  if (sessions.length === 0) return told(["No sessions yet."], { sessions: [] });
  rememberList(agent, sessions, isChoice);
  const how = isChoice
    ? "Type a number to go on with that session, or '/resume <id or title>'."
    : "'/resume <number, id or title>' goes on with one.";
  return told(["Latest sessions:", ...sessionLines(agent, sessions), how], {
    sessions: sessionJson(agent, sessions),
  });
}

/** Numbers count in the list that was shown last, or in the one that would be shown now. */
async function idOfNumber(agent: AgentSurface, text: string): Promise<string | undefined> {
  const number = parseCount(text);
  if (number === undefined || number > MOST_LISTED || agent.store === undefined) return undefined;
  const ids = listedIds(agent) ?? (await recentSessions(agent, agent.store, LISTED)).map(({ id }) => id);
  return ids[number - 1];
}

/** The first of the targets that exists. */
async function resumeSession(agent: AgentSurface, targets: readonly string[]): Promise<CommandReply> {
  let missing: CommandReply | undefined;
  for (const target of targets) {
    const outcome = await agent.resume(target);
    if (outcome.ok) {
      forgetList(agent);
      const { to, title, messages } = outcome.value;
      const name = title === null ? "" : ` '${short(title, 60)}'`;
      return told([`Back in session ${to}${name}, ${counted(messages, "message")}.`], outcome.value);
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

export function noDatabase(): CommandReply {
  return failed(
    "no_database",
    sessionDatabaseUnavailable(),
    "This conversation goes on without it; 'hermes doctor' says what is wrong.",
  );
}
