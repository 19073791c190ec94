// One call of `hermes hook <client> <event>`: prints the memory at the start of a session, or leaves the transcript for the worker that
// imports it. The client waits for this process, so it loads little, and whatever goes wrong, it prints nothing and ends with 0.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import {
  DEFAULT_PROFILE,
  type HomeContext,
  logPath,
  memoriesDirectory,
  type SelectedHome,
  selectHome,
  systemHomeContext,
} from "@hermes-memory/core/internal/home";
import { isRecord, parseOutsideJson } from "@hermes-memory/core/internal/lib";
import type { CommandBody } from "../command.ts";
import { CaptureQueue } from "./capture-queue.ts";
import { answerText, findHookClient, type HookClient, type HookClientName } from "./protocols.ts";
import { cursorTranscript, judgeTranscript } from "./transcript-path.ts";

export type HookRequest = {
  readonly client: string;
  readonly event: string;
  /** The value of `--home`: stands for HERMES_HOME, which clients do not pass on. */
  readonly home?: string;
  readonly profile?: string;
};

/** What a hook needs of its process; tests pass their own. */
export type HookProcess = {
  readonly system: HomeContext;
  readonly input: NodeJS.ReadableStream;
  readonly now: () => number;
  /** Starts the detached process that imports what waits in the queue of this home. */
  readonly startWorker: (home: SelectedHome) => void;
};

/** `hermes hook` when it comes through the command line, for example after `-p work`. Clients start hook/main.ts instead. */
export const hook: CommandBody = async ({ args: { client = "", event = "" }, flags }, { home }) => {
  const profile = home.profile === DEFAULT_PROFILE ? DEFAULT_PROFILE : undefined;
  const place = typeof flags.home === "string" ? { home: flags.home } : { home: home.home, profile };
  const text = await runHook({ client, event, ...place }, systemHookProcess());
  return { json: undefined, lines: text === "" ? [] : [text] };
};

/** Set to 0 for every process that we start ourselves, so that an agent below it does not call us back. */
export const OWN_PROCESS = "HERMES_MEMORY_HOOK";

/** The text for stdout; "" for none. Never rejects. */
export async function runHook(request: HookRequest, process: HookProcess): Promise<string> {
  if (process.system.env[OWN_PROCESS] === "0") return "";
  let home: SelectedHome | undefined;
  try {
    home = homeOf(request, process.system);
    return await answer(request, home, process);
  } catch (cause) {
    await log(home, `The hook ${request.client} ${request.event} failed`, { cause });
    return "";
  }
}

export function homeOf({ home, profile }: HookRequest, system: HomeContext): SelectedHome {
  const context = home === undefined ? system : { ...system, env: { ...system.env, HERMES_HOME: home } };
  const selected = selectHome(context, { profile });
  if (!selected.ok) throw new Error(selected.error.message);
  return selected.value;
}

async function answer(request: HookRequest, home: SelectedHome, process: HookProcess): Promise<string> {
  const named = findHookClient(request.client);
  const job =
    named && Object.hasOwn(named.client.events, request.event)
      ? named.client.events[request.event]
      : undefined;
  if (!named || job === undefined) {
    await log(home, "A hook was called that this version does not know", {
      client: request.client.slice(0, 40),
      event: request.event.slice(0, 40),
    });
    return "";
  }
  const payload = await readPayload(process.input);
  if (payload === undefined) {
    await log(home, `The hook ${named.name} ${request.event} got no JSON object of at most 1 MiB on stdin`);
    return "";
  }
  if (payload.isSubagent) return "";
  const caller = callerOf(named, payload);
  if (job === "inject") return await memoryFor(caller.client, request.event, { payload, home, process });
  await capture(caller, { payload, home, process });
  return "";
}

type Caller = { readonly name: HookClientName; readonly client: HookClient };
type Call = { readonly payload: Payload; readonly home: SelectedHome; readonly process: HookProcess };

/** Other programs run the hooks of Claude Code's settings as well; every other settings file has one reader. */
function callerOf(named: Caller, { caller }: Payload): Caller {
  return (named.name === "claude-code" && caller !== undefined && findHookClient(caller)) || named;
}

// ---- Injection ----

/** Where the client keeps the output of its hooks in the history, a resumed or forked session has the memory already. */
const INHERITING: ReadonlySet<string> = new Set(["resume", "fork"]);
/** The memory is not in the list that the session goes on with: it was cleared or summarised, or the client never stored it. */
const RESETTING: ReadonlySet<string> = new Set(["clear", "compact", ...INHERITING]);

async function memoryFor(client: HookClient, event: string, call: Call): Promise<string> {
  const { payload, home, process } = call;
  const source = payload.source ?? "startup";
  if (INHERITING.has(source) && !client.forgetsMemory) return "";
  const text = await readMemory(home.home);
  if (text === undefined) return "";
  const queue = new CaptureQueue(home.home);
  const isFirst =
    payload.sessionId === undefined ||
    queue.isFirstStart(payload.sessionId, RESETTING.has(source), process.now());
  return isFirst ? answerText(client.answer, event, text) : "";
}

/** The blocks of the system prompt in a fence; undefined when nothing is remembered. A capture does not load the threat scanner. */
async function readMemory(home: string): Promise<string | undefined> {
  const [{ loadMemoryConfig }, { fenceFrozenBlocks, readFrozenBlocks }] = await Promise.all([
    import("@hermes-memory/core/internal/config"),
    import("@hermes-memory/core/internal/frozen-blocks"),
  ]);
  const config = await loadMemoryConfig(home); // the YAML library is loaded only for an unusual file
  if (!config.ok) throw new Error("config.yaml cannot be used. 'hermes config check' says why.");
  return fenceFrozenBlocks(readFrozenBlocks(memoriesDirectory(home), config.value));
}

// ---- Capture ----

async function capture({ name, client }: Caller, { payload, home, process }: Call): Promise<void> {
  if (client.source === undefined) return;
  const roots = client.roots(process.system);
  const named = client.sendsPath ? payload.transcriptPath : undefined;
  const path = name === "cursor" ? cursorPath(payload, roots) : named;
  if (path === undefined && client.sendsPath) return; // the session has no transcript yet
  if (path !== undefined && judgeTranscript(path, roots) === "refused") {
    await log(home, `The hook of ${client.title} named a file that is no transcript of it`);
    return;
  }
  const queue = new CaptureQueue(home.home);
  queue.add(path === undefined ? { client: name } : { client: name, path }, payload.sessionId);
  if (!queue.claim(process.now())) return;
  try {
    process.startWorker(home);
  } catch (cause) {
    queue.release();
    throw cause;
  }
}

function cursorPath({ sessionId }: Payload, [root]: readonly string[]): string | undefined {
  return root === undefined || sessionId === undefined ? undefined : cursorTranscript(root, sessionId);
}

/** Instead of client and event: work on the queue. */
export const WORKER = "--worker";

export function systemHookProcess(): HookProcess {
  return { system: systemHomeContext(), input: process.stdin, now: Date.now, startWorker };
}

/** No shell, and nothing of the client's input is among the words. */
function startWorker({ home, profile }: SelectedHome): void {
  const place = ["--home", home, ...(profile === DEFAULT_PROFILE ? ["--profile", DEFAULT_PROFILE] : [])];
  const child = spawn(process.execPath, [process.argv[1] ?? "", "hook", ...place, WORKER], {
    detached: true,
    stdio: "ignore",
    windowsHide: true,
    env: { ...process.env, [OWN_PROCESS]: "0" },
  });
  child.on("error", () => {}); // the marker gets old, and a later hook tries again
  child.unref();
}

/**
 * Of hooks and their worker, in the log of the home, with secrets masked. Loads the logger only now: nearly every hook has nothing to say.
 * Does not create the home.
 */
export async function log(
  home: SelectedHome | undefined,
  message: string,
  fields?: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (home === undefined || !existsSync(home.home)) return;
  const { createLogger } = await import("@hermes-memory/core/internal/logger");
  const { redactSecrets } = await import("@hermes-memory/core/internal/security");
  createLogger({ path: logPath(home.home), redact: redactSecrets }).warn(message, fields);
}

// The JSON that a client sends: read from stdin without waiting for its end, and reduced to the fields that a hook needs.

type Payload = {
  readonly sessionId: string | undefined;
  readonly transcriptPath: string | undefined;
  /** Why a session starts: `startup`, `resume`, `clear`, `compact`, `fork` or `new`. */
  readonly source: string | undefined;
  /** The call comes from a subagent or a helper, whose work belongs to the session of its parent. */
  readonly isSubagent: boolean;
  /** The client that really calls, as far as its fields show it. */
  readonly caller: HookClientName | undefined;
};

const MOST_BYTES = 1024 * 1024;
/** Some clients never close the pipe. */
const LONGEST_WAIT_MS = 300;

/** A session id that may be part of a file name. */
const PLAIN_ID = /^[\w-]{1,128}$/;

/** Undefined for anything but one JSON object of at most 1 MiB. */
async function readPayload(input: NodeJS.ReadableStream): Promise<Payload | undefined> {
  const text = await readObjectText(input);
  const parsed = text === undefined ? undefined : parseOutsideJson(text, { maxChars: MOST_BYTES });
  return parsed?.ok && isRecord(parsed.value) ? payloadOf(parsed.value) : undefined;
}

/** The text up to the end of the first complete JSON object, or what has arrived when the time is up. */
function readObjectText(input: NodeJS.ReadableStream): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const finish = (): void => resolve(bytes > MOST_BYTES ? undefined : Buffer.concat(chunks).toString("utf8"));
  const timer = setTimeout(finish, LONGEST_WAIT_MS);
  input.on("data", (chunk: Buffer | string) => {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes <= MOST_BYTES) chunks.push(part);
    if (bytes > MOST_BYTES || isComplete(part, chunks)) finish();
  });
  input.on("end", finish);
  input.on("error", finish); // a closed pipe is an empty payload
  return promise.finally(() => {
    clearTimeout(timer);
    input.pause();
  });
}

const CLOSING_BRACE = 0x7d;

/** Parses only when the part ends like an object, so that a large payload is not parsed for each of its parts. */
function isComplete(part: Buffer, chunks: readonly Buffer[]): boolean {
  const end = part.findLastIndex((byte) => byte > 0x20);
  if (part[end] !== CLOSING_BRACE) return false;
  return parseOutsideJson(Buffer.concat(chunks).toString("utf8"), { maxChars: MOST_BYTES }).ok;
}

/** Clients differ in the case of their field names, and one of them sends either, so both are read. */
export function payloadOf(fields: Readonly<Record<string, unknown>>): Payload {
  const text = (...names: readonly string[]): string | undefined =>
    names.map((name) => fields[name]).find((value) => typeof value === "string" && value !== "") as
      | string
      | undefined;
  const transcriptPath = text("transcript_path", "transcriptPath");
  const sessionId = text("conversation_id", "session_id", "sessionId");
  return {
    sessionId: sessionId !== undefined && PLAIN_ID.test(sessionId) ? sessionId : undefined,
    transcriptPath,
    source: text("source"),
    isSubagent:
      text("agent_id", "agentId") !== undefined ||
      fields.is_background_agent === true ||
      fields.isSidechain === true,
    caller: callerIn(fields, transcriptPath ?? ""),
  };
}

/** Folders of the user's home that only one client writes transcripts to. */
const FOLDERS: readonly (readonly [string, HookClientName])[] = [
  [".cursor", "cursor"],
  [".codex", "codex"],
  [".gemini", "gemini-cli"],
  [".copilot", "copilot-cli"],
  [".factory", "droid"],
  [".qwen", "qwen-code"],
  [".grok", "grok"],
];

/** Cursor, VS Code, Copilot CLI and Grok also run the hooks in Claude Code's settings, so the command does not tell who calls. */
function callerIn(
  fields: Readonly<Record<string, unknown>>,
  transcriptPath: string,
): HookClientName | undefined {
  if ("cursor_version" in fields || "conversation_id" in fields) return "cursor";
  const names = transcriptPath.split(/[\\/]/);
  const found = FOLDERS.find(([folder]) => names.includes(folder));
  if (found) return found[1];
  return "hookEventName" in fields && "sessionId" in fields ? "vscode" : undefined;
}
