// `hermes mcp install` and `uninstall`: edit the config of a client, and the settings with its hooks, after a backup.
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
  type Client,
  DEFAULT_SERVER_NAME,
  findClient,
  INSTALL_CLIENTS,
  readClientConfig,
  replaceClientConfig,
} from "./clients.ts";
import { type EditAction, type EditFailure, lineDiff } from "./config-edit.ts";
import { findHookSettings, type HookTarget, removeHooks, setHooks } from "./hook-settings.ts";
import { hookLaunchOf, isTemporary, launchOf, thisProgram } from "./launch.ts";
import { removeServer, setServer } from "./server-entries.ts";

export const install: CommandBody = (input, context) => {
  const request = parse(input, context);
  const { server, hooks } = request;
  const program = thisProgram();
  const launch = launchOf(program, request.clientName, context);
  if (!server && !request.isForHooks)
    throw usageFailure(
      `For ${hooks?.client.title} only hooks can be installed: add --hooks. docs/mcp.md shows how to enter the server by hand.`,
    );
  const edits = [
    ...(server ? [edited(server, (text) => setServer(text, server.client, server.name, launch))] : []),
    ...(hooks && request.isForHooks
      ? [edited(hooks, (text) => setHooks(text, hooks, hookLaunchOf(program, context), process.platform))]
      : []),
  ];
  const outcome = carryOut(edits, request);
  const temporary = `${program.script} was fetched by npx and may be gone later; install hermes-memory, then run this again.`;
  return {
    ...outcome,
    json: { ...outcome.json, ...(server ? { server: launch } : {}) },
    notes: [...outcome.notes, ...(isTemporary(program) ? [temporary] : [])],
  };
};

/** Removes server and hooks; with `--hooks` the hooks only. */
export const uninstall: CommandBody = (input, context) => {
  const request = parse(input, context);
  const { server, hooks, isForHooks } = request;
  const edits = [
    ...(server && !isForHooks
      ? [edited(server, (text) => removeServer(text, server.client, server.name))]
      : []),
    ...(hooks ? [edited(hooks, (text) => removeHooks(text, hooks))] : []),
  ];
  // Someone who never had hooks is not told about them.
  const isTold = isForHooks || !server;
  return carryOut(
    edits.filter(({ part, action }) => part.kind === "server" || isTold || action !== "absent"),
    request,
  );
};

type Part = Pick<Client, "title" | "format" | "afterwards"> & { readonly path: string };
type Server = Part & { readonly kind: "server"; readonly client: Client; readonly name: string };
type Hooks = Part & HookTarget & { readonly kind: "hooks" };

type EditRequest = {
  readonly clientName: string;
  readonly server: Server | undefined;
  readonly hooks: Hooks | undefined;
  readonly isForHooks: boolean;
  readonly isDryRun: boolean;
};

function parse({ flags }: CommandInput, { io }: CommandContext): EditRequest {
  const clientName = String(flags.client);
  const found = findClient(flags.client);
  const target = findHookSettings(clientName);
  if (!found && !target)
    throw usageFailure(`Say which program to set up: --client ${INSTALL_CLIENTS.join("|")}.`);
  const name = typeof flags.name === "string" ? flags.name : DEFAULT_SERVER_NAME;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw usageFailure("A server's name has 1 to 64 letters, digits, '-' or '_'.");
  const config = typeof flags.config === "string" ? flags.config : found?.client.configPath(io.env);
  const settings = typeof flags.settings === "string" ? flags.settings : target?.settings.path(io.env);
  const server: Server | undefined = found && {
    ...{ ...found.client, kind: "server", client: found.client, name },
    path: resolve(config ?? ""),
  };
  const hooks: Hooks | undefined = target && {
    ...{ ...target, ...target.settings, kind: "hooks", title: target.client.title },
    path: resolve(settings ?? ""),
  };
  if (server && server.path === hooks?.path)
    throw usageFailure(
      "--config and --settings name the same file. Install server and hooks one after the other.",
    );
  return { clientName, server, hooks, isForHooks: flags.hooks === true, isDryRun: flags["dry-run"] === true };
}

type Edited = {
  readonly part: Server | Hooks;
  readonly before: string | undefined;
  /** Undefined: the file is deleted. */
  readonly next: string | undefined;
  readonly action: EditAction;
};

/** Reads only; so a file that cannot be edited stops the command before the first write. */
function edited(
  part: Server | Hooks,
  edit: (
    text: string,
  ) => Result<{ readonly text: string | undefined; readonly action: EditAction }, EditFailure>,
): Edited {
  const before = readClientConfig(part.path);
  const outcome = edit(before ?? "");
  if (!outcome.ok) throw refused(outcome.error, part);
  return { part, before, next: outcome.value.text, action: outcome.value.action };
}

type Changed = {
  readonly json: object;
  readonly lines: readonly string[];
  readonly notes: readonly string[];
};

function carryOut(edits: readonly Edited[], { clientName, isDryRun }: EditRequest): Changed {
  const reports = edits.map(({ part, before, next, action }) => {
    const isChange = action !== "unchanged" && action !== "absent";
    // The diff shows neighbouring entries as well, whose keys must not be printed.
    const diff = isChange
      ? lineDiff(part.path, before, next).map((line) => printable(redactSecrets(line)))
      : [];
    const backup = isChange && !isDryRun ? replaceClientConfig(part.path, before, next) : undefined;
    const facts = {
      path: part.path,
      action,
      backup: backup ?? null,
      diff: isDryRun ? diff.join("\n") : undefined,
    };
    const done = [sentence(action, part), ...(backup === undefined ? [] : [`Backup: ${printable(backup)}`])];
    return { part, isChange, facts, lines: isChange && isDryRun ? diff : done };
  });
  const server = reports.find(({ part }) => part.kind === "server");
  const hooks = reports.find(({ part }) => part.kind === "hooks");
  const changes = reports.filter(({ isChange }) => isChange);
  const after = changes.map(({ part }) => part.afterwards);
  return {
    json: {
      success: true,
      client: clientName,
      ...(server?.part.kind === "server" ? { name: server.part.name, ...server.facts } : {}),
      dry_run: isDryRun,
      ...(hooks ? { hooks: hooks.facts } : {}),
    },
    lines: reports.flatMap(({ lines }) => lines),
    notes: changes.length === 0 ? [] : isDryRun ? ["Nothing was written (--dry-run)."] : after,
  };
}

function sentence(action: EditAction, part: Server | Hooks): string {
  const where = `${printable(part.path)} (${part.title})`;
  const isServer = part.kind === "server";
  const what = isServer ? `'${part.name}'` : "the hooks";
  switch (action) {
    case "added":
      return `Added ${what} to ${where}.`;
    case "updated":
      return `Updated ${what} in ${where}.`;
    case "removed":
      return `Removed ${what} from ${where}.`;
    case "unchanged":
      return `${isServer ? `${what} is` : "The hooks are"} in ${where} already; unchanged.`;
    case "absent":
      return `There ${isServer ? `is no ${what}` : "are no hooks of ours"} in ${where}; unchanged.`;
    default:
      return action satisfies never;
  }
}

function refused(failure: EditFailure, part: Server | Hooks): CommandFailure {
  const { path, format } = part;
  const file = printable(path);
  const refusal = (message: string, hint: string, details: object): CommandFailure =>
    new CommandFailure(`${message}. Nothing was changed.`, {
      hint,
      details: {
        kind: `client-config-${failure.kind === "syntax" ? "invalid" : failure.kind}`,
        path,
        ...details,
      },
    });
  switch (failure.kind) {
    case "syntax": {
      const { line, column, reason } = failure;
      const message = `${file}:${line}:${column} is not valid ${format.toUpperCase()}: ${reason}`;
      return refusal(message, "Correct the file there, then run this again.", { line, column });
    }
    case "shape": {
      const [page, flag] = part.kind === "server" ? ["mcp", "config"] : ["live-capture", "settings"];
      const hint = `docs/${page}.md shows what to add by hand; or name another file with --${flag}.`;
      return refusal(`${file} cannot be edited: ${failure.reason}`, hint, {});
    }
    case "foreign": {
      const name = part.kind === "server" ? part.name : "";
      const hint = "Choose another name with --name, or remove that entry first.";
      return refusal(`${file} has another server named '${name}'`, hint, { name });
    }
    default:
      return failure satisfies never;
  }
}
