// What the stand-in answers when nothing is wrong with it. Notes are files in the tree of the working directory.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrvPlan } from "../brv.ts";

export type Line = { readonly data: object; readonly success: boolean };
export type Answer = {
  readonly lines: readonly Line[];
  /** Said without JSON, with an exit code. */
  readonly plain?: { readonly code: number; readonly text: string };
};

type Parsed = { readonly flags: ReadonlyMap<string, string>; readonly text: string };
type Command = (parsed: Parsed, plan: BrvPlan) => readonly Line[];

const VERSION = `byterover-cli/3.14.0 ${process.platform}-${process.arch} node-${process.version}\n`;
const FOOTER = "\n\n---\nSource: ByteRover Knowledge Base";
const NO_PROVIDER =
  'No provider connected. Run "brv providers connect byterover" to use the free built-in provider.';
const WITH_VALUE = ["--format", "--timeout", "--limit", "--api-key"];

export function answer([command = "", ...words]: readonly string[], plan: BrvPlan): Answer {
  if (command === "--version") return { lines: [], plain: { code: 0, text: VERSION } };
  const run = COMMANDS[command];
  if (run === undefined)
    return {
      lines: [],
      plain: { code: 1, text: `\nCommand "${command}" not found\n\nRun "brv --help"\n` },
    };
  const parsed = parse(command, words);
  if (typeof parsed !== "string") return { lines: run(parsed, plan) };
  return {
    lines: [],
    plain: { code: 2, text: ` ›   Error: ${parsed}\n ›   See more help with --help\n` },
  };
}

const COMMANDS: Readonly<Record<string, Command>> = {
  status: (_parsed, plan) => [
    good({
      authStatus: plan.isLoggedIn === true ? "logged_in" : "not_logged_in",
      contextTreeStatus: existsSync(treePath()) ? "no_changes" : "not_initialized",
      currentDirectory: process.cwd(),
      projectRoot: process.cwd(),
      cliVersion: "3.14.0",
    }),
  ],

  providers: (_parsed, plan) => [
    plan.isConnected === false
      ? good({ providerId: "", providerName: "" })
      : good({ activeModel: "m1", providerId: "openai-compatible", providerName: "OpenAI Compatible" }),
  ],

  // The real one does not repeat the key; this one does, so that a test sees whether it is passed on.
  login: ({ flags }, plan) => {
    const key = flags.get("--api-key");
    return [
      key === plan.apiKey ? good({ userEmail: "someone@example.com" }) : bad({ error: `bad key ${key}` }),
    ];
  },

  search: ({ flags, text }) => {
    const all = found(text);
    const results = all.slice(0, Number(flags.get("--limit") ?? 10));
    return [good({ message: `Found ${all.length}.`, results, totalFound: all.length, status: "completed" })];
  },

  query: ({ text }, plan) => {
    initialise();
    if (plan.isConnected === false) return [bad({ error: NO_PROVIDER, status: "error" })];
    const matchedDocs = found(text);
    const result = plan.answer ?? matchedDocs.map(({ excerpt }) => excerpt).join("\n");
    const nothing = `**Summary**: No matching knowledge found for "${text}".\n\n**Sources**: None${FOOTER}`;
    if (result === "") return [completed({ matchedDocs, result: nothing, tier: 2, topScore: 0 })];
    const response = good({ content: result, event: "response", taskId: "t-1" });
    return [
      ...PROGRESS,
      response,
      completed({ matchedDocs, result: result + FOOTER, tier: 3, topScore: 0.8 }),
    ];
  },

  curate: ({ flags, text }, plan) => {
    initialise();
    if (plan.isConnected === false) return [bad({ error: NO_PROVIDER, status: "error" })];
    writeFileSync(join(treePath(), `note-${readdirSync(treePath()).length + 1}.md`), text);
    if (!flags.has("--detach"))
      return [...PROGRESS, completed({ logId: "cur-1", message: "Context curated successfully" })];
    return [
      good({ logId: "cur-1", message: "Context queued for processing", status: "queued", taskId: "t-1" }),
    ];
  },
};

const PROGRESS: readonly Line[] = [
  good({ event: "thinking", taskId: "t-1" }),
  good({ args: { path: "." }, event: "toolCall", taskId: "t-1", toolName: "read" }),
  good({ event: "toolResult", success: true, taskId: "t-1", toolName: "read" }),
];

function parse(command: string, words: readonly string[]): Parsed | string {
  const flags = new Map<string, string>();
  const texts: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? "";
    const [name = "", value] = word.split(/=(.*)/s);
    if (word === "--") {
      texts.push(...words.slice(at + 1));
      break;
    }
    if (!word.startsWith("-")) texts.push(word);
    else if (name === "--detach") flags.set(name, "");
    else if (WITH_VALUE.includes(name)) {
      flags.set(name, value ?? words[at + 1] ?? "");
      if (value === undefined) at += 1;
    } else return `Nonexistent flag: ${word}`;
  }
  if (Number(flags.get("--timeout") ?? 10) < 10) return "Parsing --timeout";
  if (!(Number(flags.get("--limit") ?? 1) <= 50)) return "Parsing --limit";
  if (command === "curate" && texts.length > 1) return `Unexpected argument: ${texts[1]}`;
  return { flags, text: texts[0] ?? "" };
}

function found(text: string): { title: string; path: string; score: number; excerpt: string }[] {
  const words = text.toLowerCase().match(/\w{3,}/g) ?? [];
  const files = existsSync(treePath()) ? readdirSync(treePath()).sort() : [];
  return files.flatMap((path) => {
    const excerpt = readFileSync(join(treePath(), path), "utf8");
    const isHit = words.some((word) => excerpt.toLowerCase().includes(word));
    return isHit ? [{ title: `Title of ${path}`, path, score: 0.81, excerpt }] : [];
  });
}

function initialise(): void {
  mkdirSync(treePath(), { recursive: true });
  writeFileSync(join(treePath(), "..", "config.json"), '{"version":"0.0.1"}');
}

function treePath(): string {
  return join(process.cwd(), ".brv", "context-tree");
}

function completed(data: object): Line {
  return good({ ...data, event: "completed", status: "completed", taskId: "t-1" });
}

function good(data: object): Line {
  return { data, success: true };
}

function bad(data: object): Line {
  return { data, success: false };
}
