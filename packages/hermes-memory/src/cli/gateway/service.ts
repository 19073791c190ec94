// `hermes service`: the file by which systemd or launchd starts `hermes serve` at login. Writes and removes that one file; starting and
// stopping is left to the user, who is told the commands. The unit of the Python original, hermes-gateway, is never touched.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { DEFAULT_PROFILE } from "@hermes-memory/core/internal/home";
import type { CommandBody, CommandContext, CommandOutcome } from "../command.ts";
import { usageFailure } from "../command.ts";
import { readClientConfig, replaceClientConfig, userHome } from "../mcp/clients.ts";
import { lineDiff } from "../mcp/config-edit.ts";
import { isTemporary, type Program, thisProgram } from "../mcp/launch.ts";
import { printable } from "../printing.ts";

const NAME = "hermes-memory";
const STATE_TIMEOUT_MS = 3_000;

type Environment = CommandContext["io"]["env"];
type Launch = {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly home: string;
};

/** How one system starts programs at login. */
type Manager = {
  readonly name: "systemd" | "launchd";
  readonly path: string;
  render(launch: Launch): string;
  readonly afterInstall: readonly string[];
  readonly beforeUninstall: readonly string[];
  /** Prints its state; exit code 0 while the service runs. */
  readonly asks: readonly string[];
};

export const install: CommandBody = ({ flags }, context) => {
  const manager = managerOf(process.platform, context.io.env);
  const program = thisProgram();
  const text = manager.render(launchOf(program, context));
  const before = readClientConfig(manager.path);
  const action = before === undefined ? "added" : before === text ? "unchanged" : "updated";
  const temporary = `${program.script} was fetched by npx and may be gone later; install hermes-memory, then run this again.`;
  const notes = isTemporary(program) ? [temporary] : [];
  return { ...change(manager, { action, before, after: text, isDryRun: flags["dry-run"] === true }), notes };
};

export const uninstall: CommandBody = ({ flags }, { io }) => {
  const manager = managerOf(process.platform, io.env);
  const before = readClientConfig(manager.path);
  const action = before === undefined ? "absent" : "removed";
  return change(manager, { action, before, after: undefined, isDryRun: flags["dry-run"] === true });
};

export const status: CommandBody = (_input, context) => {
  const { name, path: file, render, asks } = managerOf(process.platform, context.io.env);
  const text = readClientConfig(file);
  const isCurrent = text === render(launchOf(thisProgram(), context));
  const state = text === undefined ? null : stateOf(asks);
  return {
    json: {
      message: isCurrent
        ? undefined
        : `${text === undefined ? "Not installed" : "Not as this version would write it for this home"}; 'hermes service install' writes it.`,
      manager: name,
      name: NAME,
      path: file,
      installed: text !== undefined,
      current: isCurrent,
      state,
    },
  };
};

export const path: CommandBody = (_input, { io }) => {
  const { path: file } = managerOf(process.platform, io.env);
  return { json: { path: file } };
};

/** What the message says was done. */
const DONE = {
  added: "written",
  updated: "replaced",
  unchanged: "up to date",
  removed: "removed",
  absent: "not there",
} as const;

type Change = {
  readonly action: keyof typeof DONE;
  readonly before: string | undefined;
  /** Undefined: the file is removed. */
  readonly after: string | undefined;
  readonly isDryRun: boolean;
};

function change(manager: Manager, { action, before, after, isDryRun }: Change): CommandOutcome {
  const { name, path: file } = manager;
  const isChange = action !== "unchanged" && action !== "absent";
  const backup = isChange && !isDryRun ? replaceClientConfig(file, before, after) : undefined;
  const diff = lineDiff(file, before, after);
  const next = after === undefined ? manager.beforeUninstall : manager.afterInstall;
  return {
    json: {
      message:
        isDryRun && isChange ? "Nothing was changed: this was a dry run." : `${file}: ${DONE[action]}.`,
      ...{ manager: name, name: NAME, path: file, action, dry_run: isDryRun, backup: backup ?? null, diff },
      next: isChange ? next : [],
    },
    lines: isDryRun ? [...diff.map(printable), ...(isChange ? ["Nothing was changed."] : [])] : undefined,
  };
}

/** Home and profile are pinned: a profile that is chosen later for the terminal must not move the service. */
export function launchOf({ node, script }: Program, { home }: Pick<CommandContext, "home">): Launch {
  const isCustom = home.profile === "custom";
  const isNamed = home.profile !== DEFAULT_PROFILE && !isCustom;
  return {
    words: [node, script, ...(isCustom ? [] : ["--profile", home.profile]), "serve"],
    env: {
      HERMES_HOME: isNamed ? home.root : home.home,
      // The directory is no profile; this keeps the active profile of the home above it from being chosen instead.
      ...(isCustom ? { HERMES_S6_SUPERVISED_CHILD: "1" } : {}),
    },
    home: home.home,
  };
}

export function managerOf(platform: string, env: Environment): Manager {
  if (platform === "linux") return systemd(env);
  if (platform === "darwin") return launchd(env);
  throw usageFailure("Services can be installed for systemd (Linux) and launchd (macOS) only.", {
    hint: "Start 'hermes serve' with the task scheduler of this system.",
  });
}

function systemd(env: Environment): Manager {
  const config = env.XDG_CONFIG_HOME?.trim() || join(userHome(env), ".config");
  return {
    name: "systemd",
    path: join(config, "systemd", "user", `${NAME}.service`),
    render: ({ words, env: variables }) =>
      [
        "# Written by 'hermes service install'; the next install replaces it, after a backup.",
        "[Unit]",
        "Description=hermes-memory gateway: memory for OpenAI and Anthropic clients",
        "After=network-online.target",
        "",
        "[Service]",
        `ExecStart=${words.map(systemdWord).join(" ")}`,
        ...Object.entries(variables).map(([name, value]) => `Environment=${systemdText(`${name}=${value}`)}`),
        "Restart=on-failure",
        "RestartSec=2",
        "# 'hermes serve' lets running replies finish for 30 s.",
        "TimeoutStopSec=45",
        "NoNewPrivileges=yes",
        "UMask=0077",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
      ].join("\n"),
    afterInstall: [
      "systemctl --user daemon-reload",
      `systemctl --user enable --now ${NAME}`,
      'loginctl enable-linger "$USER"    # keeps it running after you log out',
    ],
    beforeUninstall: [`systemctl --user disable --now ${NAME}`, "systemctl --user daemon-reload"],
    asks: ["systemctl", "--user", "is-active", `${NAME}.service`],
  };
}

/** Of a command line, where a dollar sign begins a variable. */
function systemdWord(word: string): string {
  return systemdText(word).replaceAll("$", "$$$$");
}

/** Quoted; a percent sign would begin a specifier. */
function systemdText(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
  return `"${escaped}"`;
}

function launchd(env: Environment): Manager {
  const file = join(userHome(env), "Library", "LaunchAgents", `${NAME}.plist`);
  return {
    name: "launchd",
    path: file,
    render: ({ words, env: variables, home }) => {
      const log = join(home, "logs", "gateway-service.log");
      const text = (value: string): string => `<string>${xmlText(value)}</string>`;
      return [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<!-- Written by 'hermes service install'; the next install replaces it, after a backup. -->",
        '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
        '<plist version="1.0">',
        "<dict>",
        `  <key>Label</key>${text(NAME)}`,
        "  <key>ProgramArguments</key>",
        "  <array>",
        ...words.map((word) => `    ${text(word)}`),
        "  </array>",
        "  <key>EnvironmentVariables</key>",
        "  <dict>",
        ...Object.entries(variables).map(([name, value]) => `    <key>${xmlText(name)}</key>${text(value)}`),
        "  </dict>",
        "  <key>RunAtLoad</key><true/>",
        "  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>",
        "  <key>ExitTimeOut</key><integer>45</integer>",
        "  <key>Umask</key><integer>63</integer>",
        `  <key>StandardOutPath</key>${text(log)}`,
        `  <key>StandardErrorPath</key>${text(log)}`,
        "</dict>",
        "</plist>",
        "",
      ].join("\n");
    },
    afterInstall: [`launchctl bootstrap "gui/$(id -u)" '${file.replaceAll("'", "'\\''")}'`],
    beforeUninstall: [`launchctl bootout "gui/$(id -u)/${NAME}"`],
    asks: ["launchctl", "print", `gui/${process.getuid?.() ?? 0}/${NAME}`],
  };
}

function xmlText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Null when the manager cannot be asked. */
function stateOf([command = "", ...args]: readonly string[]): string | null {
  const {
    status: code,
    stdout,
    error,
  } = spawnSync(command, args, {
    encoding: "utf8",
    timeout: STATE_TIMEOUT_MS,
    stdio: ["ignore", "pipe", "ignore"],
  });
  if (error !== undefined || code === null) return null;
  const [word = ""] = stdout.trim().split("\n");
  if (/^[a-z-]+$/.test(word)) return word;
  return code === 0 ? "active" : "inactive";
}
