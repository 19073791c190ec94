// /undo and /retry: the newest turns are taken back. Their rows stay in the database, out of the conversation.
import { type Message, partsOf, textOf } from "@hermes-memory/core/message";
import { shownContent } from "../shown-message.ts";
import type { SlashCommand } from "./command.ts";
import { askFirst } from "./consent.ts";
import { counted, short } from "./format.ts";
import { parseCount } from "./parse.ts";
import { failed, problemReply, wrongUsage } from "./reply.ts";

export const undoCommand: SlashCommand = {
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
    if (turns === undefined) return wrongUsage(undoCommand);
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

export const retryCommand: SlashCommand = {
  name: "retry",
  group: "conversation",
  summary: "take back the newest turn and send the same message again",
  usage: "",
  needsIdle: "always",
  async run({ agent, args }) {
    if (args !== "") return wrongUsage(retryCommand);
    const last = agent.messages.findLast(isTyped);
    if (last === undefined) return failed("nothing", "There is no message to send again.");
    // Only its text could be sent again, and by then the turn would be gone.
    if (!isTextOnly(last))
      return failed(
        "refused",
        "The newest message has parts that are not text, and '/retry' sends text alone.",
        "Take it back with '/undo' and send it again with its parts.",
      );
    const outcome = await agent.undo(1);
    if (!outcome.ok) return problemReply(outcome.error);
    const { text } = outcome.value;
    if (text === "") return failed("nothing", "The turn was taken back, but it had no text to send again.");
    return { kind: "send", lines: [`Again: ${short(text, 200)}`], json: outcome.value, text };
  },
};

function countOf(text: string): number | undefined {
  return text === "" ? 1 : parseCount(text);
}

function isTyped({ role, meta }: Message): boolean {
  return role === "user" && meta.ephemeral === undefined;
}

/** And some of it. */
function isTextOnly(message: Message): boolean {
  const content = shownContent(message);
  return partsOf(content).every(({ type }) => type === "text") && textOf(content) !== "";
}
