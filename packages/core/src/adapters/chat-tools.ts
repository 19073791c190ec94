// The tools of a person for a model in a chat. The adapters give them the shape of their library. Names, descriptions and schemas are
// known at once; the layer behind a tool is opened by its first call.
import { nearest } from "../config/index.ts";
import { curatedTools, hasArchive, memoryHistoryEntry } from "../curated/index.ts";
import { describeCause, HermesError, isRecord, outsideJsonOr, randomHex } from "../lib/index.ts";
import type { UserMemory } from "../memory/index.ts";
import { sessionSearchEntry } from "../sessions/index.ts";
import { skillTools } from "../skills/index.ts";
import { definitionOf, type Tool, type ToolDefinition } from "../tools/index.ts";

/** The chat that the tools belong to, and which of them a model gets. */
export type ChatToolsOptions = {
  readonly chatId: string;
  /** Names of tools; false: none. Default: `memory` and `session_search`. */
  readonly tools?: false | readonly string[];
};

export type ChatTool = ToolDefinition & {
  /** The result for the model, as a JSON value or text; a failure is a result with the field `error`. Rejects only if it was aborted. */
  run(args: unknown, call?: { readonly id?: string; readonly signal?: AbortSignal }): Promise<unknown>;
};

/** Throws `bad-option`: a misspelt option would do nothing, and nobody would see it. */
export function refuseUnknown(what: string, options: object, names: Readonly<Record<string, true>>): void {
  if (!isRecord(options))
    throw new HermesError("bad-option", `${what} needs an object of options.`, {
      hint: "Pass at least { chatId }.",
    });
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return;
  const close = nearest(unknown, Object.keys(names));
  throw new HermesError("bad-option", `${what} has no option '${unknown}'.`, {
    hint: close === undefined ? `It has ${Object.keys(names).join(", ")}.` : `Did you mean '${close}'?`,
  });
}

const DEFAULT_TOOLS: readonly string[] = ["memory", "session_search"];

/** Only their definitions are read. */
const unused = () => Promise.reject(new Error("not opened"));
const definitionsFor = (directory: string): readonly ToolDefinition[] =>
  [
    ...curatedTools(unused, hasArchive(directory)),
    sessionSearchEntry({ summarize: false }, unused),
    memoryHistoryEntry(unused),
    ...skillTools(unused),
  ].map(definitionOf);

/** Throws `unknown-tool` for a name that no tool has. */
export function chatTools(
  me: UserMemory,
  { chatId, tools = DEFAULT_TOOLS }: ChatToolsOptions,
): readonly ChatTool[] {
  const wanted = tools === false ? [] : tools;
  // Config is not read here: with `overflow: archive`, the archive is offered once it holds something.
  const definitions = definitionsFor(me.layers.directory);
  const names = definitions.map(({ name }) => name);
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new HermesError("unknown-tool", `There is no memory tool named '${unknown}'.`, {
      hint: `Choose from ${names.join(", ")}.`,
    });
  // One list for all calls: the memory tool counts the failures of a turn.
  let opened: Promise<readonly Tool[]> | undefined;
  const open = (name: string) => {
    opened ??= me.layers.tools({
      onWrites: async (writes) => {
        if (writes.length > 0) await me.layers.provider.mirror(writes, "library");
      },
    });
    return opened.then((entries) => entries.find((entry) => entry.name === name));
  };
  return definitions
    .filter(({ name }) => wanted.includes(name))
    .map((definition) => ({
      ...definition,
      run: async (args, { id = `call_${randomHex(6)}`, signal = new AbortController().signal } = {}) => {
        try {
          const entry = await open(definition.name);
          if (entry === undefined) return { error: `${definition.name} is not for users of a shared home.` };
          const chat = await me.chat(chatId);
          const call = { callId: id, taskId: chatId, sessionId: chat?.sessionId ?? "", messages: [], signal };
          const { text } = await entry.run(isRecord(args) ? args : {}, call);
          return outsideJsonOr(text, text);
        } catch (cause) {
          signal.throwIfAborted();
          return { error: describeCause(cause) };
        }
      },
    }));
}
