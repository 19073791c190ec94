// The settings in which each client keeps its hooks: where the file is, how a hook is written there, and adding and removing ours.
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ok, type Result } from "@hermes-memory/core/internal/lib";
import { findHookClient, type HookClient, type SettableClientName } from "../hook/protocols.ts";
import { type Environment, userHome } from "./clients.ts";
import { attempt, type ConfigEdit, checkedEdit, type EditFailure } from "./config-edit.ts";
import { type HookLaunch, hookCommand, isOwnHook, shellOf } from "./hook-command.ts";
import { type JsonHooks, otherSettings, readJsonHooks, removeJsonHooks, setJsonHooks } from "./json-hooks.ts";
import { otherTables, removeTomlHooks, setTomlHooks, tomlHookCommands } from "./toml-hooks.ts";

type HookSettings = {
  readonly format: "json" | "toml";
  readonly path: (env: Environment) => string;
  /** The file holds nothing but hooks, so it is deleted with the last one. */
  readonly isForHooksOnly: boolean;
  readonly afterwards: string;
};

/** Seconds. A hook is done after some 0.1 s, and gives up after 1 s. */
const TIMEOUT = 10;

type JsonForm = {
  readonly layout: JsonHooks["layout"];
  readonly top?: JsonHooks["top"];
  readonly hook: (command: (shell?: "powershell") => string) => Record<string, unknown>;
  readonly matchers?: Readonly<Record<string, string>>;
  /** Seconds that the client allows where it allows fewer than TIMEOUT, by event. */
  readonly timeouts?: Readonly<Record<string, number>>;
};

type Entry = HookSettings & { readonly json?: JsonForm };

const commandHook =
  (timeout: number): JsonForm["hook"] =>
  (command) => ({ type: "command", command: command(), timeout });

/** Claude Code's form, which others have copied. */
const GROUPS: JsonForm = { layout: "groups", hook: commandHook(TIMEOUT) };
const IN_MILLISECONDS: JsonForm = { layout: "groups", hook: commandHook(TIMEOUT * 1000) };
const KIMI = {
  format: "toml",
  isForHooksOnly: false,
  afterwards: "Start Kimi anew; its hooks are read at the start.",
} as const;

const SETTINGS: Readonly<Record<SettableClientName, Entry>> = {
  "claude-code": {
    format: "json",
    path: (env) => join(env.CLAUDE_CONFIG_DIR || join(userHome(env), ".claude"), "settings.json"),
    isForHooksOnly: false,
    afterwards: "Start Claude Code anew; '/hooks' lists its hooks.",
    json: { ...GROUPS, matchers: { SessionStart: "startup|clear|compact" } },
  },
  codex: {
    format: "json",
    path: (env) => join(env.CODEX_HOME || join(userHome(env), ".codex"), "hooks.json"),
    isForHooksOnly: true,
    afterwards: "Start Codex anew; it asks once whether it may run the new hooks.",
    json: { ...GROUPS, timeouts: { SessionEnd: 3 } }, // more is shortened to 3, with a warning at every start
  },
  cursor: {
    format: "json",
    path: (env) => join(userHome(env), ".cursor", "hooks.json"),
    isForHooksOnly: true,
    afterwards: "Start Cursor anew. Some versions of the editor ignore what a hook adds to a session.",
    json: {
      layout: "flat",
      top: { version: 1 },
      hook: (command) => ({ command: command(), timeout: TIMEOUT }),
    },
  },
  "gemini-cli": {
    format: "json",
    path: (env) => join(userHome(env), ".gemini", "settings.json"),
    isForHooksOnly: false,
    afterwards: "Start Gemini CLI anew.",
    json: IN_MILLISECONDS,
  },
  "qwen-code": {
    format: "json",
    path: (env) => join(env.QWEN_HOME || join(userHome(env), ".qwen"), "settings.json"),
    isForHooksOnly: false,
    afterwards: "Start Qwen Code anew.",
    json: IN_MILLISECONDS,
  },
  "copilot-cli": {
    format: "json",
    path: (env) => join(userHome(env), ".copilot", "hooks", "hermes-memory.json"),
    isForHooksOnly: true,
    afterwards: "Start Copilot CLI anew.",
    json: {
      layout: "flat",
      top: { version: 1 },
      hook: (command) => ({
        type: "command",
        bash: command(),
        powershell: command("powershell"),
        timeoutSec: TIMEOUT,
      }),
    },
  },
  droid: {
    format: "json",
    path: (env) => join(userHome(env), ".factory", "settings.json"),
    isForHooksOnly: false,
    afterwards: "Start Droid anew; '/hooks' lists its hooks.",
    json: GROUPS,
  },
  "kimi-code": {
    ...KIMI,
    path: (env) => join(env.KIMI_CODE_HOME || join(userHome(env), ".kimi-code"), "config.toml"),
  },
  "kimi-cli": {
    ...KIMI,
    path: (env) => join(env.KIMI_SHARE_DIR || join(userHome(env), ".kimi"), "config.toml"),
  },
  grok: {
    format: "json",
    path: (env) => join(userHome(env), ".grok", "hooks", "hermes-memory.json"),
    isForHooksOnly: true,
    afterwards:
      "Start Grok Build anew. Its hooks only add memory to a session; its transcripts are not imported.",
    json: GROUPS,
  },
};

export type HookTarget = {
  readonly name: SettableClientName;
  readonly client: HookClient;
  readonly settings: HookSettings;
};

/** Undefined for a client that cannot be given hooks. */
export function findHookSettings(name: string): HookTarget | undefined {
  const found = findHookClient(name);
  if (!found || found.name === "vscode") return undefined;
  return { name: found.name, client: found.client, settings: SETTINGS[found.name] };
}

export function setHooks(
  text: string,
  target: HookTarget,
  launch: HookLaunch,
  platform: string,
): Result<ConfigEdit, EditFailure> {
  const commands = commandsOf(target, launch, platform);
  const form = SETTINGS[target.name].json;
  if (form) {
    const hooks = jsonHooks(target, form, commands);
    return checkedEdit(
      text,
      (now) => otherSettings(now, hooks),
      (now) => setJsonHooks(now, hooks),
    );
  }
  const isOwn = ownHookOf(target);
  const wanted = commands.map(({ event, command }) => ({ event, command: command() }));
  return checkedEdit(
    text,
    (now) => otherTables(now, isOwn),
    (now) => setTomlHooks(now, wanted, isOwn),
  );
}

/** The commands of our hooks, as the file has them. */
export function hookCommands(text: string, target: HookTarget): Result<readonly string[], EditFailure> {
  const isOwn = ownHookOf(target);
  const form = SETTINGS[target.name].json;
  if (form === undefined) return attempt(() => tomlHookCommands(text, isOwn));
  return attempt(() =>
    readJsonHooks(text, jsonHooks(target, form, [])).flatMap((hook) => Object.values(hook).filter(isOwn)),
  );
}

/** The new text is undefined when the file should be deleted. */
export function removeHooks(
  text: string,
  target: HookTarget,
): Result<Omit<ConfigEdit, "text"> & { readonly text: string | undefined }, EditFailure> {
  const isOwn = ownHookOf(target);
  const form = SETTINGS[target.name].json;
  if (form === undefined)
    return checkedEdit(
      text,
      (now) => otherTables(now, isOwn),
      (now) => removeTomlHooks(now, isOwn),
    );
  const hooks = jsonHooks(target, form, []);
  const others = (now: string): unknown => otherSettings(now, hooks);
  const removed = checkedEdit(text, others, (now) => removeJsonHooks(now, hooks));
  if (!removed.ok || removed.value.action !== "removed" || !target.settings.isForHooksOnly) return removed;
  return isDeepStrictEqual(others(text), hooks.top) ? ok({ ...removed.value, text: undefined }) : removed;
}

function ownHookOf({ name }: HookTarget): (command: unknown) => command is string {
  return (command): command is string => isOwnHook(command, name);
}

type EventCommand = { readonly event: string; readonly command: (shell?: "powershell") => string };

function commandsOf({ name, client }: HookTarget, launch: HookLaunch, platform: string): EventCommand[] {
  return Object.keys(client.events).map((event) => ({
    event,
    command: (shell) => hookCommand(launch, name, event, shell ?? shellOf(platform)),
  }));
}

function jsonHooks(
  { name }: HookTarget,
  { layout, top = {}, hook, matchers = {}, timeouts = {} }: JsonForm,
  commands: readonly EventCommand[],
): JsonHooks {
  return {
    layout,
    top,
    wanted: commands.map(({ event, command }) => ({
      event,
      hook: { ...hook(command), ...(event in timeouts && { timeout: timeouts[event] }) },
      matcher: matchers[event],
      outdated: event in timeouts ? { timeout: TIMEOUT } : {},
    })),
    isOwn: (each) =>
      [each.command, each.commandWindows, each.bash, each.powershell].some((word) => isOwnHook(word, name)),
  };
}
