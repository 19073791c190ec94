// Shared by /memory and /skills: writes that wait for the user's decision.
import {
  decidedLines,
  decideStaged,
  listStaged,
  nothingStaged,
  type StagedPlace,
  type Subsystem,
  stagedLines,
} from "@hermes-memory/core/internal/staged";
import type { AgentSurface } from "../agent.ts";
import { type CommandReply, failed, short, told } from "./command.ts";

export function placeOf(agent: AgentSurface): StagedPlace {
  const { home, memory, skills, sessionId, person } = agent;
  return {
    home,
    pendingDirectory: person.pendingDirectory,
    curated: async () => memory,
    skills: async () => skills,
    sessionId,
    onCommitted: (write, origin) => agent.noteMemoryWrite(write, origin),
  };
}

export function pendingReply(agent: AgentSurface, subsystem: Subsystem): CommandReply {
  const { records, skipped } = listStaged(placeOf(agent), { subsystem });
  const lines = stagedLines(subsystem, records, `/${subsystem}`);
  return told([...lines, ...skipped.map((name) => `${name} is not a staged write.`)], {
    pending: records,
    skipped,
  });
}

/** `asked`: an id, or `all`. */
export async function decisionReply(
  agent: AgentSurface,
  subsystem: Subsystem,
  decision: "approve" | "reject",
  asked: string,
): Promise<CommandReply> {
  const place = placeOf(agent);
  const isAll = asked.toLowerCase() === "all";
  if (isAll && listStaged(place, { subsystem }).records.length === 0)
    return told([nothingStaged(subsystem)], { success: true, pending: [] });
  const choice = isAll ? { subsystem } : { subsystem, id: asked };
  const outcome = await decideStaged(decision, choice, place);
  if (!outcome.ok) return failed(outcome.error.kind, short(outcome.error.message, 200));
  const { done, failed: failures } = outcome.value;
  const isSaved = decision === "approve" && subsystem === "memory" && done.length > 0;
  const isDone = failures.length === 0;
  return {
    kind: isDone ? "text" : "error",
    lines: [
      ...decidedLines(decision, choice, outcome.value),
      ...(isSaved ? ["What was saved counts from the next session on."] : []),
    ],
    json: {
      success: isDone,
      [decision === "approve" ? "approved" : "rejected"]: done.map(({ id }) => id),
      removed: done.flatMap(({ removed = [], archived = [] }) => [...removed, ...archived]),
      failed: failures,
    },
  };
}
