// The slash commands about the running conversation: /undo, /retry, /compress, /history, /save, /queue, /steer and /busy.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setConfigValue } from "@hermes-memory/core/internal/config";
import { type DigestQuestion, isHandoff, parseCompressCommand } from "@hermes-memory/core/internal/context";
import { errnoCode, pyStrip, systemClock } from "@hermes-memory/core/internal/lib";
import {
  isRefused,
  type Message,
  partName,
  partsOf,
  textOf,
  toolCallsOf,
} from "@hermes-memory/core/internal/message";
import type { AgentSurface } from "../agent.ts";
import { shownContent, shownRow } from "../session/transcript.ts";
import type { CompressReport } from "../surface.ts";
import {
  askFirst,
  type BusyMode,
  type CommandReply,
  counted,
  failed,
  fileStamp,
  isConfirmed,
  localMinute,
  parseCount,
  problemReply,
  type SlashCommand,
  short,
  told,
} from "./command.ts";

// /undo and /retry: take back the newest turns. Their rows stay in the database but no longer belong to the conversation.

const undoCommand: SlashCommand = {
  name: "undo",
  group: "conversation",
  summary: "take back the newest turn, or several, and edit what you had typed",
  usage: "[turns] [now]",
  needsIdle: "always",
  async run(call) {
    const { agent } = call;
    const asked = await askFirst(call, "undo", (rest) => {
      const turns = countOf(rest);
      if (turns === undefined || agent.messages.length === 0) return undefined;
      return turns === 1 ? "Take back the newest turn?" : `Take back the newest ${turns} turns?`;
    });
    if (!asked.isAgreed) return asked.reply;
    const turns = countOf(asked.rest);
    if (turns === undefined) return undefined;
    const outcome = await agent.undo(turns);
    if (!outcome.ok) return problemReply(outcome.error);
    const { turns: taken, messages, text } = outcome.value;
    return {
      kind: "edit",
      lines: [
        `Took back ${counted(taken, "turn")} (${counted(messages, "message")}).`,
        ...(text === "" ? [] : [`You had typed: ${short(text, 200)}`]),
      ],
      json: outcome.value,
      text,
    };
  },
};

const retryCommand: SlashCommand = {
  name: "retry",
  group: "conversation",
  summary: "take back the newest turn and send the same message again",
  usage: "",
  needsIdle: "always",
  async run({ agent }) {
    const last = agent.messages.findLast(isTyped);
    if (last === undefined) return failed("nothing", "There is no message to send again.");
    // Checked before the undo: only the text could be sent again, and the message's other parts would be lost.
    if (!isTextOnly(last))
      return failed(
        "refused",
        "The newest message has parts that are not text, and '/retry' sends text alone.",
        "Take it back with '/undo' and send it again with its parts.",
      );
    const outcome = await agent.undo(1);
    if (!outcome.ok) return problemReply(outcome.error);
    const { text } = outcome.value;
    return { kind: "send", lines: [`Again: ${short(text, 200)}`], json: outcome.value, text };
  },
};

function countOf(text: string): number | undefined {
  return text === "" ? 1 : parseCount(text);
}

function isTyped({ role, meta }: Message): boolean {
  return role === "user" && meta.ephemeral === undefined;
}

/** True when the message has text and no other parts. */
function isTextOnly(message: Message): boolean {
  const content = shownContent(message);
  return partsOf(content).every(({ type }) => type === "text") && textOf(content) !== "";
}

// /compress

/** Fewer messages are cheaper to keep than to summarise. */
const FEWEST_MESSAGES = 4;

const compressCommand: SlashCommand = {
  name: "compress",
  aliases: ["compact"],
  group: "conversation",
  summary: "put a summary in place of older messages; they stay searchable",
  usage: "[--local] [topic to keep in detail | here [turns] | --keep turns]",
  words: ["here", "--keep", "--local"],
  needsIdle: "always",
  async run({ agent, args, host }) {
    const count = agent.messages.length;
    if (count < FEWEST_MESSAGES)
      return failed(
        "nothing",
        `There is too little to compact: ${counted(count, "message")}, and it takes at least ${FEWEST_MESSAGES}.`,
      );
    const before = agent.sessionId;
    const { isLocal, rest } = takeLocal(args);
    let digest: Digest | undefined;
    const report = await agent.compress(parseCompressCommand(rest), {
      confirmDigest: async (question) => {
        const isSettled = isLocal || !host.config.approvals.destructiveSlashConfirm;
        const isMade = isSettled || (await isConfirmed(host, digestQuestion(question)));
        digest = { ...question, isMade };
        return isMade;
      },
      showsNotices: true,
    });
    const { kind, feedback, sessionId } = report;
    const notices = [...report.notices, ...digestLines(kind, digest)];
    const trouble = TROUBLES[kind];
    const { headline, token_line, note } = feedback;
    const lines =
      trouble === undefined
        ? [
            headline,
            token_line,
            ...(note === null ? [] : [note]),
            ...notices,
            ...(sessionId === before ? [] : [`The conversation goes on as session ${sessionId}.`]),
          ]
        : [trouble, ...notices];
    const json = { kind, feedback, notices, session_id: sessionId, old_session_id: before };
    return { kind: trouble === undefined ? "text" : "error", lines, json };
  },
};

type Digest = DigestQuestion & { readonly isMade: boolean };

/** `--local` agrees beforehand to a digest made without a model. */
function takeLocal(args: string): { readonly isLocal: boolean; readonly rest: string } {
  const rest = args.replace(/^--local(?!\S)|(?<!\S)--local$/, "");
  return { isLocal: rest !== args, rest: pyStrip(rest) };
}

function digestQuestion({ failure, messages }: DigestQuestion): string {
  const { kind, message } = failure;
  const isAway = kind === "connection" || kind === "timeout" || kind === "cooldown";
  const what = isAway ? "The summary model cannot be reached" : "There is no summary by a model";
  return `${what} (${message.replace(/\.$/, "")}). Compact with a local digest of ${counted(messages, "message")} instead?`;
}

function digestLines(kind: CompressReport["kind"], digest: Digest | undefined): readonly string[] {
  if (digest === undefined || (digest.isMade && kind !== "compacted")) return [];
  const { failure, messages, isMade } = digest;
  const why = failure.message.replace(/\.$/, "");
  const count = counted(messages, "message");
  if (isMade)
    return [
      `A digest made without a model stands for ${count} now (${why}). They are still stored: session_search (scope lineage) finds them.`,
    ];
  return [
    `No model could summarise ${count} (${why}).`,
    "Try again when the model answers ('hermes model test'). '/compress --local' goes on with a digest made without a model.",
  ];
}

const TROUBLES: Readonly<Partial<Record<CompressReport["kind"], string>>> = {
  aborted: "The compaction was given up; the conversation is unchanged.",
  busy: "Another process is compacting this session; nothing was done. Try again in a moment.",
  failed: "The compaction failed; the conversation is unchanged.",
};

// /history and /save

const DEFAULT_MESSAGES = 10;
const TEXT_CHARS = 400;
const RESULT_CHARS = 120;

const historyCommand: SlashCommand = {
  name: "history",
  group: "conversation",
  summary: "show the newest messages of this conversation",
  usage: "[how many]",
  run({ agent, args }) {
    const count = args === "" ? DEFAULT_MESSAGES : parseCount(args);
    if (count === undefined) return undefined;
    const all = lasting(agent);
    if (all.length === 0) return told(["Nothing has been said yet."], { messages: [], total: 0 });
    const first = Math.max(0, all.length - count);
    const newest = all.slice(first);
    const more =
      first === 0
        ? []
        : [`The newest ${newest.length} of ${all.length} messages; '/history ${all.length}' shows all.`];
    return told([...newest.map((message, index) => messageLine(message, first + index + 1)), ...more], {
      messages: newest.map(shownRow),
      total: all.length,
    });
  },
};

const saveCommand: SlashCommand = {
  name: "save",
  group: "conversation",
  summary: "write this conversation to a file of its own",
  usage: "",
  async run({ agent, host }) {
    const messages = lasting(agent);
    if (messages.length === 0) return failed("nothing", "There is nothing to save yet.");
    const now = (host.clock ?? systemClock).now();
    const session = await agent.store?.getSession(agent.sessionId);
    const { model, provider } = agent.model;
    const content = {
      session_id: agent.sessionId,
      title: await agent.title(),
      model,
      provider,
      session_start: session ? new Date(session.started_at * 1000).toISOString() : null,
      saved_at: now.toISOString(),
      messages: messages.map(shownRow),
    };
    const path = writeNew(
      join(agent.home, "sessions", "saved"),
      `hermes_conversation_${fileStamp(now)}`,
      `${JSON.stringify(content, null, 2)}\n`,
    );
    return told([`Saved ${counted(messages.length, "message")} to ${path}`], {
      path,
      messages: messages.length,
    });
  },
};

/** Without the messages that exist for one turn only. */
function lasting(agent: AgentSurface): readonly Message[] {
  return agent.messages.filter(({ meta }) => meta.ephemeral === undefined);
}

function messageLine(message: Message, number: number): string {
  return `${number}. ${whoSaid(message)}, ${localMinute(message.meta.atSeconds)}: ${whatWasSaid(message)}`;
}

function whoSaid(message: Message): string {
  const { role, meta } = message;
  if (role === "user") return "you";
  if (role === "assistant") return "agent";
  const tool = role === "tool" ? message.toolName : undefined;
  return tool === undefined ? (meta.writtenRole ?? role) : `tool ${tool}`;
}

function whatWasSaid(message: Message): string {
  if (isHandoff(message)) return "(summary of what was said before)";
  const said = textOf(shownContent(message), { image: partName, other: partName });
  const text = short(said, message.role === "tool" ? RESULT_CHARS : TEXT_CHARS);
  const calls = toolCallsOf(message).map(({ name }) => name);
  const called = calls.length === 0 ? "" : `(calls ${calls.join(", ")})`;
  const mark = isRefused(message) ? "(refused by the model's provider, left out of requests)" : "";
  return [text, called, mark].filter((part) => part !== "").join(" ") || "(no text)";
}

/** Never overwrites a file: two conversations may be saved within one second. */
function writeNew(directory: string, name: string, text: string): string {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (let number = 1; ; number += 1) {
    const path = join(directory, `${name}${number === 1 ? "" : `_${number}`}.json`);
    try {
      writeFileSync(path, text, { flag: "wx", mode: 0o600, flush: true });
      return path;
    } catch (cause) {
      if (errnoCode(cause) === "EEXIST") continue;
      rmSync(path, { force: true }); // half a conversation would pass for a whole one
      throw cause;
    }
  }
}

// /queue, /steer and /busy: what happens to a text that the user sends while a turn runs

const SHOWN_CHARS = 80;

const queueCommand: SlashCommand = {
  name: "queue",
  aliases: ["q"],
  group: "conversation",
  summary: "send a prompt when the running turn has ended",
  usage: "<prompt>",
  run: ({ agent, args }) => {
    if (args === "") return failed("usage", "Usage: /queue <prompt>", "'/exit' leaves the chat.");
    const lines = agent.isRunning ? [`Queued for the next turn: ${short(args, SHOWN_CHARS)}`] : [];
    return { kind: "queue", text: args, lines, json: { queued: agent.isRunning, prompt: args } };
  },
};

const steerCommand: SlashCommand = {
  name: "steer",
  group: "conversation",
  summary: "give the running turn a message after its next tool call",
  usage: "<prompt>",
  run: ({ agent, args }) => {
    if (args === "") return undefined;
    if (agent.isRunning && agent.steer(args))
      return told([`The model gets it after its next tool call: ${short(args, SHOWN_CHARS)}`], {
        steered: true,
        prompt: args,
      });
    // No turn can take it any more, so it becomes the next message.
    return { kind: "queue", text: args, lines: [], json: { steered: false, prompt: args } };
  },
};

const MODES: Readonly<Record<BusyMode, string>> = {
  queue: "Enter queues the text for the next turn.",
  steer: "Enter gives the text to the running turn after its next tool call.",
  interrupt: "Enter stops the running turn and sends the text.",
};

const busyCommand: SlashCommand = {
  name: "busy",
  group: "chat",
  summary: "choose what Enter does while a turn runs",
  usage: "[queue | steer | interrupt | status]",
  words: ["queue", "steer", "interrupt", "status"],
  async run(call) {
    const { agent, host } = call;
    const word = call.args.toLowerCase();
    const { busy } = host;
    if (busy === undefined)
      return failed("no_terminal", "'/busy' works in a chat on a terminal; here every line waits its turn.");
    if (word === "" || word === "status") return state(busy.mode());
    if (!isMode(word)) return undefined;
    busy.setMode(word);
    const saved = await setConfigValue(agent.home, "display.busy_input_mode", word);
    if (saved.ok)
      return told([`${MODES[word]} Saved in config.yaml.`], { busy_input_mode: word, saved: true });
    return told([MODES[word], `Not saved, it holds for this chat only: ${saved.error.message}`], {
      busy_input_mode: word,
      saved: false,
      error: saved.error.message,
    });
  },
};

function state(mode: BusyMode): CommandReply {
  return told(
    [`While a turn runs: ${mode}. ${MODES[mode]}`, "Change it with '/busy queue|steer|interrupt'."],
    {
      busy_input_mode: mode,
    },
  );
}

function isMode(word: string): word is BusyMode {
  return Object.hasOwn(MODES, word);
}

export const CONVERSATION_COMMANDS: readonly SlashCommand[] = [
  undoCommand,
  retryCommand,
  compressCommand,
  queueCommand,
  steerCommand,
  historyCommand,
  saveCommand,
  busyCommand,
];
