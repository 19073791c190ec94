// Discord: the data package that Discord sends (own messages only), and the JSON files of DiscordChatExporter (one channel each).
import { basename, dirname, join } from "node:path";
import { format } from "../declare.ts";
import {
  type ExportFiles,
  exportFiles,
  headedMessages,
  membersIn,
  ofEach,
  openExport,
  toldOf,
  withHead,
} from "../kit/exports.ts";
import { type JsonItem, jsonArrayItems, parsedWhole, recordAt } from "../kit/json-array.ts";
import { type Chat, type ChatMessage, chatIfChosen, MESSENGER } from "../kit/messenger.ts";
import { joined } from "../kit/parts.ts";
import { type Json, names, recordOf, recordsOf, textOf, timeOf, utcTimeOf } from "../kit/values.ts";
import type { Reading } from "../reader.ts";

/** Kinds of messages that a person wrote; the others say that somebody joined, called or pinned. */
const WRITTEN = names("Default Reply ChatInputCommand ThreadStarterMessage");

export const discord = format({
  source: "discord",
  title: "Discord export",
  ...MESSENGER,
  ...exportFiles({ isMember, looksRight }),
  async *read(unit, reading) {
    await using files = await openExport(unit.path, reading);
    yield* ofEach(membersIn(files, isMember), files, reading, async function* (name) {
      const path = files.pathOf(name);
      await using beginning = await withHead(files.chunks(name), 1);
      if (beginning.head.startsWith("{")) {
        // A file of DiscordChatExporter: server and channel come before the messages.
        const channel = await headedMessages(beginning.all, reading);
        if (channel === undefined) return;
        const chat = chatOf(recordOf(channel.facts.channel) ?? {}, recordOf(channel.facts.guild));
        yield* chatIfChosen(chat, messagesOf(channel.items, path, reading), reading);
      } else {
        const chat = await packageChat(unit.path, name, files);
        const own = ownMessages(beginning.all, path, toldOf(name, files, reading));
        yield* chatIfChosen(chat, own, reading);
      }
    });
  },
});

/** `messages/c123/messages.json` of the package; `Server - channel [123].json` of the exporter. */
function isMember(name: string): boolean {
  return basename(name) === "messages.json" || /\[\d+\].*\.json$/.test(basename(name));
}

function looksRight(head: string): boolean {
  const isPackage = /^\s*\[\s*\{\s*"ID"\s*:/.test(head) && /"Timestamp"\s*:/.test(head);
  return isPackage || (/^\s*\{\s*"guild"\s*:/.test(head) && /"channel"\s*:\s*\{/.test(head));
}

async function* messagesOf(
  items: AsyncIterable<JsonItem>,
  path: string | undefined,
  reading: Reading,
): AsyncGenerator<ChatMessage> {
  for await (const { line, value } of items) {
    const message = recordOf(value);
    const id = textOf(message?.id);
    if (message === undefined || id === undefined) reading.malformed(line, "not a message");
    else if (WRITTEN.has(textOf(message.type) ?? "Default")) {
      const author = recordOf(message.author);
      yield {
        id,
        at: timeOf(message.timestamp),
        authorIds: [textOf(author?.id) ?? "unknown"],
        author: textOf(author?.nickname) ?? textOf(author?.name) ?? "unknown",
        text: joined([textOf(message.content), ...recordsOf(message.attachments).map(fileMark)]),
        line,
        path,
      };
    }
  }
}

function chatOf(channel: Json, guild: Json | undefined): Chat {
  const id = textOf(channel.id) ?? "unknown";
  const server = textOf(guild?.name);
  const name = joined([server]) === "" ? textOf(channel.name) : `${server} #${textOf(channel.name) ?? id}`;
  return { id, name: name ?? `channel ${id}`, isThread: /Thread/i.test(textOf(channel.type) ?? "") };
}

function fileMark(file: Json): string {
  const name = textOf(file.fileName) ?? "untitled";
  return /\.(?:png|jpe?g|gif|webp)$/i.test(name) ? "[image]" : `[file: ${name}]`;
}

/** The channel of the package's file, from the `channel.json` beside it, else from the folder's name. */
async function packageChat(unit: string, name: string, files: ExportFiles): Promise<Chat> {
  const folder = basename(dirname(files.pathOf(name) ?? unit));
  const record = await channelBeside(unit, name, files);
  return chatOf({ id: folder.replace(/^c/, ""), ...record }, recordOf(record?.guild));
}

async function channelBeside(unit: string, name: string, files: ExportFiles): Promise<Json | undefined> {
  if (files.pathOf(name) === undefined) return recordAt(join(dirname(unit), "channel.json"));
  const other = `${dirname(name)}/channel.json`;
  if (!files.names.includes(other)) return undefined;
  return recordOf(await parsedWhole(files.chunks(other)).catch(() => undefined)); // it only names the channel
}

/** The package holds the messages of its owner only, in no certain order. */
async function* ownMessages(
  chunks: AsyncIterable<Uint8Array>,
  path: string | undefined,
  told: Pick<Reading, "signal" | "malformed">,
): AsyncGenerator<ChatMessage> {
  const found: ChatMessage[] = [];
  for await (const { line, value } of jsonArrayItems(chunks, told)) {
    const message = recordOf(value);
    const id = message?.ID;
    if (message === undefined || (typeof id !== "number" && typeof id !== "string")) {
      told.malformed(line, "not a message");
      continue;
    }
    const urls = (textOf(message.Attachments) ?? "").split(/\s+/).filter((url) => url !== "");
    found.push({
      // The id is a number of up to 20 digits, of which parsing keeps 15.
      id: typeof id === "string" ? id : `${id}-${textOf(message.Timestamp) ?? ""}`,
      at: utcTimeOf(message.Timestamp),
      isMine: true,
      authorIds: [],
      author: "",
      text: joined([
        textOf(message.Contents),
        ...urls.map((url) => `[file: ${basename(url.split("?")[0] ?? "")}]`),
      ]),
      line,
      path,
    });
  }
  yield* found.sort((a, b) => (a.at ?? 0) - (b.at ?? 0));
}
