// The config files that `hermes mcp install` writes for MCP clients: whether the program that an entry starts still exists.
import { HermesError, readTextFile } from "@hermes-memory/core/internal/lib";
import { SETTABLE_CLIENTS } from "../hook/protocols.ts";
import {
  CLIENT_NAMES,
  type ClientName,
  findClient,
  protectedMode,
  replaceClientConfig,
} from "../mcp/clients.ts";
import type { EditFailure } from "../mcp/config-edit.ts";
import { findHookSettings, hookCommands } from "../mcp/hook-settings.ts";
import { isTemporary, missingFile, thisProgram } from "../mcp/launch.ts";
import {
  movedPaths,
  type OwnEntries,
  type OwnEntry,
  ownEntries,
  withMovedPathsReplaced,
} from "../mcp/server-entries.ts";
import { counted } from "../printing.ts";
import { type CheckedHome, type Finding, fine, quoted, warn } from "./finding.ts";

const CHECK = "clients";

/** A config file that `--fix` rewrote. */
type FixedClient = {
  readonly client: ClientName;
  readonly path: string;
  readonly names: readonly string[];
  readonly backup: string | null;
};

export function checkClients(checked: Pick<CheckedHome, "env">): Finding[] {
  // Servers and hooks may be in one file; what is wrong with the whole file is said once.
  const findings = [...checkServers(checked), ...checkHooks(checked)];
  return [...new Map(findings.map((finding) => [finding.message, finding])).values()];
}

/** A client goes on without a hook that cannot start, so nobody notices that memory is neither given nor kept. */
function checkHooks({ env }: Pick<CheckedHome, "env">): Finding[] {
  let intact = 0;
  const findings = SETTABLE_CLIENTS.flatMap((name): Finding[] => {
    const target = findHookSettings(name);
    if (target === undefined) return [];
    const path = target.settings.path(env);
    const { title } = target.client;
    const file = readTextFile(path);
    if (!file.ok)
      return [
        warn(CHECK, `${title}: ${path} cannot be read: ${file.error.reason}.`, "Check its owner and mode."),
      ];
    const commands = hookCommands(file.value ?? "", target);
    if (!commands.ok)
      return unreadFinding({ client: { title }, path, text: file.value ?? "" }, commands.error);
    const missing = commands.value.map(missingFile).find((each) => each !== undefined);
    if (missing === undefined) {
      intact += commands.value.length > 0 ? 1 : 0;
      return [];
    }
    const message = `${title}: the hooks in ${path} start ${missing}, which does not exist, so they do nothing.`;
    return [warn(CHECK, message, `Run 'hermes mcp install --client ${name} --hooks'.`)];
  });
  if (intact === 0) return findings;
  const text = `The hooks of ${counted(intact, "client start", "clients start")} a program that is there.`;
  return [fine(CHECK, text), ...findings];
}

function checkServers({ env }: Pick<CheckedHome, "env">): Finding[] {
  let intact = 0;
  const findings = CLIENT_NAMES.flatMap((name): Finding[] => {
    const own = entriesOf(name, env);
    if (own === undefined || "check" in own) return own === undefined ? [] : [own];
    const { client, path, entries } = own;
    if (!entries.ok) return unreadFinding(own, entries.error);
    return entries.value.flatMap((entry) => {
      const where = `${client.title}: the server '${entry.name}' in ${path}`;
      if (entry.obstacle !== undefined) {
        const message = `${where} cannot be checked: ${entry.obstacle}.`;
        return [warn(CHECK, message, "Write the entry as a table; docs/mcp.md shows its form.")];
      }
      const moved = movedPaths(entry);
      if (moved === undefined) {
        intact += 1;
        return [];
      }
      const why = moved.why === "missing" ? "which does not exist" : "which an earlier version installed";
      return [movedFinding(`${where} starts ${moved.path}, ${why}.`, name, own, entry)];
    });
  });
  if (intact === 0) return findings;
  const text = `${counted(intact, "MCP server entry starts", "MCP server entries start")} a program that is there.`;
  return [fine(CHECK, text), ...findings];
}

/** Rewrites the entries that `checkClients` warns of. An entry that cannot be rewritten stays unchanged, and the check says why. */
export function fixClients({ env }: Pick<CheckedHome, "env">): {
  readonly fixed: readonly FixedClient[];
  readonly findings: readonly Finding[];
} {
  const program = thisProgram();
  const fixed: FixedClient[] = [];
  const findings: Finding[] = [];
  for (const name of isTemporary(program) ? [] : CLIENT_NAMES) {
    const own = entriesOf(name, env);
    if (own === undefined || "check" in own || !own.entries.ok) continue;
    if (protectedMode(own.path) !== undefined) continue;
    let { text } = own;
    const names: string[] = [];
    for (const entry of own.entries.value) {
      const next = withMovedPathsReplaced(text, own.client, entry, program);
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

function movedFinding(
  problem: string,
  name: ClientName,
  { client, path, text }: OwnEntries,
  entry: OwnEntry,
): Finding {
  const program = thisProgram();
  const fix = "'hermes doctor --fix' makes it start this program, after a backup.";
  if (isTemporary(program)) return warn(CHECK, problem, `Install hermes-memory; then ${fix}`);
  const mode = protectedMode(path);
  if (mode !== undefined) {
    const message = `${problem} The file has no write permission (mode ${mode}), so --fix does not change it.`;
    return warn(CHECK, message, `Run 'chmod u+w ${quoted(path)}'; then ${fix}`);
  }
  if (withMovedPathsReplaced(text, client, entry, program) !== undefined) return warn(CHECK, problem, fix);
  const message = `${problem} It is written in a way that --fix does not change.`;
  const install = `hermes mcp install --client ${name} --name ${quoted(entry.name)}`;
  return warn(CHECK, message, `Run '${install}' with the home and the profile it should use.`);
}

function entriesOf(name: ClientName, env: CheckedHome["env"]): OwnEntries | Finding | undefined {
  const client = findClient(name)?.client;
  try {
    return client && ownEntries(client, env);
  } catch (cause) {
    if (!(cause instanceof HermesError)) throw cause;
    return warn(CHECK, cause.message, cause.hint ?? "Check its owner and mode.");
  }
}

/** A file that cannot be parsed is reported only when it mentions hermes. */
function unreadFinding(
  { client, path, text }: Pick<OwnEntries, "path" | "text"> & { readonly client: { readonly title: string } },
  failure: EditFailure,
): Finding[] {
  if (!text.includes("hermes")) return [];
  const message = `${client.title}: ${path} cannot be checked: ${reasonOf(failure)}.`;
  return [warn(CHECK, message, "Correct the file, then run 'hermes doctor' again.")];
}

function reasonOf(failure: EditFailure): string {
  switch (failure.kind) {
    case "syntax":
      return `line ${failure.line}, column ${failure.column}: ${failure.reason}`;
    case "shape":
      return failure.reason;
    case "foreign":
      return "the entry now belongs to another server";
    default:
      return failure satisfies never;
  }
}
