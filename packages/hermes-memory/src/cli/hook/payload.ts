// The JSON that a client sends to a hook: read from stdin without waiting for its end, and reduced to the fields that a hook needs.
import { isRecord, parseOutsideJson } from "@hermes-memory/core/internal/lib";
import type { HookClientName } from "./protocols.ts";

export type Payload = {
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
export async function readPayload(input: NodeJS.ReadableStream): Promise<Payload | undefined> {
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
    caller: callerOf(fields, transcriptPath ?? ""),
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
function callerOf(
  fields: Readonly<Record<string, unknown>>,
  transcriptPath: string,
): HookClientName | undefined {
  if ("cursor_version" in fields || "conversation_id" in fields) return "cursor";
  const names = transcriptPath.split(/[\\/]/);
  const found = FOLDERS.find(([folder]) => names.includes(folder));
  if (found) return found[1];
  return "hookEventName" in fields && "sessionId" in fields ? "vscode" : undefined;
}
