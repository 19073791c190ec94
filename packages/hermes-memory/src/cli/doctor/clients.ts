// The programs that `hermes mcp install` sets up: whether what their configs start is still there.
import { HermesError } from "@hermes-memory/core/lib";
import { CLIENT_NAMES, type ClientName, findClient } from "../mcp/clients.ts";
import type { EditFailure } from "../mcp/config-edit.ts";
import type { NamedLaunch } from "../mcp/launch.ts";
import { isTemporary, thisProgram } from "../mcp/launch.ts";
import { movedIn, type OwnEntries, ownEntries, rewriteMoved } from "../mcp/moved.ts";
import { counted } from "../printing.ts";
import { type Finding, fine, warn } from "./finding.ts";
import type { Patient } from "./patient.ts";

const CHECK = "clients";

/** What `--fix` has done. */
export type Fixed = {
  readonly client: ClientName;
  readonly path: string;
  readonly names: readonly string[];
  readonly backup: string | null;
};

export function checkClients({ env }: Pick<Patient, "env">): Finding[] {
  let intact = 0;
  const findings = CLIENT_NAMES.flatMap((name): Finding[] => {
    const own = looked(name, env);
    if (own === undefined || "check" in own) return own === undefined ? [] : [own];
    const { client, path, entries } = own;
    if (!entries.ok) return aboutUnread(own, entries.error);
    return entries.value.flatMap((entry) => {
      const moved = movedIn(entry);
      if (moved === undefined) {
        intact += 1;
        return [];
      }
      const why = moved.why === "missing" ? "which does not exist" : "which an earlier version installed";
      const message = `${client.title}: the server '${entry.name}' in ${path} starts ${moved.path}, ${why}.`;
      return [warn(CHECK, message, remedy())];
    });
  });
  if (intact === 0) return findings;
  const told = `${counted(intact, "MCP server entry starts", "MCP server entries start")} a program that is there.`;
  return [fine(CHECK, told), ...findings];
}

/** Rewrites what `checkClients` warns of. What cannot be rewritten stays a finding, with the reason. */
export function fixClients({ env }: Pick<Patient, "env">): {
  readonly fixed: readonly Fixed[];
  readonly findings: readonly Finding[];
} {
  const program = thisProgram();
  const fixed: Fixed[] = [];
  const findings: Finding[] = [];
  for (const name of isTemporary(program) ? [] : CLIENT_NAMES) {
    const own = looked(name, env);
    if (own === undefined || "check" in own || !own.entries.ok) continue; // the check tells
    const moved = own.entries.value.filter((entry) => movedIn(entry) !== undefined);
    if (moved.length === 0) continue;
    const outcome = rewritten(own, moved);
    if ("check" in outcome) findings.push(outcome);
    else fixed.push({ client: name, path: own.path, names: moved.map((each) => each.name), ...outcome });
  }
  return { fixed, findings };
}

function rewritten(
  own: OwnEntries,
  moved: readonly NamedLaunch[],
): { readonly backup: string | null } | Finding {
  try {
    const outcome = rewriteMoved(own, moved, thisProgram());
    if (outcome.ok) return { backup: outcome.value.backup ?? null };
    const message = `${own.path} cannot be edited: ${reasonOf(outcome.error)}. Nothing was changed.`;
    return warn(CHECK, message, "Change the entry by hand; docs/mcp.md shows its form.");
  } catch (cause) {
    if (!(cause instanceof HermesError)) throw cause;
    return warn(CHECK, cause.message, cause.hint ?? "Try again.");
  }
}

function looked(name: ClientName, env: Patient["env"]): OwnEntries | Finding | undefined {
  const client = findClient(name)?.client;
  try {
    return client && ownEntries(client, env);
  } catch (cause) {
    if (!(cause instanceof HermesError)) throw cause;
    return warn(CHECK, cause.message, cause.hint ?? "Check its owner and mode.");
  }
}

/** A file that does not name us is the business of the program it belongs to. */
function aboutUnread({ client, path, text }: OwnEntries, failure: EditFailure): Finding[] {
  if (!text.includes("hermes")) return [];
  const message = `${client.title}: ${path} cannot be checked: ${reasonOf(failure)}.`;
  return [warn(CHECK, message, "Correct the file, then look again.")];
}

function reasonOf(failure: EditFailure): string {
  switch (failure.kind) {
    case "syntax":
      return `line ${failure.line}, column ${failure.column}: ${failure.reason}`;
    case "shape":
      return failure.reason;
    case "foreign":
      return "the entry has become that of another server";
    default:
      return failure satisfies never;
  }
}

function remedy(): string {
  const run = "'hermes doctor --fix' makes it start this program, after a backup.";
  return isTemporary(thisProgram()) ? `Install hermes-memory; then ${run}` : run;
}
