// /compress: compaction when somebody asks for it.
import { parseCompressCommand } from "../../context/index.ts";
import type { CompressReport } from "../surface.ts";
import type { SlashCommand } from "./command.ts";
import { counted } from "./format.ts";
import { failed } from "./reply.ts";

/** Fewer are cheaper to keep than to summarise. */
const FEWEST_MESSAGES = 4;

export const compressCommand: SlashCommand = {
  name: "compress",
  aliases: ["compact"],
  group: "conversation",
  summary: "put a summary in place of older messages; they stay searchable",
  usage: "[topic to keep in detail | here [turns] | --keep turns]",
  words: ["here", "--keep"],
  needsIdle: "always",
  async run({ agent, args }) {
    const count = agent.messages.length;
    if (count < FEWEST_MESSAGES)
      return failed(
        "nothing",
        `There is too little to compact: ${counted(count, "message")}, and it takes at least ${FEWEST_MESSAGES}.`,
      );
    const before = agent.sessionId;
    const report = await agent.compress(parseCompressCommand(args));
    const { kind, feedback, notices, sessionId } = report;
    const trouble = troubleOf(kind);
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

/** Undefined when it went as it should. */
function troubleOf(kind: CompressReport["kind"]): string | undefined {
  switch (kind) {
    case "compacted":
    case "pruned":
    case "unchanged":
      return undefined;
    case "aborted":
      return "The compaction was given up; the conversation is as it was.";
    case "busy":
      return "This session is being compacted elsewhere right now; nothing was done. Try again in a moment.";
    case "failed":
      return "The compaction failed; the conversation is as it was.";
    default:
      return kind satisfies never;
  }
}
