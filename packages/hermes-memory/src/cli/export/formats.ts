// The formats of an export: for each, how sessions become files.
import type { ExportedSession } from "@hermes-memory/core/internal/sessions";
import { type ShownMessage, shownMessages, type Written } from "./exported-message.ts";
import { writeMarkdown } from "./markdown-session.ts";
import type { StagedOutput } from "./staged-output.ts";

export type Format = {
  /** Of a file with all sessions. Undefined for a format that needs a folder. */
  readonly extension?: string;
  /** Of that file, when a folder is given. */
  readonly fileName: string;
  readonly write: (
    sessions: AsyncIterable<ExportedSession>,
    output: StagedOutput,
    /** `all`: also turns that were taken back. */
    options: { readonly all: boolean; readonly sessionsFile: string },
  ) => Promise<Written>;
};

export const FORMATS: Readonly<Record<"markdown" | "jsonl" | "chatgpt", Format>> = {
  markdown: { fileName: "index.md", write: writeMarkdown },
  jsonl: {
    extension: ".jsonl",
    fileName: "sessions.jsonl",
    write: oneFile("", "", (session, all) => {
      // Turns that a compaction replaced are part of the conversation.
      const kept = session.messages.filter(({ active, compacted }) => all || active !== 0 || compacted === 1);
      return { messages: kept.length, texts: jsonLine({ ...session, messages: kept }) };
    }),
  },
  chatgpt: {
    extension: ".json",
    fileName: "conversations.json",
    write: oneFile("[", "\n]\n", (session, all, index) => {
      const shown = shownMessages(session, { all });
      const text = JSON.stringify(chatGptConversation(session, shown));
      return { messages: shown.length, texts: [index === 0 ? "\n" : ",\n", text] };
    }),
  },
};

function oneFile(
  begin: string,
  end: string,
  textsOf: (
    session: ExportedSession,
    all: boolean,
    index: number,
  ) => { readonly messages: number; readonly texts: Iterable<string> },
): Format["write"] {
  return async (sessions, output, { all, sessionsFile }) => {
    const file = await output.open(sessionsFile);
    let count = 0;
    let written = 0;
    await file.write(begin);
    for await (const session of sessions) {
      const { messages, texts } = textsOf(session, all, count);
      for (const text of texts) await file.write(text);
      count += 1;
      written += messages;
    }
    await file.write(end);
    await file.close();
    return { sessions: count, messages: written };
  };
}

/** Message by message, because a long conversation does not fit into one string. */
function* jsonLine({ messages, ...session }: ExportedSession): Generator<string> {
  yield `${JSON.stringify(session).slice(0, -1)},"messages":[`;
  for (const [index, message] of messages.entries())
    yield `${index === 0 ? "" : ","}${JSON.stringify(message)}`;
  yield "]}\n";
}

// ---- ChatGPT ----

type Node = {
  readonly id: string;
  readonly parent: string | null;
  readonly children: string[];
  readonly message: object | null;
};

/**
 * A tool call is a message of its own in this format, to the tool as recipient. Turns that were taken back are a side branch of the
 * message before them.
 */
function chatGptConversation(session: ExportedSession, messages: readonly ShownMessage[]): object {
  const root: Node = { id: `${session.id}-root`, parent: null, children: [], message: null };
  const nodes: Node[] = [root];
  let activeTip = root;
  let last = root;
  for (const message of messages) {
    let above = message.isActive ? activeTip : last;
    for (const one of messagesOf(session, message)) {
      const node: Node = { id: one.id, parent: above.id, children: [], message: one };
      above.children.push(node.id);
      nodes.push(node);
      above = node;
    }
    last = above;
    if (message.isActive) activeTip = above;
  }
  return {
    title: session.title ?? "",
    create_time: session.started_at,
    update_time: messages.reduce(
      (latest, { at }) => Math.max(latest, at),
      session.ended_at ?? session.started_at,
    ),
    mapping: Object.fromEntries(nodes.map((node) => [node.id, node])),
    current_node: activeTip.id,
    conversation_id: session.id,
    default_model_slug: session.model,
    id: session.id,
  };
}

function messagesOf(session: ExportedSession, message: ShownMessage): ({ readonly id: string } & object)[] {
  const { id, role, text, at, calls, toolName } = message;
  const name = `${session.id}-${id}`;
  const metadata = role === "assistant" && session.model !== null ? { model_slug: session.model } : {};
  const whole = (key: string, recipient: string, content: string) => ({
    id: key,
    author: { role, name: role === "tool" ? (toolName ?? null) : null, metadata: {} },
    create_time: at,
    update_time: null,
    content: { content_type: "text", parts: [content] },
    status: "finished_successfully",
    end_turn: recipient === "all",
    weight: 1,
    metadata,
    recipient,
  });
  return [
    ...(text !== "" || calls.length === 0 ? [whole(name, "all", text)] : []),
    ...calls.map((call, index) => whole(`${name}-call-${index + 1}`, call.name, call.arguments)),
  ];
}
