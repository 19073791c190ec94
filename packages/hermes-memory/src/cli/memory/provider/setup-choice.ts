// Which provider is set up: a list to choose from, "Built-in only" at its end.
import {
  activeProviderName,
  type FoundProvider,
  fieldsOf,
  findProviders,
  loadProvider,
  setupHint,
} from "@hermes-memory/core/providers";
import { type CommandContext, CommandFailure } from "../../command.ts";
import { oneLine, printable } from "../../printing.ts";
import { choose } from "../../prompts/choose.ts";
import { activeName } from "./wanted.ts";

const BUILT_IN_ONLY = "Built-in only";

/** "" for the built-in memory alone. Throws `Cancelled`. */
export async function chooseProvider(context: CommandContext): Promise<string> {
  const { io, home } = context;
  const { providers, warnings } = await findProviders(home.home);
  for (const warning of warnings) io.note(`warning: ${printable(warning)}\n`);
  for (const { name, problem } of providers)
    if (problem !== undefined) io.note(`${name} is not offered. ${printable(problem)}\n`);
  const offered = providers.filter(({ problem }) => problem === undefined);
  const active = await activeName(context);
  const rows: string[] = [];
  for (const found of offered) {
    const mark = found.name === active ? " (active)" : "";
    rows.push(`${found.name} - ${oneLine(await hintOf(home.home, found))}${mark}`);
  }
  const question = {
    title: "Which memory provider?",
    labels: [...rows, BUILT_IN_ONLY],
    preselected: rows.length,
  };
  const name = offered[await choose(io, question)]?.name;
  io.note(`${question.title} ${name ?? BUILT_IN_ONLY}\n`);
  return name ?? "";
}

/** For programs: they have to say what they want. */
export async function refuseToChoose(home: string): Promise<never> {
  const names = (await findProviders(home)).providers.map(({ name }) => name);
  throw new CommandFailure("Name the provider that is to be set up: with --json or --yes nothing is asked.", {
    exitCode: 2,
    hint: `There are: ${names.join(", ")}. 'none' means the built-in memory alone.`,
    details: { kind: "usage", providers: names },
  });
}

/** True for the words that mean the built-in memory alone. */
export function isBuiltIn(name: string): boolean {
  return activeProviderName(name) === "";
}

/** What setting it up takes. A plugin's code is not run before somebody has chosen it; its own description has to do. */
export async function hintOf(home: string, { name, source, manifest }: FoundProvider): Promise<string> {
  if (source === "user") return manifest.description === "" ? "your plugin" : manifest.description;
  const loaded = await loadProvider(home, name);
  return loaded.ok ? setupHint(fieldsOf(loaded.value.provider).fields) : "cannot be loaded";
}
