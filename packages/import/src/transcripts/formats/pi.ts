// pi, the coding agent: one JSONL file per session, below a folder per project: a header, then entries that form a tree. OpenClaw and Letta
// Code store their sessions the same way.
import { basename, join } from "node:path";
import { type Draft, format, type Said } from "../declare.ts";
import { type Blocks, blocksOf } from "../kit/blocks.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { pathTo } from "../kit/message-tree.ts";
import { joined, toolCall, usageOf } from "../kit/parts.ts";
import { type Json, names, numberOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { unitsOf } from "../kit/walk.ts";
import type { Reading, SessionFacts } from "../reader.ts";

export const pi = format({
  source: "pi",
  title: "pi",
  evidence: "S",
  version: 2,
  keepsEmpty: true,
  roots: ({ home, env }) => [join(env.PI_CODING_AGENT_DIR || join(home, ".pi", "agent"), "sessions")],
  units: unitsOf((path) => path.endsWith(".jsonl")),
  // OpenClaw and Letta Code write the same header; their readers know their own files by the path.
  recognises: ({ path, first }) =>
    first.type === "session" &&
    typeof first.timestamp === "string" &&
    basename(path) !== "messages.jsonl" &&
    !/[\\/]agents[\\/][^\\/]+[\\/]sessions[\\/]/.test(path),
  read: (unit, reading) => readPiFile({ path: unit.path, nativeIdOf: (id) => id }, reading),
});

/** Where a product differs from pi. */
export type PiRules = {
  /** The text of a user without what the product added to it. Undefined: a machine wrote the message, leave it out. */
  readonly userText?: (text: string) => string | undefined;
  /** An assistant's text that says that the whole turn stayed silent. */
  readonly isSilent?: (text: string) => boolean;
  /** The provider of messages that the product wrote itself, which name no model. */
  readonly ownProvider?: string;
};

export type PiFile = PiRules & {
  readonly path: string;
  /** `id` is that of the header, else the name of the file. */
  readonly nativeIdOf: (id: string) => string;
  /** Facts from outside the file. */
  readonly facts?: Partial<SessionFacts>;
};

export async function* readPiFile(file: PiFile, reading: Reading): AsyncGenerator<Said> {
  let records: PiRecords | undefined;
  for await (const { value, line } of jsonLines(file.path, reading)) {
    if (records !== undefined) {
      yield* records.take(value, line);
      continue;
    }
    const header = piHeader(value);
    if (header === undefined) return reading.malformed(line, "the file does not begin with a session header");
    const { id = stemOf(file.path), ...facts } = header;
    const nativeId = file.nativeIdOf(id);
    const forkedFrom = await forkedFromOf(value, reading);
    yield {
      ...facts,
      ...(forkedFrom && { continues: { how: "fork", session: file.nativeIdOf(forkedFrom) } }),
      ...file.facts,
      nativeId,
    };
    records = new PiRecords(nativeId, reading, file);
  }
  if (records !== undefined) yield* records.end();
}

export function stemOf(path: string): string {
  return basename(path).replace(/\.jsonl.*$/, "");
}

/** The header names the file; where that is gone, its name ends in the id. */
async function forkedFromOf(header: Json, reading: Reading): Promise<string | undefined> {
  const path = textOf(header.parentSession) ?? textOf(header.branchedFrom);
  if (path === undefined) return undefined;
  if (!path.endsWith(".jsonl")) return path;
  const quiet = { signal: reading.signal, malformed: () => {}, advanced: () => {} };
  try {
    for await (const { value } of jsonLines(path, quiet)) {
      const id = piHeader(value)?.id;
      if (id !== undefined) return id;
      if (value.type === "message") break;
    }
  } catch {
    // Deleted, or from another machine.
    reading.signal.throwIfAborted();
  }
  return textOf(path.replace(/\.jsonl$/, "").replace(/^.*[_\\/]/, ""));
}

type Row = Draft & { readonly id: string };

/** Known, and nothing to keep: recaps of turns that are still in the file, and notes of extensions. */
const SKIPPED_TYPES = names(`
  compaction branch_summary custom_message custom label thinking_level_change session
`);
const SKIPPED_ROLES: ReadonlySet<string> = new Set(["branchSummary", "compactionSummary"]);

/** Facts of the header, or undefined when the record is none. */
export function piHeader(record: Json): (Partial<SessionFacts> & { readonly id?: string }) | undefined {
  if (record.type !== "session") return undefined;
  const id = textOf(record.id);
  return {
    ...(id === undefined ? {} : { id }),
    cwd: textOf(record.cwd),
    startedAt: timeOf(record.timestamp),
    // The first version names the model here.
    model: textOf(record.modelId),
    provider: textOf(record.provider),
  };
}

/** The entries of one session, in the order of the file. Keeps ids, no texts. */
export class PiRecords {
  readonly #nativeId: string;
  readonly #reading: Reading;
  readonly #rules: PiRules;
  readonly #parents = new Map<string, string | undefined>();
  /** Ids of the rows that an entry became. */
  readonly #rows = new Map<string, readonly string[]>();
  /** Entries before a `reset` are part of the conversation although no later entry leads back to them. */
  readonly #kept = new Set<string>();
  #leaf: string | undefined;
  #turn: string[] = [];
  #provider: string | undefined;

  constructor(nativeId: string, reading: Reading, rules: PiRules = {}) {
    this.#nativeId = nativeId;
    this.#reading = reading;
    this.#rules = rules;
  }

  /** `line` is the number of the line or row, counted from 1. */
  *take(entry: Json, line: number): Generator<Said> {
    const type = textOf(entry.type) ?? "";
    const entryId = textOf(entry.id) ?? textOf(recordOf(entry.message)?.id);
    if (type === "reset" && this.#leaf !== undefined)
      for (const id of pathTo(this.#leaf, this.#parents)) this.#kept.add(id);
    if (entryId !== undefined && type !== "session") this.#join(entryId, type, entry);
    if (type === "message") yield* this.#message(entry, entryId, line);
    else if (type === "session_info") yield this.#facts({ title: textOf(entry.name) });
    else if (type === "model_change")
      yield this.#facts({ model: textOf(entry.modelId), provider: textOf(entry.provider) });
    else if (!SKIPPED_TYPES.has(type) && type !== "reset")
      this.#reading.unknown(type === "" ? "record without type" : type);
  }

  /** What is not on the way to the last entry. */
  *end(): Generator<Said> {
    if (this.#leaf === undefined) return;
    const path = pathTo(this.#leaf, this.#parents);
    const ids = [...this.#rows].flatMap(([entry, rows]) =>
      path.has(entry) || this.#kept.has(entry) ? [] : rows,
    );
    if (ids.length > 0) yield { kind: "inactive", ids };
  }

  #join(id: string, type: string, entry: Json): void {
    // Some programs append entries without a parent, and the line of a parent may be damaged: both follow the entry before.
    // `null` is different: it starts a new branch at the root.
    const named = textOf(entry.parentId);
    const isLost = entry.parentId === undefined || (named !== undefined && !this.#parents.has(named));
    const parent = isLost ? this.#leaf : named;
    this.#parents.set(id, parent === id ? undefined : parent);
    // A title without a parent says nothing about the branch that is in use.
    if (type === "message" || parent !== undefined || this.#leaf === undefined) this.#leaf = id;
  }

  #facts(facts: Partial<SessionFacts>): Said {
    return { ...facts, nativeId: this.#nativeId };
  }

  *#message(entry: Json, entryId: string | undefined, line: number): Generator<Said> {
    const message = recordOf(entry.message);
    if (message === undefined) return this.#reading.malformed(line, "a message without content");
    const id = entryId ?? `l${line}`;
    const provider = message.role === "assistant" ? textOf(message.provider) : undefined;
    if (provider !== undefined && provider !== this.#provider && provider !== this.#rules.ownProvider) {
      this.#provider = provider;
      yield this.#facts({ provider });
    }
    const at = timeOf(message.timestamp) ?? timeOf(entry.timestamp);
    const rows = this.#rowsOf(message, id).map((row) => ({ ...row, at, line }));
    if (message.role === "user") this.#turn = [];
    if (rows.length === 0) return;
    if (this.#isSilent(rows)) {
      if (this.#turn.length > 0) yield { kind: "inactive", ids: this.#turn };
      this.#turn = [];
      return;
    }
    const ids = rows.map((row) => row.id);
    this.#turn.push(...ids);
    if (entryId !== undefined) this.#rows.set(entryId, ids);
    yield* rows;
  }

  #isSilent([row, ...more]: readonly Row[]): boolean {
    if (row?.role !== "assistant" || (row.toolCalls?.length ?? 0) > 0 || more.length > 0) return false;
    return this.#rules.isSilent?.(row.text) === true;
  }

  #rowsOf(message: Json, id: string): readonly Row[] {
    const role = textOf(message.role) ?? "";
    const content = contentOf(message.content, this.#reading);
    const results = content.toolResults.map(({ text, callId }, index) => ({
      ...{ id: `${id}-r${index + 1}`, role: "tool", text, toolCallId: textOf(callId) },
    }));
    if (role === "user") {
      const text = this.#rules.userText === undefined ? content.text : this.#rules.userText(content.text);
      return text === undefined || (text === "" && results.length > 0)
        ? results
        : [{ id, role, text }, ...results];
    }
    if (role === "assistant") return [...this.#answer(message, id, content), ...results];
    if (role === "toolResult" || role === "tool") return [toolRow(message, id, content)];
    if (role === "bashExecution") return message.excludeFromContext === true ? [] : commandRows(message, id);
    // Text of an extension: the agent gives it to the model as the user's. `hookMessage` is its name in version 2.
    if (role === "custom" || role === "hookMessage")
      return message.display === true && content.text !== ""
        ? [{ id, role: "user", text: content.text }]
        : [];
    if (role === "developer" || role === "system")
      return this.#reading.options.includeSystem ? [{ id, role: "system", text: content.text }] : [];
    if (!SKIPPED_ROLES.has(role)) this.#reading.unknown(`role ${role || "missing"}`);
    return [];
  }

  #answer(message: Json, id: string, content: Blocks): Row[] {
    const stop = textOf(message.stopReason);
    const isEmpty = content.text === "" && content.toolCalls.length === 0;
    if (isEmpty && (stop === "error" || stop === "aborted")) return [];
    const { reasoning } = content;
    if (isEmpty && (reasoning === undefined || !this.#reading.options.includeReasoning)) return [];
    const isOwn = message.provider !== undefined && message.provider === this.#rules.ownProvider;
    return [
      {
        ...{ id, role: "assistant", text: content.text, toolCalls: content.toolCalls, reasoning },
        finishReason: stop,
        model: isOwn ? undefined : textOf(message.model),
        usage: usageOf(message.usage, ["input", "output", "cacheRead", "cacheWrite"]),
      },
    ];
  }
}

/** pi's own block types; the others are those of Anthropic's API. */
function contentOf(content: unknown, { unknown }: Reading): Blocks {
  return blocksOf(content, unknown, (block) => {
    if (block.type === "toolCall") return { ...block, type: "tool_use", input: block.arguments };
    if (block.type !== "toolResult") return block;
    const text = textOf(block.text) ?? blocksOf(block.content, unknown).text;
    return { type: "tool_result", tool_use_id: textOf(block.toolCallId) ?? block.toolUseId, content: text };
  });
}

function toolRow(message: Json, id: string, content: Blocks): Row {
  return {
    id,
    role: "tool",
    text: joined([content.text, ...content.toolResults.map(({ text }) => text)]),
    toolCallId: textOf(message.toolCallId) ?? textOf(content.toolResults[0]?.callId),
    toolName: textOf(message.toolName),
  };
}

/** A command that the user ran in the agent: a call that nobody asked the model for, and its result. */
function commandRows(message: Json, id: string): Row[] {
  const call = toolCall(`${id}-call`, "bash", { command: textOf(message.command) ?? "" });
  const exitCode = numberOf(message.exitCode);
  const text = joined([
    textOf(message.output),
    exitCode === undefined || exitCode === 0 ? undefined : `[exit code ${exitCode}]`,
  ]);
  return [
    { id: `${id}-c`, role: "assistant", text: "", toolCalls: [call] },
    { id, role: "tool", text, toolCallId: call.id, toolName: "bash" },
  ];
}
