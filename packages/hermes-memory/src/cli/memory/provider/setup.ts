// `hermes memory setup`: chooses a provider, asks what it needs to know, saves that, and switches it on last. Until then
// leaving changes nothing.

import { resolve } from "node:path";
import { useEnvFile } from "@hermes-memory/core/config";
import {
  type Answers,
  type ConfigField,
  collectAnswers,
  type Existing,
  fieldsOf,
  type LoadedProvider,
  readExisting,
  saveSetup,
  splitAnswers,
  variableOf,
} from "@hermes-memory/core/providers";
import {
  Cancelled,
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandOutcome,
} from "../../command.ts";
import { printable } from "../../printing.ts";
import { useVariables } from "./environment.ts";
import { switchOff } from "./off.ts";
import { ownSetup } from "./own-setup.ts";
import { providerSection } from "./settings.ts";
import { chooseProvider, isBuiltIn, refuseToChoose } from "./setup-choice.ts";
import { settleDependencies } from "./setup-dependencies.ts";
import { askFields } from "./setup-fields.ts";
import { refuseUnknownKeys, type SetupOrder, type SetupRun, setupOrder } from "./setup-order.ts";
import { checkNow, type Finished, setupOutcome } from "./setup-outcome.ts";
import { activeName, findWanted, loadWanted } from "./wanted.ts";

export const setup: CommandBody = async (input, context) => {
  try {
    return await runSetup(setupOrder(input), context);
  } catch (cause) {
    if (!(cause instanceof Cancelled)) throw cause;
    return cancelled(cause.by, "Cancelled. No setting was changed.");
  } finally {
    context.io.endWithoutWaiting();
  }
};

async function runSetup(order: SetupOrder, context: CommandContext): Promise<CommandOutcome> {
  const { io, isJson } = context;
  const home = resolve(context.home.home);
  const mayAsk = io.isInteractive && !isJson && !order.isYes;
  if (order.name === undefined && (isJson || order.isYes)) return refuseToChoose(home);
  const name = order.name ?? (await chooseProvider(context));
  if (isBuiltIn(name)) return switchOff(context);

  const found = await findWanted(home, name);
  await context.memory.memoryConfig(); // a broken config.yaml ends it here, before anybody has answered anything
  const consent = order.isYes ? "yes" : mayAsk ? "ask" : "no";
  const dependencies = await settleDependencies(found, consent, context);
  useEnvFile(home);
  const loaded = await loadWanted(home, name, "setup");
  const run = { values: order.values, mayAsk, home };
  const finished = await (loaded.provider.postSetup ? ownSetup : schemaSetup)(loaded, run, context);
  if (finished.kind === "left")
    return cancelled(finished.by, `Cancelled. What '${name}' had saved by then stays.`);
  const wasActive = (await activeName(context)) === name;
  const availability = await checkNow(home, name);
  return setupOutcome({ name, wasActive, dependencies, finished, availability }, io);
}

function cancelled(by: Cancelled["by"], line: string): CommandOutcome {
  const kind = by === "interrupt" ? "interrupted" : "cancelled";
  return { json: { success: false, kind }, lines: [line], exitCode: by === "interrupt" ? 130 : 1 };
}

async function schemaSetup(
  { found: { name }, provider }: LoadedProvider,
  run: SetupRun,
  { io, memory }: CommandContext,
): Promise<Finished> {
  const { fields, warnings } = fieldsOf(provider);
  for (const warning of warnings) io.note(`warning: ${printable(warning)}\n`);
  refuseUnknownKeys(
    run.values,
    fields.map(({ key }) => key),
  );
  const section = await providerSection(memory, name);
  const existing = await readExisting({ home: run.home, name, fields, env: io.env, provider, section });
  const answers = run.mayAsk
    ? await askFields(fields, { given: run.values, existing }, io)
    : given(fields, run.values, existing);
  const notes = notesOn(name, fields, { given: run.values, answers, existing }, run.mayAsk);
  const outcome = await saveSetup({
    ...splitAnswers(name, fields, answers),
    home: run.home,
    name,
    provider,
  });
  useVariables(savedVariables(name, fields, answers));
  return { kind: "saved", outcome, notes };
}

/** Answers of nobody: given, there already, or standard. Ends the command when that is not enough. */
function given(fields: readonly ConfigField[], values: Answers, existing: Existing): Answers {
  const { answers, missing, invalid } = collectAnswers(fields, values, existing);
  const [bad] = invalid;
  if (bad !== undefined)
    throw new CommandFailure(`The setting '${bad.key}' ${bad.message}.`, {
      exitCode: 2,
      details: { kind: "invalid-setting", invalid },
    });
  if (missing.length === 0) return answers;
  const keys = missing.map(({ key }) => key);
  throw new CommandFailure(`This provider needs more to be set up: ${keys.join(", ")}.`, {
    exitCode: 2,
    hint: `Add ${keys.map((key) => `--set ${key}=...`).join(" ")}, or run it on a terminal to be asked.`,
    details: { kind: "missing-settings", missing: keys },
  });
}

type Said = { readonly given: Answers; readonly answers: Answers; readonly existing: Existing };

function notesOn(
  name: string,
  fields: readonly ConfigField[],
  { given: values, answers, existing }: Said,
  wasAsked: boolean,
): string[] {
  const secrets = fields.filter(({ secret }) => secret === true);
  const typed = secrets.filter(({ key }) => values.has(key));
  const kept = secrets.filter(({ key }) => existing.secrets.has(key) && !answers.has(key));
  const unused = [...values.keys()].filter((key) => !answers.has(key) && values.get(key) !== "");
  return [
    ...(typed.length === 0
      ? []
      : ["A secret given with --set stays in the history of the shell; a variable or the prompt does not."]),
    ...(wasAsked ? [] : kept.map((field) => `${variableOf(name, field)} is set already and stays as it is.`)),
    ...(unused.length === 0 ? [] : [`Not used with these answers: ${unused.join(", ")}.`]),
  ];
}

function savedVariables(
  name: string,
  fields: readonly ConfigField[],
  answers: Answers,
): Record<string, string> {
  const { secrets } = splitAnswers(name, fields, answers);
  return Object.fromEntries(secrets.map(({ variable, value }) => [variable, value]));
}
