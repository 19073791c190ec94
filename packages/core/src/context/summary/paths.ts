// Files that turns talk about: named in the arguments of tool calls, or looking like a path in the text.
import { isRecord, outsideJsonOr, takeCodePoints } from "../../lib/index.ts";
import { type Message, toolCallsOf } from "../../message/index.ts";
import { contentText } from "./serialise.ts";

const ARGUMENTS = ["path", "file_path", "output_path", "workdir"];
const READ_CHARS = 4_000;
const PATH_CHARS = 300;
// Two or more names joined by slashes, with a root or an ending, so that "and/or" is none and an address is none either.
const PATH_LIKE =
  /(?<![\w:/.~@-])(?:(?:~|\.{1,2})?(?:\/[\w.@+-]{1,120}){2,20}|[\w@+-][\w.@+-]{0,119}(?:\/[\w.@+-]{1,120}){0,20}\/[\w@+-]{1,120}\.[A-Za-z]\w{0,7})(?![\w/])/g;

/** The newest ones, in the order they are mentioned, each once. */
export function pathsIn(turns: readonly Message[], limit: number): readonly string[] {
  const paths = new Set<string>();
  for (const turn of turns.toReversed()) {
    for (const path of [...fromCalls(turn), ...fromText(turn)].toReversed()) {
      if (paths.size >= limit) return [...paths].reverse();
      paths.add(takeCodePoints(path, PATH_CHARS));
    }
  }
  return [...paths].reverse();
}

function fromCalls(turn: Message): readonly string[] {
  return toolCallsOf(turn).flatMap((call) => {
    const given = parsed(call.arguments);
    return ARGUMENTS.flatMap((name) => {
      const value = given[name];
      return typeof value === "string" && value !== "" ? [value] : [];
    });
  });
}

function fromText(turn: Message): readonly string[] {
  return takeCodePoints(contentText(turn.content), READ_CHARS).match(PATH_LIKE) ?? [];
}

function parsed(argumentsText: string): Readonly<Record<string, unknown>> {
  const value = outsideJsonOr(argumentsText, undefined);
  return isRecord(value) ? value : {};
}
