// `hermes memory setup`: chooses a provider, installs what it needs, asks for its settings, saves them, and switches it on last. Until
// it saves, leaving changes nothing. `hermes memory off` switches the provider off again.
import { resolve } from "node:path";
import { configPath, nearest, useEnvFile } from "@hermes-memory/core/internal/config";
import { ifUsable, openHome } from "@hermes-memory/core/internal/memory";
import {
  type Answers,
  type Availability,
  activeProviderName,
  type ConfigField,
  type ConnectionCheck,
  checkAnswer,
  checkAvailability,
  checkExternal,
  collectAnswers,
  deactivate,
  defaultAnswer,
  type Existing,
  type FoundProvider,
  fieldsOf,
  findProviders,
  ifReadable,
  inspectConnection,
  installPackages,
  isAsked,
  labelOf,
  loadProvider,
  type MemoryProvider,
  maskSecret,
  missingPackages,
  preselected,
  readExisting,
  recordAvailability,
  recordConnection,
  runForeign,
  type SetupOutcome,
  saveSetup,
  splitAnswers,
  variableOf,
} from "@hermes-memory/core/internal/providers";
import {
  Cancelled,
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type Terminal,
  unwrap,
  usageFailure,
} from "../../command.ts";
import { counted, oneLine, printable } from "../../printing.ts";
import { activeName, findNamed, hintOf, loadNamed, providerSection } from "./find-provider.ts";
import { lanesIn } from "./outbox.ts";
import { uploadHint } from "./run-provider.ts";

/** Shared by the steps of one setup. */
type SetupRun = {
  readonly home: string;
  /** From `--set`; of two for one key, the last counts. */
  readonly given: Answers;
  readonly isYes: boolean;
  /** False without a terminal, and with --json or --yes. */
  readonly mayAsk: boolean;
};

type Saved = SetupOutcome & { readonly isOwn: boolean; readonly notes: readonly string[] };

export const setup: CommandBody = async (input, context) => {
  const { io, isJson } = context;
  io.endWithoutWaiting();
  const home = resolve(context.home.home);
  const isYes = input.flags.yes === true;
  const mayAsk = io.isInteractive && !isJson && !isYes;
  const run: SetupRun = { home, given: answersOfFlags(input), isYes, mayAsk };

  const name = input.args.provider ?? (await (mayAsk ? chooseProvider(context) : refuseWithoutName(home)));
  if (activeProviderName(name) === "") return off(input, context); // 'none' and its synonyms
  const found = await findNamed(home, name);
  const previous = await activeName(context); // a broken config.yaml ends the command before the first question
  const packages = await settlePackages(found, run, io);
  const external = await missingPrograms(found, io);
  useEnvFile(home);
  const { provider } = await loadNamed(home, name, "setup");
  const saved = await (provider.postSetup ? ownSetup : schemaSetup)(name, provider, run, context);
  const checked = await checkNow(home, name, context);
  const { availability, connection } = checked;
  const upload = await uploadHint(name, input, context);

  const { activated, written, failed, unsaved, isOwn } = saved;
  const left = activated && previous !== name ? leftIn(home, previous) : undefined;
  // A script must notice that the service did not answer; a user at the terminal reads it.
  const isDone = failed.length === 0 && !(!mayAsk && connection.kind === "failed");
  return {
    json: {
      success: isDone,
      message: settledTexts(name, checked, { activated, wasActive: previous === name && !isOwn }).join("\n"),
      provider: name,
      activated,
      own_setup: isOwn,
      written,
      failed,
      unsaved,
      packages,
      external,
      available: availability.available,
      reason: availability.reason,
      connection:
        connection.kind === "unsupported"
          ? undefined
          : { ok: connection.kind === "reached", message: connection.message },
      previous: previous === "" ? null : previous,
      outbox: left,
      uploadable: activated ? upload.count : undefined,
    },
    notes: [
      ...saved.notes,
      ...(left === undefined ? [] : leftNotes(previous, left)),
      ...(activated && upload.note !== undefined && connection.kind !== "failed" ? [upload.note] : []),
      ...failed.map(({ message }) => `error: ${message}`),
      ...(failed.length > 0 && written.length > 0
        ? ["What was saved stays saved; run the setup again for the rest."]
        : []),
      ...(isOwn && !activated
        ? [`Its own setup did not switch it on. To do that: hermes config set memory.provider ${name}`]
        : []),
    ].map(printable),
    exitCode: isDone ? 0 : 1,
  };
};

export const off: CommandBody = async (_input, context) => {
  const { home } = context.home;
  const before = await activeName(context);
  const left = leftIn(home, before);
  const { changed } = unwrap(await deactivate(home));
  const again = `'hermes memory setup ${before}' switches it on again; its settings and data are kept.`;
  return {
    json: {
      success: true,
      message: "Only the built-in memory is used.",
      provider: null,
      previous: before === "" ? null : before,
      changed,
      path: configPath(home),
      outbox: left,
    },
    notes:
      before === "" ? [] : [printable(`'${before}' is switched off. ${again}`), ...leftNotes(before, left)],
  };
};

/** Writes of a provider that is no longer active. */
type Left = { readonly waiting: number; readonly held: number; readonly dead: number };

function leftIn(home: string, name: string): Left {
  const lanes = ifReadable(() => lanesIn(home, name)).filter(({ active }) => active);
  const sum = (of: keyof Left): number => lanes.reduce((all, lane) => all + lane[of], 0);
  return { waiting: sum("waiting"), held: sum("held"), dead: sum("dead") };
}

function leftNotes(name: string, { waiting, held, dead }: Left): string[] {
  const writes = counted(waiting + held, "write is", "writes are");
  const letters = counted(dead, "dead letter");
  return [
    waiting + held > 0 &&
      `${writes} kept in the outbox of '${name}' and sent when it is active again; 'hermes memory outbox send --provider ${name}' sends them now.`,
    dead > 0 &&
      `'${name}' leaves ${letters}: 'hermes memory outbox list' shows them, 'hermes memory outbox drop --provider ${name}' deletes them.`,
  ].flatMap((note) => (note === false ? [] : [printable(note)]));
}

function answersOfFlags({ flags }: CommandInput): Answers {
  const pairs = Array.isArray(flags.set) ? (flags.set as readonly string[]) : [];
  return new Map(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at > 0) return [pair.slice(0, at).trim(), pair.slice(at + 1)];
      // The text may be a secret, so the message does not repeat it.
      throw usageFailure("--set needs a key and a value: --set key=value.");
    }),
  );
}

// Step 1: which provider. All questions throw `Cancelled` when the user leaves.

/** "" for the built-in memory alone. */
async function chooseProvider({ io, home, ...context }: CommandContext): Promise<string> {
  const { providers, warnings } = await findProviders(home.home);
  for (const warning of warnings) io.note(`warning: ${printable(warning)}\n`);
  for (const { name, problem } of providers)
    if (problem !== undefined) io.note(`${name} is not offered. ${printable(problem)}\n`);
  const offered = providers.filter(({ problem }) => problem === undefined);
  const active = await activeName({ io, home, ...context });
  const labels: string[] = [];
  for (const found of offered) {
    const mark = found.name === active ? " (active)" : "";
    labels.push(`${found.name} - ${oneLine(await hintOf(home.home, found))}${mark}`);
  }
  const index = await io.choose({
    title: "Which memory provider?",
    labels: [...labels, "Built-in only"],
    preselected: labels.length,
  });
  return offered[index]?.name ?? "";
}

async function refuseWithoutName(home: string): Promise<never> {
  const names = (await findProviders(home)).providers.map(({ name }) => name);
  throw usageFailure(
    "Name the provider that is to be set up: without a terminal, or with --json or --yes, no questions are asked.",
    {
      hint: `There are: ${names.join(", ")}. 'none' means the built-in memory alone.`,
      providers: names,
    },
  );
}

// Step 2: npm packages and programs that the plugin needs. Packages are installed if the user agrees, programs are only looked for.

type Packages = { readonly installed: readonly string[]; readonly missing: readonly string[] };

async function settlePackages(found: FoundProvider, run: SetupRun, io: Terminal): Promise<Packages> {
  const packages = missingPackages(found);
  const refused: Packages = { installed: [], missing: packages };
  if (packages.length === 0) return refused;
  const note = (text: string): void => io.note(`${printable(text)}\n`);
  const count = counted(packages.length, "npm package");
  note(`'${found.name}' needs ${count} in ${found.directory ?? "its directory"}: ${packages.join(", ")}`);
  if (!run.isYes && !run.mayAsk) note("Nothing is installed without --yes.");
  if (!run.isYes && !(run.mayAsk && (await io.confirm("Install now?", { short: true })))) return refused;
  note("Installing ...");
  const outcome = await io.untilInterrupted((signal) => installPackages(found, packages, { signal }));
  if (outcome.ok) return { installed: packages, missing: [] };
  if (outcome.error.kind === "stopped") throw new Cancelled("interrupt");
  note(outcome.error.message);
  return refused;
}

async function missingPrograms({ manifest }: FoundProvider, io: Terminal): Promise<object[]> {
  const note = (text: string): void => io.note(`${printable(text)}\n`);
  const python = manifest.pipDependencies;
  if (python.length > 0) note(`For the Python edition, not installed here: ${python.join(", ")}`);
  const external = [];
  for (const dependency of manifest.externalDependencies) {
    const { name, install } = dependency;
    const check = await checkExternal(dependency);
    if (check.kind === "missing") {
      note(`${name} is missing: ${check.reason}.`);
      if (install !== "") note(`  Install it with: ${install}`);
    }
    external.push({ name, present: check.kind === "unchecked" ? null : check.kind === "present", install });
  }
  return external;
}

// Step 3: the settings that the provider's schema lists

async function schemaSetup(
  name: string,
  provider: MemoryProvider,
  { home, given, mayAsk }: SetupRun,
  { io, memory }: CommandContext,
): Promise<Saved> {
  const { fields, warnings } = fieldsOf(provider);
  for (const warning of warnings) io.note(`warning: ${printable(warning)}\n`);
  refuseUnknownKeys(
    given,
    fields.map(({ key }) => key),
  );
  const section = await providerSection(memory, name);
  const existing = await readExisting({ home, name, fields, env: io.env, provider, section });
  const answers = mayAsk
    ? await askFields(fields, { given, existing }, io)
    : answersWithoutAsking(name, fields, given, existing);
  const split = splitAnswers(name, fields, answers);
  const outcome = await saveSetup({ ...split, home, name, provider });
  for (const { variable, value } of split.secrets) process.env[variable] = value; // for the check that follows

  const secrets = fields.filter(({ secret }) => secret === true);
  const kept = secrets.filter(({ key }) => existing.secrets.has(key) && !answers.has(key));
  const unused = [...given.keys()].filter((key) => !answers.has(key) && given.get(key) !== "");
  const notes = [
    ...(secrets.some(({ key }) => given.has(key))
      ? ["A secret given with --set stays in the history of the shell; a variable or the prompt does not."]
      : []),
    ...(mayAsk ? [] : kept.map((field) => `${variableOf(name, field)} is set already and stays as it is.`)),
    ...(unused.length === 0 ? [] : [`Not used with these answers: ${unused.join(", ")}.`]),
  ];
  return { ...outcome, isOwn: false, notes };
}

/** Ends the command before a question is asked or a file is written. */
function refuseUnknownKeys(given: Answers, known: readonly string[]): void {
  const unknown = [...given.keys()].filter((key) => !known.includes(key));
  const [first] = unknown;
  if (first === undefined) return;
  const meant = nearest(first, known);
  const list = known.length === 0 ? "It has no settings." : `Its settings are: ${known.join(", ")}.`;
  throw new CommandFailure(`There is no setting '${first}' for this provider.`, {
    exitCode: 2,
    hint: meant === undefined ? list : `Did you mean '${meant}'? ${list}`,
    details: { kind: "unknown-setting", unknown, known, meant },
  });
}

/** From `--set`, saved values and defaults. Ends the command when a required setting is missing. */
function answersWithoutAsking(
  name: string,
  fields: readonly ConfigField[],
  given: Answers,
  existing: Existing,
): Answers {
  const { answers, missing, invalid } = collectAnswers(fields, given, existing);
  const [bad] = invalid;
  if (bad !== undefined)
    throw new CommandFailure(`The setting '${bad.key}' ${bad.message}.`, {
      exitCode: 2,
      details: { kind: "invalid-setting", invalid },
    });
  if (missing.length > 0) throw missingSettings(name, missing);
  return answers;
}

/** A secret is better given as a variable: `--set` stays in the history of the shell. */
function missingSettings(name: string, missing: readonly ConfigField[]): CommandFailure {
  const keys = missing.map(({ key }) => key);
  const variables = missing.flatMap((field) =>
    field.secret === true ? (variableOf(name, field) ?? []) : [],
  );
  const secrets =
    variables.length === 0
      ? ""
      : ` ${variables.join(", ")} may also come from the environment or the home's .env.`;
  return new CommandFailure(`This provider needs more to be set up: ${keys.join(", ")}.`, {
    exitCode: 2,
    hint: `Add ${keys.map((key) => `--set ${key}=...`).join(" ")}, or run it on a terminal to be asked.${secrets}`,
    details: { kind: "missing-settings", missing: keys, variables },
  });
}

/** A valid answer of `--set` is not asked for. A secret that the user keeps is not among the answers. */
async function askFields(
  fields: readonly ConfigField[],
  { given, existing }: { readonly given: Answers; readonly existing: Existing },
  io: Terminal,
): Promise<Answers> {
  const answers = new Map<string, string>();
  for (const field of fields) {
    if (!isAsked(field, answers)) continue;
    const ready = given.has(field.key) ? checkAnswer(field, given.get(field.key) ?? "") : undefined;
    if (ready?.ok === false) io.note(`${shown(`${field.key} ${ready.error}`)}.\n`);
    const answer = ready?.ok ? ready.value : await askField(field, answers, existing, io);
    if (answer !== "") answers.set(field.key, answer);
  }
  return answers;
}

async function askField(
  field: ConfigField,
  answers: Answers,
  { secrets, settings }: Existing,
  io: Terminal,
): Promise<string> {
  const isSecret = field.secret === true;
  const current = settings.get(field.key);
  if (field.choices !== undefined && !isSecret) {
    const labels = field.choices.map(shown);
    const index = await io.choose({
      title: shown(labelOf(field)),
      labels,
      preselected: preselected(field, answers, current),
    });
    return field.choices[index] ?? "";
  }
  // Of the saved secret only the end is printed. The schema's default is not used: it would be printed.
  const old = isSecret ? (secrets.get(field.key) ?? "") : "";
  if (isSecret && old === "" && field.url) io.note(`Get it at ${shown(field.url)}\n`);
  const standard = isSecret ? undefined : defaultAnswer(field, answers, current);
  const optional = isSecret || standard || field.required ? "" : " (optional)";
  const aid = old === "" ? optional : ` [${maskSecret(old)}, empty keeps it]`;
  const message = `${shown(labelOf(field))}${field.type === "boolean" && !isSecret ? " (true or false)" : aid}`;
  const asked = { ...field, required: old === "" && field.required };
  const typed = await io.ask(message, {
    isSecret,
    standard,
    problem: (text) => {
      const checked = checkAnswer(asked, text);
      return checked.ok ? undefined : shown(`${field.key} ${checked.error}.`);
    },
  });
  const checked = checkAnswer(asked, typed);
  return checked.ok ? checked.value : "";
}

/** Text of a plugin's schema: one line, without control characters. */
function shown(text: string): string {
  return oneLine(text, 200);
}

// Step 3 for a provider that has its own setup: it asks through `ask` and switches the provider on itself

async function ownSetup(
  name: string,
  provider: MemoryProvider,
  { given, mayAsk, home }: SetupRun,
  { io, memory }: CommandContext,
): Promise<Saved> {
  if (!mayAsk) {
    // A setup that may not ask cannot get a key that is neither given nor saved.
    const { fields } = fieldsOf(provider);
    const section = await providerSection(memory, name);
    const existing = await readExisting({ home, name, fields, env: io.env, provider, section });
    const { missing } = collectAnswers(fields, given, existing);
    const secrets = missing.filter(({ secret }) => secret === true);
    if (secrets.length > 0) throw missingSettings(name, secrets);
  }
  let left: Cancelled | undefined;
  const ask = async (
    question: string,
    { secret = false, default: standard = "" }: { readonly secret?: boolean; readonly default?: string } = {},
  ): Promise<string> => {
    if (left !== undefined) throw left; // a plugin that catches the error and asks again
    try {
      return await io.ask(oneLine(question, 500), { isSecret: secret, standard });
    } catch (cause) {
      if (cause instanceof Cancelled)
        left = new Cancelled(cause.by, `Cancelled. What '${name}' had saved by then stays.`);
      throw cause;
    }
  };
  const config = await ifUsable(memory.config());
  const options = {
    print: (line: string) => io.note(`${printable(String(line))}\n`),
    values: Object.fromEntries(given),
    ...(mayAsk ? { ask } : {}), // a plugin may test for `"ask" in options`
  };
  const outcome = await runForeign({ timeoutMs: Number.POSITIVE_INFINITY }, () =>
    provider.postSetup?.(home, config?.raw ?? {}, options),
  );
  if (left !== undefined) throw left;
  if (!outcome.ok)
    throw new CommandFailure(`The setup of '${name}' ${outcome.error.message}.`, {
      details: { kind: "setup-failed", provider: name },
    });
  const after = await ifUsable(openHome({ home }).config()); // reads the file that the plugin may have changed
  const activated = after !== undefined && activeProviderName(after.memory.provider) === name;
  return { activated, written: [], failed: [], unsaved: [], isOwn: true, notes: [] };
}

// Step 4: a new instance, which reads the settings that were saved, is asked, and then its service, if it has one

type Checked = { readonly availability: Availability; readonly connection: ConnectionCheck };

async function checkNow(home: string, name: string, { memory }: CommandContext): Promise<Checked> {
  const loaded = await loadProvider(home, name);
  const availability = loaded.ok
    ? await checkAvailability(loaded.value.provider)
    : { available: false, reason: loaded.error.message };
  recordAvailability(home, name, availability, "setup");
  if (!loaded.ok || !availability.available) return { availability, connection: { kind: "unsupported" } };
  const config = await memory.memoryConfig();
  const connection = await inspectConnection(loaded.value.provider, { home, config });
  if (connection.kind !== "unsupported")
    recordConnection(home, name, { ok: connection.kind === "reached", message: connection.message });
  return { availability, connection };
}

function settledTexts(
  name: string,
  { availability: { available, reason = "It gives no reason." }, connection }: Checked,
  { activated, wasActive }: { readonly activated: boolean; readonly wasActive: boolean },
): string[] {
  const inactive = wasActive
    ? `'${name}' was the memory provider before and still is.`
    : `'${name}' is not switched on.`;
  const state = activated
    ? `'${name}' is the memory provider of every session that starts from now on.`
    : inactive;
  const answer = connection.kind === "unsupported" ? "" : connection.message;
  const failed = [
    `Its service refused the request or was not reached: ${answer}`,
    `The settings are saved${activated ? ` and '${name}' is active` : ""}. If a setting is wrong, 'hermes memory setup ${name}' corrects it; 'hermes doctor --network' tries the connection again.`,
  ];
  return [
    state,
    available ? "It is available. 'hermes memory test' tries it out." : `It is not available yet. ${reason}`,
    ...(connection.kind === "reached" ? [answer] : []),
    ...(connection.kind === "failed" ? failed : []),
  ];
}
