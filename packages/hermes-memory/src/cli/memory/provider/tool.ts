// `hermes memory tool`: the active provider's tools by hand, as the model would call them.
import { isRecord, outsideJsonOr } from "@hermes-memory/core/lib";
import { callFromOutside, definitionOf, type Tool, type ToolOutcome } from "@hermes-memory/core/tools";
import { type CommandBody, CommandFailure, type CommandOutcome } from "../../command.ts";
import { oneLine, printable } from "../../printing.ts";
import { withActiveProvider } from "./active.ts";

const DESCRIPTION_CHARS = 100;

export const tool: CommandBody = async (input, context) => {
  const { name: wanted } = input.args;
  const args = readArguments(input.rest);
  const { value, notes } = await withActiveProvider(context, "tool", async ({ name, manager }) => {
    const tools = manager.tools();
    if (wanted === undefined) return listed(name, tools);
    const entry = tools.find((each) => each.name === wanted);
    if (entry === undefined) throw unknownTool(name, wanted, tools);
    return answered(await entry.run(args, callFromOutside()));
  });
  return { ...value, notes };
};

function listed(provider: string, tools: readonly Tool[]): CommandOutcome {
  const lines = tools.map(({ name, description, schema }) => {
    const names = isRecord(schema.properties) ? Object.keys(schema.properties) : [];
    return `${printable(name)}  ${oneLine(description, DESCRIPTION_CHARS)}\n  ${names.map(printable).join(", ")}`;
  });
  return {
    json: { provider, tools: tools.map(definitionOf) },
    lines: lines.length > 0 ? lines : [`'${printable(provider)}' offers no tools in its present mode.`],
  };
}

/** The provider's JSON as it is. One that tells of a failure is a failure of the command. */
function answered({ text, isError = false }: ToolOutcome): CommandOutcome {
  const value = parsed(text);
  return { json: value, lines: [printable(JSON.stringify(value, null, 2))], exitCode: isError ? 1 : 0 };
}

function parsed(answer: string): unknown {
  return outsideJsonOr(answer, answer); // a tool may answer with plain text
}

/** One JSON object, or words such as `action=add`. */
function readArguments(words: readonly string[]): Readonly<Record<string, unknown>> {
  const [first = ""] = words;
  if (words.length === 1 && first.trimStart().startsWith("{")) {
    const value = parsed(first);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
    throw new CommandFailure("The arguments are no valid JSON.", { exitCode: 2 });
  }
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf("=");
      if (at > 0) return [word.slice(0, at), word.slice(at + 1)];
      throw new CommandFailure(`'${printable(word)}' is no argument. Write key=value, or one JSON object.`, {
        exitCode: 2,
      });
    }),
  );
}

function unknownTool(provider: string, wanted: string, tools: readonly Tool[]): CommandFailure {
  const names = tools.map(({ name }) => name).join(", ") || "none in its present mode";
  return new CommandFailure(`'${provider}' has no tool '${wanted}'. It offers: ${names}.`, {
    details: { kind: "unknown-tool", provider },
  });
}
