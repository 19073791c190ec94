// Telegram: `result.json` of Telegram Desktop's export, of one chat or of the whole account.
import { basename } from "node:path";
import { format } from "../declare.ts";
import { exportFiles, headedMessages, membersIn, openExport, withHead } from "../kit/exports.ts";
import { jsonArrayItems } from "../kit/json-array.ts";
import { type Chat, type ChatMessage, chatIfChosen, MESSENGER } from "../kit/messenger.ts";
import { joined } from "../kit/parts.ts";
import { type Json, listOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import type { Reading } from "../reader.ts";

export const telegram = format({
  source: "telegram",
  title: "Telegram export",
  ...MESSENGER,
  ...exportFiles({ isMember, looksRight }),
  async *read(unit, reading) {
    await using files = await openExport(unit.path, reading);
    for (const name of membersIn(files, isMember)) {
      const path = files.pathOf(name);
      await using beginning = await withHead(files.chunks(name));
      const { head, all } = beginning;
      if (isOneChat(head)) {
        const chat = await headedMessages(all, reading);
        if (chat === undefined) continue;
        yield* chatIfChosen(chatOf(chat.facts), messagesOf(chat.items, path, reading), reading);
      } else
        for await (const { line, value } of jsonArrayItems(all, reading, { at: ["chats", "list"] })) {
          const record = recordOf(value);
          if (record === undefined || !Array.isArray(record.messages)) {
            reading.malformed(line, "not a chat");
            continue;
          }
          const items = record.messages.map((message) => ({ line, value: message }));
          yield* chatIfChosen(chatOf(record), messagesOf(items, path, reading), reading);
        }
    }
  },
});

function isMember(name: string): boolean {
  return basename(name) === "result.json";
}

function looksRight(head: string): boolean {
  return /"(?:date_unixtime|personal_information)"\s*:/.test(head) && /^\s*\{/.test(head);
}

/** The export of an account has its messages below `chats`. */
function isOneChat(head: string): boolean {
  const messages = head.indexOf('"messages"');
  const chats = head.indexOf('"chats"');
  return messages >= 0 && (chats < 0 || messages < chats);
}

function chatOf({ id, name }: Json): Chat {
  const known = typeof id === "number" || typeof id === "string" ? String(id) : "unknown";
  return { id: known, name: textOf(name) ?? `chat ${known}` };
}

type Item = { readonly line: number; readonly value: unknown };

async function* messagesOf(
  items: AsyncIterable<Item> | Iterable<Item>,
  path: string | undefined,
  reading: Reading,
): AsyncGenerator<ChatMessage> {
  for await (const { line, value } of items) {
    const message = recordOf(value);
    const type = textOf(message?.type);
    if (type === "service") continue; // "Ana joined the group"
    if (message === undefined || type === undefined || message.id === undefined) {
      reading.malformed(line, "not a message");
      continue;
    }
    if (type !== "message") {
      reading.unknown(`type ${type}`);
      continue;
    }
    const from = textOf(message.from_id) ?? "unknown";
    yield {
      id: String(message.id),
      at: timeOf(message.date_unixtime) ?? timeOf(message.date),
      authorIds: [from, from.replace(/^(?:user|channel)/, "")],
      author: textOf(message.from) ?? "Deleted account",
      text: joined([textsOf(message.text), mediaOf(message)]),
      line,
      path,
    };
  }
}

/** Text, or a list of plain pieces and pieces with a format. */
function textsOf(text: unknown): string {
  if (typeof text === "string") return text;
  return listOf(text)
    .map((piece) => (typeof piece === "string" ? piece : (textOf(recordOf(piece)?.text) ?? "")))
    .join("");
}

function mediaOf(message: Json): string | undefined {
  if (message.photo !== undefined) return "[image]";
  if (textOf(message.sticker_emoji) !== undefined) return textOf(message.sticker_emoji);
  const kind = textOf(message.media_type);
  if (kind === "voice_message" || kind === "audio_file") return "[audio]";
  if (kind === "video_message" || kind === "video_file") return "[video]";
  const file = textOf(message.file);
  return file === undefined ? undefined : `[file: ${textOf(message.file_name) ?? basename(file)}]`;
}
