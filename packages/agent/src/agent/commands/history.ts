// /history and /save: the conversation as it is now.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isHandoff } from "@hermes-memory/core/context";
import { errnoCode, systemClock } from "@hermes-memory/core/lib";
import { isRefused, type Message, partName, textOf, toolCallsOf } from "@hermes-memory/core/message";
import { scopeOfUser } from "@hermes-memory/core/sessions";
import { shownContent, shownRow } from "../shown-message.ts";
import type { AgentSurface } from "../surface.ts";
import type { SlashCommand } from "./command.ts";
import { counted, fileStamp, localMinute, short } from "./format.ts";
import { parseCount } from "./parse.ts";
import { failed, told, wrongUsage } from "./reply.ts";

const DEFAULT_COUNT = 10;
const TEXT_CHARS = 400;
const RESULT_CHARS = 120;

export const historyCommand: SlashCommand = {
  name: "history",
  group: "conversation",
  summary: "show the newest messages of this conversation",
  usage: "[how many]",
  run({ agent, args }) {
    const count = args === "" ? DEFAULT_COUNT : parseCount(args);
    if (count === undefined) return wrongUsage(historyCommand);
    const all = lasting(agent);
    if (all.length === 0) return told(["Nothing has been said yet."], { messages: [], total: 0 });
    const first = Math.max(0, all.length - count);
    const newest = all.slice(first);
    const more =
      first === 0
        ? []
        : [`The newest ${newest.length} of ${all.length} messages; '/history ${all.length}' shows all.`];
    return told([...newest.map((message, index) => line(message, first + index + 1)), ...more], {
      messages: newest.map(shownRow),
      total: all.length,
    });
  },
};

export const saveCommand: SlashCommand = {
  name: "save",
  group: "conversation",
  summary: "write this conversation to a file of its own",
  usage: "",
  async run({ agent, host, args }) {
    if (args !== "") return wrongUsage(saveCommand);
    const messages = lasting(agent);
    if (messages.length === 0) return failed("nothing", "There is nothing to save yet.");
    const now = (host.clock ?? systemClock).now();
    const session = await agent.store?.getSession(agent.sessionId, scopeOfUser(agent.user));
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

/** Without what is there for one turn only. */
function lasting(agent: AgentSurface): readonly Message[] {
  return agent.messages.filter(({ meta }) => meta.ephemeral === undefined);
}

function line(message: Message, number: number): string {
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

/** Never over a file that is there: two may be saved within one second. */
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
