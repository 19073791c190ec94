// `hermes chat --json` as a process of its own, which can be watched, stopped and killed; and a home for it with a tool that
// can be made to hang.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fenceUntrusted } from "@hermes-memory/core/internal/security";
import { modelSection, writeConfig } from "../../../agent/test/agent/agent-home.ts";
import type { ScriptedToolCall, WireKind } from "../../../agent/test/fakes/wires/script.ts";
import { startChild } from "../../../core/test/fakes/child.ts";
import { writePlugin } from "../../../core/test/fakes/plugins.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";

type JsonEvent = Readonly<Record<string, unknown>> & { readonly type: string };

export type ChatChild = {
  readonly pid: number;
  /** Reads on to the next event of that type; one that fits, where there is a condition. */
  event(type: string, fits?: (event: JsonEvent) => boolean): Promise<JsonEvent>;
  /** Runs a turn and gives its result. */
  turn(text: string): Promise<Readonly<Record<string, unknown>>>;
  say(line: string): void;
  closeInput(): void;
  /** Everything it still says. */
  rest(): Promise<string[]>;
  /** kill -9. */
  kill(): Promise<void>;
};

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");

/** `flags`: for Node. */
export function startChat(
  home: string,
  args: readonly string[] = [],
  flags: readonly string[] = [],
): ChatChild {
  const env = { HERMES_HOME: home, HERMES_SESSION_SOURCE: "cli" };
  // In the home: the AGENTS.md of this repository would be part of the prompt.
  const child = startChild(process.execPath, [...flags, MAIN, "chat", "--json", ...args], env, home);
  if (args.includes("-q")) child.closeInput(); // what is piped in would belong to the question
  const event: ChatChild["event"] = async (type, fits = () => true) => {
    for (let line = await child.nextLine(); line !== undefined; line = await child.nextLine()) {
      const said = JSON.parse(line) as JsonEvent;
      if (said.type === type && fits(said)) return said;
      if (said.type === "error") throw new Error(`The chat failed: ${line}`);
    }
    throw new Error(`The chat ended before it said '${type}'.`);
  };
  return {
    ...child,
    event,
    async turn(text) {
      child.say(text);
      return (await event("turn-end")).result as Readonly<Record<string, unknown>>;
    },
  };
}

/** What the model reads of the answer of `step`. */
export function stepResult(n: number): string {
  return fenceUntrusted(`result ${n}`, "steps/step");
}

/** A home whose agent has the tool `step`: `{ n }` gives `result <n>`, with `hang` it never comes back. */
export function stepHome(
  kind: WireKind,
  url: string,
  config: Readonly<Record<string, unknown>> = {},
  home = tempDirectory(),
): string {
  writePlugin(home, "steps", { "index.js": STEPS });
  const { model = {}, memory = {}, ...rest } = config;
  writeConfig(home, {
    ...rest,
    memory: { provider: "steps", ...(memory as object) },
    model: { ...modelSection(kind, url), ...(model as object) },
  });
  return home;
}

export function step(n: number, hang = false): ScriptedToolCall {
  return { name: "step", arguments: hang ? { n, hang } : { n }, id: `call_${n}` };
}

export type PlainRow = { readonly role: string; readonly content: unknown; readonly calls?: string };

/** The rows of all sessions as they are on disk, in the order they were written. Calls by their ids. */
export function storedRows(home: string, session?: string): PlainRow[] {
  const db = new DatabaseSync(join(home, "state.db"));
  try {
    const rows = db
      .prepare(
        "SELECT role, content, tool_calls, tool_call_id FROM messages WHERE active = 1 AND (:id IS NULL OR session_id = :id) ORDER BY id",
      )
      .all({ id: session ?? null });
    return rows.map(({ role, content, tool_calls, tool_call_id }) => {
      const calls = tool_calls === null ? [] : (JSON.parse(String(tool_calls)) as { readonly id: string }[]);
      const ids = [...calls.map(({ id }) => id), ...(tool_call_id === null ? [] : [String(tool_call_id)])];
      return { role: String(role), content, ...(ids.length === 0 ? {} : { calls: ids.join(" ") }) };
    });
  } finally {
    db.close();
  }
}

export function sessionIds(home: string): string[] {
  const db = new DatabaseSync(join(home, "state.db"));
  try {
    return db
      .prepare("SELECT id FROM sessions ORDER BY started_at, rowid")
      .all()
      .map(({ id }) => String(id));
  } finally {
    db.close();
  }
}

const STEPS = `export default class StepsMemoryProvider {
  name = "steps";
  isAvailable() { return true; }
  initialize() {}
  getToolSchemas() {
    const n = { type: "integer" };
    const hang = { type: "boolean" };
    return [{ name: "step", description: "Takes a step.", parameters: { type: "object", properties: { n, hang } } }];
  }
  handleToolCall(_name, { n, hang }) {
    if (hang) setInterval(() => {}, 60_000);
    return hang ? new Promise(() => {}) : \`result \${n}\`;
  }
}
`;
