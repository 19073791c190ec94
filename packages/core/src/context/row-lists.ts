// Lists of chat rows where an engine works on messages: read when they come in, and given back as rows when it is done.
import { isRecord, randomHex } from "../lib/index.ts";
import {
  isMessage,
  type Message,
  type OpenAiMessage,
  readRow,
  toOpenAi,
  withMeta,
} from "../message/index.ts";
import type { CompressOutcome } from "./outcome.ts";

/** The kind of message an engine answers with: the kind it was given. */
export type InKind<M extends Message | OpenAiMessage> = M extends Message ? Message : OpenAiMessage;

type ReadList<M extends Message | OpenAiMessage> = {
  /** The list itself when it holds nothing but messages. Holes and entries that are no objects are left out. */
  readonly messages: readonly Message[];
  /** Rows where the list had no message in it. An unchanged message is the very row it was read from. */
  readonly inKind: (outcome: CompressOutcome) => CompressOutcome<InKind<M>>;
};

/** Never refuses an entry: a row of any depth, and one without a role, is a message of an unknown role. */
export function readList<M extends Message | OpenAiMessage>(list: readonly M[]): ReadList<M> {
  const asItIs = (outcome: CompressOutcome) => outcome as CompressOutcome<InKind<M>>;
  if (isMessageList(list)) return { messages: list, inKind: asItIs };
  const rows = new Map<Message, OpenAiMessage>();
  const ids = new Set<string>();
  const messages = list.filter(isRecord).map((entry): Message => {
    if (isMessage(entry)) return entry;
    const row = withSoundCalls(entry);
    const read = readRow(row);
    // An id that a row before has already: rows are told apart by it.
    const message = ids.has(read.meta.id) ? withMeta(read, { id: randomHex(6) }) : read;
    ids.add(message.meta.id);
    rows.set(message, row as OpenAiMessage);
    return message;
  });
  if (list.some(isMessage)) return { messages, inKind: asItIs };
  return { messages, inKind: (outcome) => asRows(outcome, list, rows) as CompressOutcome<InKind<M>> };
}

function isMessageList(list: readonly unknown[]): list is readonly Message[] {
  return list.every(isMessage);
}

function asRows(
  outcome: CompressOutcome,
  list: readonly unknown[],
  rows: ReadonlyMap<Message, OpenAiMessage>,
): CompressOutcome<OpenAiMessage> {
  const byId = new Map(Array.from(rows, ([{ meta }, row]) => [meta.id, row]));
  const messages = outcome.messages.map(
    (message) => rows.get(message) ?? { ...ownKeys(byId.get(message.meta.id)), ...toOpenAi(message) },
  );
  const isSame = messages.length === list.length && messages.every((row, at) => row === list[at]);
  if (isSame) return { ...outcome, messages: list as readonly OpenAiMessage[] };
  return { ...outcome, kind: outcome.kind === "unchanged" ? "pruned" : outcome.kind, messages };
}

/** Keys for the caller's own use, which no message has a field for. */
function ownKeys(row: OpenAiMessage = { role: "" }): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(row).filter(([key]) => key.startsWith("_") && key !== "_compressed_summary"),
  );
}

type Row = Readonly<Record<string, unknown>>;

/** Without calls that no result could ever answer: entries without an id, and lists that are none. */
function withSoundCalls(row: Row): Row {
  if (row.role !== "assistant" || row.tool_calls === undefined || row.tool_calls === null) return row;
  const given: readonly unknown[] = Array.isArray(row.tool_calls) ? row.tool_calls : [];
  const sound = given.filter((call) => isRecord(call) && (isText(call.call_id) || isText(call.id)));
  if (sound.length > 0 && sound.length === given.length) return row;
  const { tool_calls: _, ...rest } = row;
  return sound.length > 0 ? { ...rest, tool_calls: sound } : { ...rest, content: row.content ?? "" };
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
