// The programs that `hermes mcp install` sets up: whether what their configs start is still there.
import { HermesError } from "@hermes-memory/core/lib";
import {
  CLIENT_NAMES,
  type ClientName,
  findClient,
  protectedMode,
  replaceClientConfig,
} from "../mcp/clients.ts";
import type { EditFailure } from "../mcp/config-edit.ts";
import { isTemporary, thisProgram } from "../mcp/launch.ts";
import { movedIn, type OwnEntries, type OwnEntry, ownEntries, withMoved } from "../mcp/server-entries.ts";
import { counted } from "../printing.ts";
import { type Finding, fine, quoted, warn } from "./finding.ts";
import type { Patient } from "./patient.ts";

const CHECK = "clients";

/** One config file that `--fix` has rewritten. */
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
      const where = `${client.title}: the server '${entry.name}' in ${path}`;
      if (entry.obstacle !== undefined) {
        const message = `${where} cannot be checked: ${entry.obstacle}.`;
        return [warn(CHECK, message, "Write the entry as a table; docs/mcp.md shows its form.")];
      }
      const moved = movedIn(entry);
      if (moved === undefined) {
        intact += 1;
        return [];
      }
      const why = moved.why === "missing" ? "which does not exist" : "which an earlier version installed";
      return [aboutMoved(`${where} starts ${moved.path}, ${why}.`, name, own, entry)];
    });
  });
  if (intact === 0) return findings;
  const told = `${counted(intact, "MCP server entry starts", "MCP server entries start")} a program that is there.`;
  return [fine(CHECK, told), ...findings];
}

/** Rewrites what `checkClients` warns of. What cannot be rewritten stays as it is, and the check tells why. */
export function fixClients({ env }: Pick<Patient, "env">): {
  readonly fixed: readonly Fixed[];
  readonly findings: readonly Finding[];
} {
  const program = thisProgram();
  const fixed: Fixed[] = [];
  const findings: Finding[] = [];
  for (const name of isTemporary(program) ? [] : CLIENT_NAMES) {
    const own = looked(name, env);
    if (own === undefined || "check" in own || !own.entries.ok) continue;
    if (protectedMode(own.path) !== undefined) continue;
    let { text } = own;
    const names: string[] = [];
    for (const entry of own.entries.value) {
      const next = withMoved(text, own.client, entry, program);
      if (next === undefined) continue;
      text = next;
      names.push(entry.name);
    }
    if (names.length === 0) continue;
    try {
      const backup = replaceClientConfig(own.path, own.text, text) ?? null;
      fixed.push({ client: name, path: own.path, names, backup });
    } catch (cause) {
      if (!(cause instanceof HermesError)) throw cause;
      findings.push(warn(CHECK, cause.message, cause.hint ?? "Try again."));
    }
  }
  return { fixed, findings };
}

function aboutMoved(
  told: string,
  name: ClientName,
  { client, path, text }: OwnEntries,
  entry: OwnEntry,
): Finding {
  const program = thisProgram();
  const fix = "'hermes doctor --fix' makes it start this program, after a backup.";
  if (isTemporary(program)) return warn(CHECK, told, `Install hermes-memory; then ${fix}`);
  const mode = protectedMode(path);
  if (mode !== undefined) {
    const message = `${told} The file has no write permission (mode ${mode}), so --fix does not change it.`;
    return warn(CHECK, message, `Run 'chmod u+w ${quoted(path)}'; then ${fix}`);
  }
  if (withMoved(text, client, entry, program) !== undefined) return warn(CHECK, told, fix);
  const message = `${told} It is written in a way that --fix does not change.`;
  const install = `hermes mcp install --client ${name} --name ${quoted(entry.name)}`;
  return warn(CHECK, message, `Run '${install}' with the home and the profile that it shall have.`);
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
