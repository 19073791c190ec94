// What the machine is, as far as skills ask for it.
import { existsSync } from "node:fs";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Of the places a skill can be meant for. */
export function detectEnvironments(env: Environment): ReadonlySet<string> {
  const found = new Set<string>();
  if (env.HERMES_KANBAN_TASK) found.add("kanban");
  if (existsSync("/.dockerenv") || existsSync("/run/.containerenv")) found.add("docker");
  if (env.HERMES_S6_SUPERVISED_CHILD || existsSync("/run/s6")) found.add("s6");
  return found;
}
