// The agents that can call `hermes hook`: what each of their events is for, how it expects the answer, and where its transcripts are.
// Imports nothing of the project: it is loaded for every hook.

export type HookClient = {
  readonly title: string;
  /** The name after `hermes sessions import --from`; undefined where no event says that a turn has ended. */
  readonly source: string | undefined;
  /** The events that `hermes mcp install --hooks` enters, and what each one is for. */
  readonly events: Readonly<Record<string, HookJob>>;
  readonly answer: AnswerShape;
  /** Folders that a transcript of this client may be in. */
  readonly roots: (place: HookPlace) => readonly string[];
  /** Whether the client sends the path of its transcript. Without it, everything new of the source is imported. */
  readonly sendsPath?: true;
  /** The memory that a hook added is not in the history of a resumed session. */
  readonly forgetsMemory?: true;
};

/** `inject`: print the memory. `capture`: import the transcript in the background. */
type HookJob = "inject" | "capture";

/**
 * `nested`: `hookSpecificOutput.additionalContext`. `snake` and `camel`: `additional_context` or `additionalContext` at the top.
 * `text`: the text itself.
 */
export type AnswerShape = "nested" | "snake" | "camel" | "text";

type HookPlace = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
};

const inUserHome =
  (folder: string, variable?: string): HookClient["roots"] =>
  ({ env, userHome }) => [(variable && env[variable]) || `${userHome}/${folder}`];

const CLAUDE_EVENTS = {
  SessionStart: "inject",
  Stop: "capture",
  SessionEnd: "capture",
  PreCompact: "capture",
} as const;

// Kimi runs SessionStart but ignores its output, so the memory goes out with the first prompt of a session.
const KIMI = {
  source: "kimi",
  events: { UserPromptSubmit: "inject", Stop: "capture", SessionEnd: "capture", PreCompact: "capture" },
  answer: "text",
} as const;

const CLIENTS = {
  "claude-code": {
    title: "Claude Code",
    source: "claude-code",
    events: CLAUDE_EVENTS,
    answer: "nested",
    roots: inUserHome(".claude", "CLAUDE_CONFIG_DIR"),
    sendsPath: true,
  },
  codex: {
    title: "Codex",
    source: "codex",
    events: CLAUDE_EVENTS,
    answer: "nested",
    roots: inUserHome(".codex", "CODEX_HOME"),
    sendsPath: true,
  },
  cursor: {
    title: "Cursor",
    source: "cursor",
    events: { sessionStart: "inject", stop: "capture", sessionEnd: "capture", preCompact: "capture" },
    answer: "snake",
    roots: inUserHome(".cursor"),
  },
  "gemini-cli": {
    title: "Gemini CLI",
    source: "gemini-cli",
    events: {
      SessionStart: "inject",
      AfterAgent: "capture",
      SessionEnd: "capture",
      PreCompress: "capture",
    },
    answer: "nested",
    roots: inUserHome(".gemini"),
    sendsPath: true,
    forgetsMemory: true,
  },
  "qwen-code": {
    title: "Qwen Code",
    source: "qwen-code",
    events: CLAUDE_EVENTS,
    answer: "nested",
    roots: ({ env, userHome }) => [env.QWEN_RUNTIME_DIR || env.QWEN_HOME || `${userHome}/.qwen`],
    sendsPath: true,
    forgetsMemory: true,
  },
  "copilot-cli": {
    title: "Copilot CLI",
    source: "copilot-cli",
    events: { sessionStart: "inject", agentStop: "capture", sessionEnd: "capture", preCompact: "capture" },
    answer: "camel",
    roots: inUserHome(".copilot"),
    sendsPath: true,
    forgetsMemory: true,
  },
  droid: {
    title: "Droid",
    source: "droid",
    events: CLAUDE_EVENTS,
    answer: "nested",
    roots: inUserHome(".factory"),
    sendsPath: true,
  },
  "kimi-code": { title: "Kimi Code", ...KIMI, roots: inUserHome(".kimi-code", "KIMI_CODE_HOME") },
  "kimi-cli": { title: "Kimi CLI", ...KIMI, roots: inUserHome(".kimi", "KIMI_SHARE_DIR") },
  grok: {
    title: "Grok Build",
    source: undefined,
    events: { SessionStart: "inject" },
    answer: "nested",
    roots: inUserHome(".grok"),
  },
  // Has no settings of its own here: it runs the hooks of Claude Code's settings.
  vscode: {
    title: "VS Code",
    source: "vscode-chat",
    events: { SessionStart: "inject", Stop: "capture", PreCompact: "capture" },
    answer: "nested",
    roots: () => [],
  },
} as const satisfies Record<string, HookClient>;

export type HookClientName = keyof typeof CLIENTS;
/** The clients whose settings we can edit. */
export type SettableClientName = Exclude<HookClientName, "vscode">;
export const SETTABLE_CLIENTS = (Object.keys(CLIENTS) as HookClientName[]).filter(
  (name) => name !== "vscode",
);

export function findHookClient(name: string): { name: HookClientName; client: HookClient } | undefined {
  return isHookClient(name) ? { name, client: CLIENTS[name] } : undefined;
}

export function isHookClient(name: string): name is HookClientName {
  return Object.hasOwn(CLIENTS, name);
}

/** One line for the client's stdout. */
export function answerText(shape: AnswerShape, event: string, text: string): string {
  switch (shape) {
    case "nested":
      return JSON.stringify({ hookSpecificOutput: { hookEventName: event, additionalContext: text } });
    case "snake":
      return JSON.stringify({ additional_context: text });
    case "camel":
      return JSON.stringify({ additionalContext: text });
    case "text":
      return text;
    default:
      return shape satisfies never;
  }
}
