// engines and use: what there is to choose from, and choosing.
import { resolve } from "node:path";
import { nearest, setConfigValue } from "@hermes-memory/core/config";
import { type ListedEngine, listEngines } from "@hermes-memory/core/context";
import { usable } from "@hermes-memory/core/memory";
import { type CommandBody, CommandFailure } from "../command.ts";
import { oneLine, printable } from "../printing.ts";

export const engines: CommandBody = async (_input, { memory, io }) => {
  const active = (await memory.config()).context.engine;
  const { engines: all, warnings } = await listEngines(memory.home);
  const width = Math.max(...all.map(({ name }) => name.length));
  const missing = printable(
    `context.engine is '${active}', which is not installed. 'compressor' takes its place.`,
  );
  return {
    json: { active, engines: all.map((engine) => listed(engine, active)), warnings },
    lines: all.map(({ name, source, description, problem }) => {
      const about =
        problem === undefined ? oneLine(description, 100) : io.paint("yellow", oneLine(problem, 200));
      return `${name === active ? "*" : " "} ${name.padEnd(width)}  ${source.padEnd(8)}  ${about}`.trimEnd();
    }),
    notes: [
      ...warnings.map((warning) => `warning: ${printable(warning)}`),
      ...(all.some(({ name }) => name === active) ? [] : [missing]),
    ],
  };
};

export const use: CommandBody = async ({ args }, { memory }) => {
  const { home } = memory;
  const name = args.name ?? "";
  const { engines: all } = await listEngines(home);
  const wanted = all.find((engine) => engine.name === name);
  if (wanted === undefined) throw unknownEngine(name, all);
  if (wanted.problem !== undefined)
    throw new CommandFailure(`Cannot use '${name}'. ${wanted.problem}`, {
      details: { kind: "not-loadable", engine: name },
    });
  const previous = (await memory.config()).context.engine;
  const { changed, path } = usable(await setConfigValue(home, "context.engine", name));
  const isOther = previous !== name;
  return {
    json: { success: true, engine: name, previous, changed, path: resolve(path) },
    lines: [
      isOther
        ? `The context engine is now ${name} (before: ${printable(previous)}).`
        : `It was ${name} already.`,
    ],
    notes: isOther ? ["A new session uses it; one that is running keeps its engine."] : [],
  };
};

/** As it goes out; where the code is in there, nobody needs to know. */
function listed({ entry: _entry, ...engine }: ListedEngine, active: string): object {
  return { ...engine, active: engine.name === active };
}

function unknownEngine(name: string, all: readonly ListedEngine[]): CommandFailure {
  const names = all.map((engine) => engine.name);
  const meant = nearest(name, names);
  const hint =
    meant === undefined
      ? "An engine of your own goes into the home's plugins folder, with 'kind: context_engine' in its plugin.yaml."
      : `Did you mean '${meant}'?`;
  return new CommandFailure(`There is no context engine '${name}'. There are: ${names.join(", ")}.`, {
    hint,
    details: { kind: "not-found", engine: name },
  });
}
