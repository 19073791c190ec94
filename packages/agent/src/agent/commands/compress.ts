// /compress: compaction when somebody asks for it.
import { type DigestQuestion, parseCompressCommand } from "@hermes-memory/core/context";
import { pyStrip } from "@hermes-memory/core/lib";
import type { CompressReport } from "../surface.ts";
import type { SlashCommand } from "./command.ts";
import { isConfirmed } from "./consent.ts";
import { counted } from "./format.ts";
import { failed } from "./reply.ts";

/** Fewer are cheaper to keep than to summarise. */
const FEWEST_MESSAGES = 4;

export const compressCommand: SlashCommand = {
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

type Digest = DigestQuestion & { readonly isMade: boolean };

/** `--local` agrees beforehand to what is made without a model. */
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
