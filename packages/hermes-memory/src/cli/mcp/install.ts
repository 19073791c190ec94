// `hermes mcp install` and `uninstall`: edit the config of a client, after a backup.
import { resolve } from "node:path";
import type { Result } from "@hermes-memory/core/internal/lib";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  usageFailure,
} from "../command.ts";
import { printable } from "../printing.ts";
import {
  CLIENT_NAMES,
  type Client,
  DEFAULT_SERVER_NAME,
  findClient,
  readClientConfig,
  replaceClientConfig,
} from "./clients.ts";
import type { ConfigEdit, EditAction, EditFailure } from "./config-edit.ts";
import { isTemporary, launchOf, thisProgram } from "./launch.ts";
import { removeServer, setServer } from "./server-entries.ts";

export const install: CommandBody = (input, context) => {
  const request = parse(input, context);
  const program = thisProgram();
  const launch = launchOf(program, context);
  const outcome = change(request, (text) => setServer(text, request.client, request.name, launch));
  const temporary = `${program.script} was fetched by npx and may be gone later; install hermes-memory, then run this again.`;
  return {
    ...outcome,
    json: { ...outcome.json, server: launch },
    notes: [...outcome.notes, ...(isTemporary(program) ? [temporary] : [])],
  };
};

export const uninstall: CommandBody = (input, context) => {
  const request = parse(input, context);
  return change(request, (text) => removeServer(text, request.client, request.name));
};

type EditRequest = {
  readonly clientName: string;
  readonly client: Client;
  readonly name: string;
  readonly path: string;
  readonly isDryRun: boolean;
};

function parse({ flags }: CommandInput, { io }: CommandContext): EditRequest {
  const found = findClient(flags.client);
  if (!found) throw usageFailure(`Say which program to set up: --client ${CLIENT_NAMES.join("|")}.`);
  const name = typeof flags.name === "string" ? flags.name : DEFAULT_SERVER_NAME;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw usageFailure("A server's name has 1 to 64 letters, digits, '-' or '_'.");
  const { client } = found;
  const path = resolve(typeof flags.config === "string" ? flags.config : client.configPath(io.env));
  return { clientName: found.name, client, name, path, isDryRun: flags["dry-run"] === true };
}

type Changed = {
  readonly json: object;
  readonly lines: readonly string[];
  readonly notes: readonly string[];
};

function change(request: EditRequest, edit: (text: string) => Result<ConfigEdit, EditFailure>): Changed {
  const { clientName, client, name, path, isDryRun } = request;
  const before = readClientConfig(path);
  const edited = edit(before ?? "");
  if (!edited.ok) throw refused(edited.error, request);
  const { text, action } = edited.value;
  const isChange = action !== "unchanged" && action !== "absent";
  // The diff shows neighbouring entries as well, whose keys must not be printed.
  const diff = isChange ? lineDiff(path, before, text).map((line) => printable(redactSecrets(line))) : [];
  const backup = isChange && !isDryRun ? replaceClientConfig(path, before, text) : undefined;
  const done = SENTENCES[action](name, `${printable(path)} (${client.title})`);
  return {
    json: {
      success: true,
      client: clientName,
      name,
      path,
      action,
      dry_run: isDryRun,
      backup: backup ?? null,
      diff: isDryRun ? diff.join("\n") : undefined,
    },
    lines:
      isDryRun && isChange ? diff : [done, ...(backup === undefined ? [] : [`Backup: ${printable(backup)}`])],
    notes: isChange ? [isDryRun ? "Nothing was written (--dry-run)." : client.afterwards] : [],
  };
}

const SENTENCES: Readonly<Record<EditAction, (name: string, where: string) => string>> = {
  added: (name, where) => `Added '${name}' to ${where}.`,
  updated: (name, where) => `Updated '${name}' in ${where}.`,
  unchanged: (name, where) => `'${name}' is in ${where} already; unchanged.`,
  removed: (name, where) => `Removed '${name}' from ${where}.`,
  absent: (name, where) => `There is no '${name}' in ${where}; unchanged.`,
};

function refused(failure: EditFailure, { path, name, client }: EditRequest): CommandFailure {
  const file = printable(path);
  switch (failure.kind) {
    case "syntax": {
      const { line, column, reason } = failure;
      const format = client.format === "toml" ? "TOML" : "JSON";
      return new CommandFailure(
        `${file}:${line}:${column} is not valid ${format}: ${reason}. Nothing was changed.`,
        {
          hint: "Correct the file there, then run this again.",
          details: { kind: "client-config-invalid", path, line, column },
        },
      );
    }
    case "shape":
      return new CommandFailure(`${file} cannot be edited: ${failure.reason}. Nothing was changed.`, {
        hint: "docs/mcp.md shows what to add by hand; or name another file with --config.",
        details: { kind: "client-config-shape", path },
      });
    case "foreign":
      return new CommandFailure(`${file} has another server named '${name}'. Nothing was changed.`, {
        hint: "Choose another name with --name, or remove that entry first.",
        details: { kind: "client-config-foreign", path, name },
      });
    default:
      return failure satisfies never;
  }
}

// The edit as a unified diff with one hunk: our edits change one place.

const CONTEXT = 2;

function lineDiff(path: string, before: string | undefined, after: string): string[] {
  if (before === after) return [];
  const old = linesOf(before ?? "");
  const next = linesOf(after);
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start += 1;
  let same = 0;
  while (
    same < Math.min(old.length, next.length) - start &&
    old[old.length - 1 - same] === next[next.length - 1 - same]
  )
    same += 1;
  const from = Math.max(0, start - CONTEXT);
  const tail = old.slice(old.length - same).slice(0, CONTEXT);
  const removed = old.slice(start, old.length - same);
  const added = next.slice(start, next.length - same);
  const lead = old.slice(from, start);
  const size = (count: number): string => `${from + (count === 0 ? 0 : 1)},${count}`;
  const oldSize = lead.length + removed.length + tail.length;
  const nextSize = lead.length + added.length + tail.length;
  return [
    `--- ${before === undefined ? "/dev/null" : path}`,
    `+++ ${path}`,
    `@@ -${size(oldSize)} +${size(nextSize)} @@`,
    ...lead.map((line) => ` ${line}`),
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
    ...tail.map((line) => ` ${line}`),
  ];
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => line.replace(/\r$/, ""));
}
