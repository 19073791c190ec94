// The session database: whether it opens, and whether its pages and its search index are sound.
import { existsSync, statSync } from "node:fs";
import { sessionDatabasePath } from "../../home.ts";
import { describeCause, HermesError } from "../../lib/index.ts";
import { openSessionStore } from "../../sessions/index.ts";
import { bytes, type Finding, fail, fine, warn } from "./finding.ts";
import type { Patient } from "./run.ts";

const OTHERS_MAY_READ = 0o077;

export async function checkSessions({ home }: Patient): Promise<Finding[]> {
  const path = sessionDatabasePath(home);
  if (!existsSync(path)) return [fine("sessions", "There is no session database yet.")];
  try {
    await using store = await openSessionStore({ path, readOnly: true });
    const { sessions, archived, messages, bytes: size, index } = await store.stats();
    const { problems, indexChecked } = await store.checkHealth();
    if (problems.length > 0) {
      const remedy = "Run 'hermes sessions repair'; it keeps a copy of the file.";
      return problems.map((problem) => fail("sessions", `${path}: ${problem}.`, remedy));
    }
    const found = fine(
      "sessions",
      `${sessions + archived} sessions, ${messages} messages, ${bytes(size)}${indexChecked ? "" : "; the search index was not compared with them"}.`,
    );
    return [found, ...aboutIndex(index), ...aboutMode(path)];
  } catch (cause) {
    const hint = cause instanceof HermesError ? cause.hint : undefined;
    return [fail("sessions", describeCause(cause), hint ?? "Run 'hermes sessions repair'.")];
  }
}

function aboutIndex(index: string): Finding[] {
  if (index === "reference") {
    const remedy = "'hermes sessions optimize' makes it a third of the size.";
    return [warn("sessions", "The search index is as the Python original makes it.", remedy)];
  }
  if (index !== "converting") return [];
  return [
    warn(
      "sessions",
      "A conversion of the search index was stopped.",
      "Finish it with 'hermes sessions optimize'.",
    ),
  ];
}

function aboutMode(path: string): Finding[] {
  if (process.platform === "win32" || (statSync(path).mode & OTHERS_MAY_READ) === 0) return [];
  return [warn("sessions", `Other users of this machine may read ${path}.`, `chmod 600 ${path}*`)];
}
