// `hermes memory tool`: lists the tools of memory, sessions, skills and the active provider, and calls one as a model would. They are
// the tools that the agent and the MCP server have.
import type { CommittedWrite } from "@hermes-memory/core/internal/curated";
import { isRecord, outsideJsonOr } from "@hermes-memory/core/internal/lib";
import {
  callFromOutside,
  definitionOf,
  type Tool,
  type ToolOutcome,
} from "@hermes-memory/core/internal/tools";
import { type CommandBody, type CommandContext, CommandFailure, type CommandOutcome } from "../command.ts";
import { oneLine, printable } from "../printing.ts";
import { mirrorToProvider } from "./memory-command.ts";
import { activeName, withActiveProvider } from "./provider/run-provider.ts";

const DESCRIPTION_CHARS = 100;

export const tool: CommandBody = async (input, context) => {
  const { name: asked } = input.args;
  const args = readArguments(input.rest);
  const writes: CommittedWrite[] = [];
  const own = await context.memory.administrator.tools({ onWrites: (made) => void writes.push(...made) });
  if (asked === undefined) return list(own, context);
  const entry = own.find(({ name }) => name === asked);
  if (entry !== undefined) {
    const outcome = answered(await entry.run(args, callFromOutside()));
    return { ...outcome, notes: (await mirrorToProvider(input, context, writes)).notes };
  }
  if ((await activeName(context)) === "") throw unknownTool(asked, own);
  const { value, notes } = await withActiveProvider(context, "tool", async ({ manager }) => {
    const tools = manager.tools();
    const found = tools.find(({ name }) => name === asked);
    if (found === undefined) throw unknownTool(asked, [...own, ...tools]);
    return answered(await found.run(args, callFromOutside()));
  });
  return { ...value, notes };
};

/** A provider that cannot be started costs a warning; the other tools are listed. */
async function list(own: readonly Tool[], context: CommandContext): Promise<CommandOutcome> {
  const provider = (await activeName(context)) || null;
  const ofProvider =
    provider === null
      ? { value: [], notes: [] }
      : await withActiveProvider(context, "tool", async ({ manager }) => manager.tools()).catch(
          (cause: unknown) => {
            if (!(cause instanceof CommandFailure)) throw cause;
            return { value: [], notes: [`warning: ${printable(cause.message)}`] };
          },
        );
  const tools = [...own, ...ofProvider.value];
  const lines = tools.map(({ name, description, schema }) => {
    const names = isRecord(schema.properties) ? Object.keys(schema.properties) : [];
    return `${printable(name)}  ${oneLine(description, DESCRIPTION_CHARS)}\n  ${names.map(printable).join(", ")}`;
  });
  return { json: { provider, tools: tools.map(definitionOf) }, lines, notes: ofProvider.notes };
}

/** Prints the tool's answer unchanged; it may be plain text. An error of the tool sets the exit code. */
function answered({ text, isError = false }: ToolOutcome): CommandOutcome {
  const json = outsideJsonOr(text, text);
  return { json, lines: [printable(JSON.stringify(json, null, 2))], exitCode: isError ? 1 : 0 };
}

/** One JSON object, or words such as `action=add`. */
function readArguments(words: readonly string[]): Readonly<Record<string, unknown>> {
  const [first = ""] = words;
  if (words.length === 1 && first.trimStart().startsWith("{")) {
    const value = outsideJsonOr(first, undefined);
    if (isRecord(value)) return value;
    throw new CommandFailure("The arguments are not valid JSON.", { exitCode: 2 });
  }
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf("=");
      if (at > 0) return [word.slice(0, at), word.slice(at + 1)];
      const message = `'${printable(word)}' is not an argument. Write key=value, or one JSON object.`;
      throw new CommandFailure(message, { exitCode: 2 });
    }),
  );
}

function unknownTool(asked: string, tools: readonly Tool[]): CommandFailure {
  const names = tools.map(({ name }) => name).join(", ");
  return new CommandFailure(`There is no tool '${printable(asked)}'. There are: ${printable(names)}.`, {
    details: { kind: "unknown-tool" },
  });
}
