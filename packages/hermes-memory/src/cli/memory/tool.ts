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
import { activeName } from "./provider/find-provider.ts";
import { withActiveProvider } from "./provider/run-provider.ts";

const DESCRIPTION_CHARS = 100;

export const tool: CommandBody = async (input, context) => {
  const { name: asked } = input.args;
  const args = readArguments(input.rest);
  const writes: CommittedWrite[] = [];
  const own = await context.memory.administrator.tools({ onWrites: (made) => void writes.push(...made) });
  if (asked === undefined) return list(own, context);
  const entry = own.find(({ name }) => name === asked);
  if (entry === undefined) return runOfProvider(asked, args, own, context);
  const outcome = answered(await entry.run(args, callFromOutside()));
  const { notes } = await mirrorToProvider(input, context, writes);
  return { ...outcome, notes };
};

/** A provider that cannot be started costs a warning; the other tools are listed. */
async function list(own: readonly Tool[], context: CommandContext): Promise<CommandOutcome> {
  const provider = await activeName(context);
  if (provider === "") return listed(null, own, []);
  try {
    const { value, notes } = await withActiveProvider(context, "tool", async ({ manager }) =>
      manager.tools(),
    );
    return listed(provider, [...own, ...value], notes);
  } catch (cause) {
    if (!(cause instanceof CommandFailure)) throw cause;
    return listed(provider, own, [`warning: ${printable(cause.message)}`]);
  }
}

async function runOfProvider(
  asked: string,
  args: CommandArguments,
  own: readonly Tool[],
  context: CommandContext,
): Promise<CommandOutcome> {
  if ((await activeName(context)) === "") throw unknownTool(asked, own);
  const { value, notes } = await withActiveProvider(context, "tool", async ({ manager }) => {
    const tools = manager.tools();
    const entry = tools.find(({ name }) => name === asked);
    if (entry === undefined) throw unknownTool(asked, [...own, ...tools]);
    return answered(await entry.run(args, callFromOutside()));
  });
  return { ...value, notes };
}

function listed(provider: string | null, tools: readonly Tool[], notes: readonly string[]): CommandOutcome {
  const lines = tools.map(({ name, description, schema }) => {
    const names = isRecord(schema.properties) ? Object.keys(schema.properties) : [];
    return `${printable(name)}  ${oneLine(description, DESCRIPTION_CHARS)}\n  ${names.map(printable).join(", ")}`;
  });
  return { json: { provider, tools: tools.map(definitionOf) }, lines, notes };
}

/** Prints the tool's answer unchanged. An error of the tool sets the exit code. */
function answered({ text, isError = false }: ToolOutcome): CommandOutcome {
  const value = parsed(text);
  return { json: value, lines: [printable(JSON.stringify(value, null, 2))], exitCode: isError ? 1 : 0 };
}

function parsed(answer: string): unknown {
  return outsideJsonOr(answer, answer); // a tool may answer with plain text
}

type CommandArguments = Readonly<Record<string, unknown>>;

/** One JSON object, or words such as `action=add`. */
function readArguments(words: readonly string[]): CommandArguments {
  const [first = ""] = words;
  if (words.length === 1 && first.trimStart().startsWith("{")) {
    const value = parsed(first);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
    throw new CommandFailure("The arguments are not valid JSON.", { exitCode: 2 });
  }
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf("=");
      if (at > 0) return [word.slice(0, at), word.slice(at + 1)];
      throw new CommandFailure(
        `'${printable(word)}' is not an argument. Write key=value, or one JSON object.`,
        {
          exitCode: 2,
        },
      );
    }),
  );
}

function unknownTool(asked: string, tools: readonly Tool[]): CommandFailure {
  const names = tools.map(({ name }) => name).join(", ");
  return new CommandFailure(`There is no tool '${printable(asked)}'. There are: ${printable(names)}.`, {
    details: { kind: "unknown-tool" },
  });
}
