// /queue, /steer and /busy: what becomes of a text that the user sends while a turn runs.
import { setConfigValue } from "@hermes-memory/core/config";
import type { BusyMode, CommandReply, SlashCommand } from "./command.ts";
import { short } from "./format.ts";
import { failed, told, wrongUsage } from "./reply.ts";

const SHOWN_CHARS = 80;

export const queueCommand: SlashCommand = {
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

export const steerCommand: SlashCommand = {
  name: "steer",
  group: "conversation",
  summary: "give the running turn a message after its next tool call",
  usage: "<prompt>",
  run: ({ agent, args }) => {
    if (args === "") return wrongUsage(steerCommand);
    if (agent.isRunning && agent.steer(args))
      return told([`The model gets it after its next tool call: ${short(args, SHOWN_CHARS)}`], {
        steered: true,
        prompt: args,
      });
    // No turn takes it any more: it is the next message.
    return { kind: "queue", text: args, lines: [], json: { steered: false, prompt: args } };
  },
};

const MODES: Readonly<Record<BusyMode, string>> = {
  queue: "Enter queues the text for the next turn.",
  steer: "Enter gives the text to the running turn after its next tool call.",
  interrupt: "Enter stops the running turn and sends the text.",
};

export const busyCommand: SlashCommand = {
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
    if (!isMode(word)) return wrongUsage(busyCommand);
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
