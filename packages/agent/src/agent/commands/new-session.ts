// /new, /reset, /clear, /branch, /title: where the conversation goes on, and what it is called.
import type { SessionChange } from "../surface.ts";
import type { CommandCall, CommandReply, SlashCommand } from "./command.ts";
import { askFirst } from "./consent.ts";
import { counted, short } from "./format.ts";
import { withoutQuotes } from "./parse.ts";
import { problemReply, told, wrongUsage } from "./reply.ts";

export const newCommand: SlashCommand = {
  name: "new",
  aliases: ["reset"],
  group: "session",
  summary: "leave this conversation as it is and start another one",
  usage: "[title] [now]",
  needsIdle: "always",
  run: (call) => startAnew(call, "new"),
};

export const clearCommand: SlashCommand = {
  name: "clear",
  group: "session",
  summary: "start another conversation on an empty screen",
  usage: "[now]",
  needsIdle: "always",
  run: (call) => startAnew(call, "clear"),
};

export const branchCommand: SlashCommand = {
  name: "branch",
  aliases: ["fork"],
  group: "session",
  summary: "go on in a copy of this conversation; the original stays as it is",
  usage: "[name]",
  needsIdle: "always",
  async run({ agent, args }) {
    const title = withoutQuotes(args);
    const outcome = await agent.branch(title === "" ? {} : { title });
    if (!outcome.ok) return problemReply(outcome.error);
    const { from, to, messages } = outcome.value;
    const named = titleText(outcome.value);
    return told(
      [
        `Branched into session ${to}${named} with ${counted(messages, "message")}.`,
        `The original is still there: /resume ${from}`,
      ],
      outcome.value,
    );
  },
};

export const titleCommand: SlashCommand = {
  name: "title",
  group: "session",
  summary: "show the title of this conversation, or set it",
  usage: "[title | --clear]",
  words: ["--clear"],
  async run({ agent, args }) {
    if (args === "") {
      const title = await agent.title();
      const line = title === null ? "This conversation has no title. '/title <words>' gives it one." : title;
      return told([line], { session_id: agent.sessionId, title });
    }
    const wanted = args === "--clear" ? null : withoutQuotes(args);
    if (wanted === "") return wrongUsage(titleCommand);
    const outcome = await agent.setTitle(wanted);
    if (!outcome.ok) return problemReply(outcome.error);
    const { value: title } = outcome;
    return told([title === null ? "The title is gone." : `Title set: ${title}`], {
      session_id: agent.sessionId,
      title,
    });
  },
};

async function startAnew(call: CommandCall, name: "new" | "clear"): Promise<CommandReply> {
  const { agent } = call;
  const count = agent.messages.length;
  const asked = await askFirst(call, name, () =>
    count === 0 ? undefined : `Leave this conversation (${counted(count, "message")}) and start a new one?`,
  );
  if (!asked.isAgreed) return asked.reply;
  const title = withoutQuotes(asked.rest);
  if (name === "clear" && title !== "") return wrongUsage(clearCommand);
  const outcome = await agent.newSession(title === "" ? {} : { title });
  if (!outcome.ok) return problemReply(outcome.error);
  const { from, to, title: given } = outcome.value;
  return {
    kind: "text",
    lines: [
      `New session ${to}${titleText(outcome.value)}.`,
      ...(title !== "" && given === null
        ? ["The title could not be used; '/title <words>' sets another one."]
        : []),
      ...(count === 0 ? [] : [`The one before is still there: /resume ${from}`]),
    ],
    json: outcome.value,
    ...(name === "clear" ? { clearScreen: true } : {}),
  };
}

function titleText({ title }: SessionChange): string {
  return title === null ? "" : ` '${short(title, 60)}'`;
}
