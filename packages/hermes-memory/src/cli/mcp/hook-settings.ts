// The settings in which each client keeps its hooks: where the file is, how a hook is written there, and adding and removing ours.
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isRecord, type Result } from "@hermes-memory/core/internal/lib";
import { findHookClient, type HookClient, type SettableClientName } from "../hook/protocols.ts";
import { type Environment, userHome } from "./clients.ts";
import { attempt, type ConfigEdit, type EditFailure, shapeError } from "./config-edit.ts";
import { type Path, readJson, withJson } from "./json.ts";
import { type HookLaunch, hookCommand, isOwnHook, shellOf } from "./launch.ts";
import { tomlHooks, withTomlHooks } from "./toml.ts";

type Fields = Readonly<Record<string, unknown>>;

type HookSettings = {
  readonly path: (env: Environment) => string;
  /** The file holds nothing but hooks, so it is deleted with the last one. */
  readonly isForHooksOnly?: true;
  readonly afterwards: string;
};

/** Seconds. A hook is done after some 0.1 s, and gives up after 1 s. */
const TIMEOUT = 10;

type JsonForm = {
  /** `groups`: an event has a list of groups, and a group its own `hooks` list. `flat`: an event has a list of hooks. */
  readonly layout: "groups" | "flat";
  /** Members at the top that the client requires, such as `version`. */
  readonly top?: Fields;
  readonly hook: (command: (shell?: "powershell") => string) => Record<string, unknown>;
  readonly matchers?: Readonly<Record<string, string>>;
  /** Seconds that the client allows where it allows fewer than TIMEOUT, by event. */
  readonly timeouts?: Readonly<Record<string, number>>;
};

/** TOML without `json`. */
type Entry = HookSettings & { readonly json?: JsonForm };

const commandHook =
  (timeout: number): JsonForm["hook"] =>
  (command) => ({ type: "command", command: command(), timeout });

/** Claude Code's form, which others have copied. */
const GROUPS: JsonForm = { layout: "groups", hook: commandHook(TIMEOUT) };
const IN_MILLISECONDS: JsonForm = { layout: "groups", hook: commandHook(TIMEOUT * 1000) };
const KIMI = {
  afterwards: "Start Kimi anew; its hooks are read at the start.",
} as const;

const SETTINGS: Readonly<Record<SettableClientName, Entry>> = {
  "claude-code": {
    path: (env) => join(env.CLAUDE_CONFIG_DIR || join(userHome(env), ".claude"), "settings.json"),
    afterwards: "Start Claude Code anew; '/hooks' lists its hooks.",
    json: { ...GROUPS, matchers: { SessionStart: "startup|clear|compact" } },
  },
  codex: {
    path: (env) => join(env.CODEX_HOME || join(userHome(env), ".codex"), "hooks.json"),
    isForHooksOnly: true,
    afterwards: "Start Codex anew; it asks once whether it may run the new hooks.",
    json: { ...GROUPS, timeouts: { SessionEnd: 3 } }, // more is shortened to 3, with a warning at every start
  },
  cursor: {
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
    path: (env) => join(userHome(env), ".gemini", "settings.json"),
    afterwards: "Start Gemini CLI anew.",
    json: IN_MILLISECONDS,
  },
  "qwen-code": {
    path: (env) => join(env.QWEN_HOME || join(userHome(env), ".qwen"), "settings.json"),
    afterwards: "Start Qwen Code anew.",
    json: IN_MILLISECONDS,
  },
  "copilot-cli": {
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
    path: (env) => join(userHome(env), ".factory", "settings.json"),
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
  readonly settings: HookSettings & { readonly format: "json" | "toml" };
};

/** Undefined for a client that cannot be given hooks. */
export function findHookSettings(name: string): HookTarget | undefined {
  const found = findHookClient(name);
  if (!found || found.name === "vscode") return undefined;
  const { json, ...settings } = SETTINGS[found.name];
  return {
    name: found.name,
    client: found.client,
    settings: { ...settings, format: json ? "json" : "toml" },
  };
}

export function setHooks(
  text: string,
  target: HookTarget,
  launch: HookLaunch,
  platform: string,
): Result<ConfigEdit, EditFailure> {
  const { name, client } = target;
  const form = SETTINGS[name].json;
  const commands = Object.keys(client.events).map((event) => ({
    event,
    command: (shell?: "powershell") => hookCommand(launch, name, event, shell ?? shellOf(platform)),
  }));
  const tables = commands.map(({ event, command }) => ({ event, command: command() }));
  return attempt(() =>
    form === undefined
      ? withTomlHooks(text, tables, ownHookOf(target))
      : setJsonHooks(text, target, form, commands),
  );
}

/** The commands of our hooks, as the file has them. */
export function hookCommands(text: string, target: HookTarget): Result<readonly string[], EditFailure> {
  const isOwn = ownHookOf(target);
  const form = SETTINGS[target.name].json;
  return attempt(() => {
    const hooks =
      form === undefined ? tomlHooks(text).hooks : jsonHooks(text, target, form).map(({ hook }) => hook);
    return hooks.flatMap((hook) => (isRecord(hook) ? Object.values(hook).filter(isOwn) : []));
  });
}

/** The new text is undefined when the file should be deleted. */
export function removeHooks(
  text: string,
  target: HookTarget,
): Result<Omit<ConfigEdit, "text"> & { readonly text: string | undefined }, EditFailure> {
  const form = SETTINGS[target.name].json;
  return attempt(() => {
    if (form === undefined) return withTomlHooks(text, [], ownHookOf(target));
    const next = withoutHooks(text, target, form, () => true);
    if (next === text) return { text, action: "absent" };
    const { top = {} } = form;
    const isEmpty =
      target.settings.isForHooksOnly === true && isDeepStrictEqual({ ...top, ...readJson(next) }, top);
    return { text: isEmpty ? undefined : next, action: "removed" };
  });
}

function ownHookOf({ name }: HookTarget): (command: unknown) => command is string {
  return (command): command is string => isOwnHook(command, name);
}

// ---- In JSON: hooks of others in the same lists stay ----

type OwnHook = { readonly event: string; readonly path: Path; readonly hook: Fields };

/** Our hooks, as the file has them. */
function jsonHooks(text: string, target: HookTarget, { layout }: JsonForm): readonly OwnHook[] {
  const { hooks = {} } = readJson(text);
  if (!isRecord(hooks)) throw shapeError("its 'hooks' is not a JSON object");
  return Object.entries(hooks).flatMap(([event, list]) => {
    if (!Array.isArray(list) && event in target.client.events)
      throw shapeError(`its 'hooks.${event}' is not a list`);
    const path: Path = ["hooks", event];
    if (layout === "flat") return ownIn(list, event, path, target);
    return listOf(list).flatMap((group, at) =>
      isRecord(group) ? ownIn(group.hooks, event, [...path, at, "hooks"], target) : [],
    );
  });
}

function ownIn(list: unknown, event: string, path: Path, target: HookTarget): OwnHook[] {
  return listOf(list).flatMap((hook, at) =>
    isRecord(hook) && COMMANDS.some((name) => isOwnHook(hook[name], target.name))
      ? [{ event, path: [...path, at], hook }]
      : [],
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The members that we set in a hook of ours. Everything else, such as its time limit, the user may have changed. */
const COMMANDS = ["command", "commandWindows", "bash", "powershell"];

type EventCommand = { readonly event: string; readonly command: (shell?: "powershell") => string };

/** A hook that is there already keeps its place and its group, also one of the user's groups. */
function setJsonHooks(
  text: string,
  target: HookTarget,
  form: JsonForm,
  commands: readonly EventCommand[],
): ConfigEdit {
  const { layout, top = {}, matchers = {}, timeouts = {} } = form;
  const own = jsonHooks(text, target, form);
  let next = text;
  for (const { event, command } of commands) {
    const timeout = timeouts[event];
    const hook = { ...form.hook(command), ...(timeout === undefined ? {} : { timeout }) };
    const present = own.find((each) => each.event === event);
    if (present) {
      // Earlier versions wrote more than the client allows.
      const isOutdated = timeout !== undefined && present.hook.timeout === TIMEOUT;
      const set = Object.entries(hook).filter(([name]) => COMMANDS.includes(name));
      const wanted = {
        ...hook,
        ...present.hook,
        ...Object.fromEntries(set),
        ...(isOutdated ? { timeout } : {}),
      };
      next = withJson(next, present.path, wanted);
      continue;
    }
    const group = event in matchers ? { matcher: matchers[event], hooks: [hook] } : { hooks: [hook] };
    const { hooks } = readJson(next);
    const { length } = listOf(isRecord(hooks) ? hooks[event] : undefined);
    next = withJson(next, ["hooks", event, length], layout === "flat" ? hook : group);
  }
  const isFirst = (each: OwnHook, all: readonly OwnHook[]): boolean =>
    all.find(({ event }) => event === each.event) === each;
  next = withoutHooks(
    next,
    target,
    form,
    (each, all) => !(each.event in target.client.events) || !isFirst(each, all),
  );
  if (next === text) return { text, action: "unchanged" };
  for (const [key, value] of Object.entries(top))
    if (!(key in readJson(next))) next = withJson(next, [key], value);
  return { text: next, action: own.length > 0 ? "updated" : "added" };
}

/** Removes hooks of ours, and groups, lists and the `hooks` member that are empty then. */
function withoutHooks(
  text: string,
  target: HookTarget,
  form: JsonForm,
  isUnwanted: (hook: OwnHook, all: readonly OwnHook[]) => boolean,
): string {
  const own = jsonHooks(text, target, form);
  const unwanted = own.findLast((each) => isUnwanted(each, own));
  if (!unwanted) return text;
  return withoutHooks(
    withJson(text, outermost(readJson(text), unwanted.path), undefined),
    target,
    form,
    isUnwanted,
  );
}

/** The path of the hook, or of what holds nothing else: its group, its event, all hooks. */
function outermost(data: unknown, path: Path): Path {
  const within = path.slice(0, -1);
  const list = within.reduce((value, key) => (value as Record<string | number, unknown>)[key], data);
  if (Object.keys(list as object).length > 1 || within.length === 0) return path;
  return outermost(data, within.at(-1) === "hooks" && within.length > 1 ? within.slice(0, -1) : within);
}
