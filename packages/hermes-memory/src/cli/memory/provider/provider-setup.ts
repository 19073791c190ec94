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
import { readOutbox } from "@hermes-memory/providers/internal";
import {
  Cancelled,
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  unwrap,
  usageFailure,
} from "../../command.ts";
import { counted, oneLine, printable } from "../../printing.ts";
import { activeName, findNamed, hintOf, loadNamed, providerSection, uploadHint } from "./run-provider.ts";

/** What every step of one setup needs. */
type SetupRun = Pick<CommandContext, "io" | "memory"> & {
  readonly home: string;
  /** From `--set`; of two for one key, the last counts. */
  readonly given: Answers;
  readonly isYes: boolean;
  /** False without a terminal, and with --json or --yes. */
  readonly mayAsk: boolean;
  readonly note: (text: string) => void;
};

export const setup: CommandBody = async (input, context) => {
  context.io.endWithoutWaiting();
  const run = setupRun(input, context);
  const { home } = run;
  const previous = await activeName(context); // a broken config.yaml ends the command before the first question
  const name = input.args.provider ?? (await chooseProvider(previous, run));
  if (activeProviderName(name) === "") return off(input, context); // 'none' and its synonyms

  const found = await findNamed(home, name);
  const packages = await installMissing(found, run);
  const external = await lookForPrograms(found, run);

  useEnvFile(home);
  const { provider } = await loadNamed(home, name, "setup");
  const isOwn = provider.postSetup !== undefined;
  const saved = await (isOwn ? ownSetup(name, provider, run) : schemaSetup(name, provider, run));
  const { activated, written, failed, unsaved } = saved;

  const tried = await tryOut(found, run);
  const { availability, connection } = tried;
  const upload = activated ? await uploadHint(name, context) : undefined;
  const left = activated && previous !== name ? leftIn(home, previous) : undefined;

  // A script must notice that the service did not answer; a user at the terminal reads it.
  const isDone = failed.length === 0 && (run.mayAsk || connection.kind !== "failed");
  const state = activated
    ? `'${name}' is the memory provider of every session that starts from now on.`
    : previous === name && !isOwn
      ? `'${name}' was the memory provider before and still is.`
      : `'${name}' is not switched on.`;
  return {
    json: {
      success: isDone,
      message: [state, ...triedTexts(name, tried, activated)].join("\n"),
      provider: name,
      activated,
      own_setup: isOwn,
      ...{ written, failed, unsaved, packages, external },
      available: availability.available,
      reason: availability.reason,
      connection:
        connection.kind === "unsupported"
          ? undefined
          : { ok: connection.kind === "reached", message: connection.message },
      previous: previous || null,
      outbox: left,
      uploadable: upload?.count,
    },
    notes: [
      ...saved.notes,
      ...(left ? leftNotes(previous, left) : []),
      ...(upload?.note && connection.kind !== "failed" ? [upload.note] : []),
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
  const message = "Only the built-in memory is used.";
  const again = `'${before}' is switched off. 'hermes memory setup ${before}' switches it on again; its settings and data are kept.`;
  return {
    json: {
      ...{ success: true, message, provider: null, previous: before || null },
      ...{ changed, path: configPath(home), outbox: left },
    },
    notes: before === "" ? [] : [again, ...leftNotes(before, left)].map(printable),
  };
};

function setupRun({ flags }: CommandInput, { io, isJson, memory, home }: CommandContext): SetupRun {
  const isYes = flags.yes === true;
  const mayAsk = io.isInteractive && !isJson && !isYes;
  const note = (text: string): void => io.note(`${printable(text)}\n`);
  return { io, memory, home: resolve(home.home), given: givenAnswers(flags.set), isYes, mayAsk, note };
}

function givenAnswers(set: unknown): Answers {
  const pairs = Array.isArray(set) ? (set as readonly string[]) : [];
  return new Map(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at > 0) return [pair.slice(0, at).trim(), pair.slice(at + 1)];
      // The text may be a secret, so the message does not repeat it.
      throw usageFailure("--set needs a key and a value: --set key=value.");
    }),
  );
}

// ---- 1. Which provider. All questions throw `Cancelled` when the user leaves. ----

/** "" for the built-in memory alone. */
async function chooseProvider(active: string, { io, home, mayAsk, note }: SetupRun): Promise<string> {
  const { providers, warnings } = await findProviders(home);
  if (!mayAsk) {
    const names = providers.map(({ name }) => name);
    throw usageFailure(
      "Name the provider that is to be set up: without a terminal, or with --json or --yes, no questions are asked.",
      {
        hint: `There are: ${names.join(", ")}. 'none' means the built-in memory alone.`,
        providers: names,
      },
    );
  }
  for (const warning of warnings) note(`warning: ${warning}`);
  const labels = new Map<string, string>();
  for (const found of providers) {
    const { name, problem } = found;
    if (problem !== undefined) note(`${name} is not offered. ${problem}`);
    else
      labels.set(
        `${name} - ${oneLine(await hintOf(home, found))}${name === active ? " (active)" : ""}`,
        name,
      );
  }
  labels.set("Built-in only", "");
  const shown = [...labels.keys()];
  const index = await io.choose({
    title: "Which memory provider?",
    labels: shown,
    preselected: shown.length - 1,
  });
  return labels.get(shown[index] ?? "") ?? "";
}

// ---- 2. What the plugin needs: npm packages are installed if the user agrees, programs are only looked for. ----

type Packages = { readonly installed: readonly string[]; readonly missing: readonly string[] };

async function installMissing(
  found: FoundProvider,
  { io, isYes, mayAsk, note }: SetupRun,
): Promise<Packages> {
  const packages = found.directory === undefined ? [] : missingPackages(found.directory, found.manifest);
  const refused: Packages = { installed: [], missing: packages };
  if (packages.length === 0) return refused;
  const count = counted(packages.length, "npm package");
  note(`'${found.name}' needs ${count} in ${found.directory ?? "its directory"}: ${packages.join(", ")}`);
  if (!isYes && !mayAsk) note("Nothing is installed without --yes.");
  if (!isYes && !(mayAsk && (await io.confirm("Install now?", { short: true })))) return refused;
  note("Installing ...");
  const outcome = await io.untilInterrupted((signal) => installPackages(found, packages, { signal }));
  if (outcome.ok) return { installed: packages, missing: [] };
  if (outcome.error.kind === "stopped") throw new Cancelled("interrupt");
  note(outcome.error.message);
  return refused;
}

async function lookForPrograms({ manifest }: FoundProvider, { note }: SetupRun): Promise<object[]> {
  const python = manifest.pipDependencies;
  if (python.length > 0) note(`For the Python edition, not installed here: ${python.join(", ")}`);
  const external = [];
  for (const dependency of manifest.externalDependencies) {
    const { name, install } = dependency;
    const check = await checkExternal(dependency);
    if (check.kind === "missing") note(`${name} is missing: ${check.reason}.`);
    if (check.kind === "missing" && install !== "") note(`  Install it with: ${install}`);
    external.push({ name, present: check.kind === "unchecked" ? null : check.kind === "present", install });
  }
  return external;
}

// ---- 3. The settings that the provider's schema lists: asked for, saved, and the provider switched on. ----

type Saved = SetupOutcome & { readonly notes: readonly string[] };

async function schemaSetup(name: string, provider: MemoryProvider, run: SetupRun): Promise<Saved> {
  const { home, given, mayAsk } = run;
  const { fields, warnings } = fieldsOf(provider);
  for (const warning of warnings) run.note(`warning: ${warning}`);
  refuseUnknownKeys(
    given,
    fields.map(({ key }) => key),
  );
  const existing = await existingSettings(name, provider, run);
  const answers = mayAsk
    ? await askFields(fields, existing, run)
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
  return { ...outcome, notes };
}

async function existingSettings(
  name: string,
  provider: MemoryProvider,
  { home, io, memory }: SetupRun,
): Promise<Existing> {
  const { fields } = fieldsOf(provider);
  const section = await providerSection(memory, name);
  return readExisting({ home, name, fields, env: io.env, provider, section });
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
function missingSettings(name: string, fields: readonly ConfigField[]): CommandFailure {
  const missing = fields.map(({ key }) => key);
  const variables = fields.flatMap((field) => (field.secret ? (variableOf(name, field) ?? []) : []));
  const secrets = `${variables.join(", ")} may also come from the environment or the home's .env.`;
  const sets = missing.map((key) => `--set ${key}=...`).join(" ");
  return new CommandFailure(`This provider needs more to be set up: ${missing.join(", ")}.`, {
    exitCode: 2,
    hint: `Add ${sets}, or run it on a terminal to be asked.${variables.length === 0 ? "" : ` ${secrets}`}`,
    details: { kind: "missing-settings", missing, variables },
  });
}

/** A valid answer of `--set` is not asked for. A secret that the user keeps is not among the answers. */
async function askFields(
  fields: readonly ConfigField[],
  existing: Existing,
  run: SetupRun,
): Promise<Answers> {
  const answers = new Map<string, string>();
  for (const field of fields) {
    if (!isAsked(field, answers)) continue;
    const ready = run.given.has(field.key) ? checkAnswer(field, run.given.get(field.key) ?? "") : undefined;
    if (ready?.ok === false) run.note(`${shown(`${field.key} ${ready.error}`)}.`);
    const answer = ready?.ok ? ready.value : await askField(field, answers, existing, run);
    if (answer !== "") answers.set(field.key, answer);
  }
  return answers;
}

async function askField(
  field: ConfigField,
  answers: Answers,
  { secrets, settings }: Existing,
  { io, note }: SetupRun,
): Promise<string> {
  const isSecret = field.secret === true;
  const current = settings.get(field.key);
  const title = shown(labelOf(field));
  if (field.choices !== undefined && !isSecret) {
    const labels = field.choices.map(shown);
    const index = await io.choose({ title, labels, preselected: preselected(field, answers, current) });
    return field.choices[index] ?? "";
  }
  // Of the saved secret only the end is printed. The schema's default is not used: it would be printed.
  const old = isSecret ? (secrets.get(field.key) ?? "") : "";
  if (isSecret && old === "" && field.url) note(`Get it at ${shown(field.url)}`);
  const standard = isSecret ? undefined : defaultAnswer(field, answers, current);
  const optional = isSecret || standard || field.required ? "" : " (optional)";
  const aid = old === "" ? optional : ` [${maskSecret(old)}, empty keeps it]`;
  const asked = { ...field, required: old === "" && field.required };
  const typed = await io.ask(`${title}${field.type === "boolean" && !isSecret ? " (true or false)" : aid}`, {
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

// ---- 3 for a provider that has its own setup: it asks through `ask` and switches the provider on itself. ----

async function ownSetup(name: string, provider: MemoryProvider, run: SetupRun): Promise<Saved> {
  const { io, home, given, mayAsk, note } = run;
  if (!mayAsk) {
    // A setup that may not ask cannot get a key that is neither given nor saved.
    const existing = await existingSettings(name, provider, run);
    const { missing } = collectAnswers(fieldsOf(provider).fields, given, existing);
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
  const config = await ifUsable(run.memory.config());
  const options = {
    print: (line: string) => note(String(line)),
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
  return { activated, written: [], failed: [], unsaved: [], notes: [] };
}

// ---- 4. A new instance, which reads the settings that were saved, is asked, and then its service, if it has one. ----

type Tried = { readonly availability: Availability; readonly connection: ConnectionCheck };

async function tryOut({ name, source }: FoundProvider, { home, memory }: SetupRun): Promise<Tried> {
  const loaded = await loadProvider(home, name);
  const availability = loaded.ok
    ? await checkAvailability(loaded.value.provider)
    : { available: false, reason: loaded.error.message };
  // `status` asks a bundled provider itself, and does not run the code of a plugin.
  if (source === "user") recordAvailability(home, name, availability, "setup");
  if (!loaded.ok || !availability.available) return { availability, connection: { kind: "unsupported" } };
  const config = await memory.memoryConfig();
  const connection = await inspectConnection(loaded.value.provider, { home, config });
  if (connection.kind !== "unsupported")
    recordConnection(home, name, { ok: connection.kind === "reached", message: connection.message });
  return { availability, connection };
}

function triedTexts(
  name: string,
  { availability: { available, reason = "It gives no reason." }, connection }: Tried,
  activated: boolean,
): string[] {
  const state = available
    ? "It is available. 'hermes memory test' tries it out."
    : `It is not available yet. ${reason}`;
  if (connection.kind === "unsupported") return [state];
  if (connection.kind === "reached") return [state, connection.message];
  return [
    state,
    `Its service refused the request or was not reached: ${connection.message}`,
    `The settings are saved${activated ? ` and '${name}' is active` : ""}. If a setting is wrong, 'hermes memory setup ${name}' corrects it; 'hermes doctor --network' tries the connection again.`,
  ];
}

// ---- The outbox of the provider that is active no longer. ----

type Left = { readonly waiting: number; readonly held: number; readonly dead: number };

function leftIn(home: string, name: string): Left {
  const lanes =
    name === "" ? [] : ifReadable(() => readOutbox(home)).filter(({ provider }) => provider === name);
  const sum = (of: keyof Left): number => lanes.reduce((all, { state }) => all + state[of], 0);
  return { waiting: sum("waiting"), held: sum("held"), dead: sum("dead") };
}

function leftNotes(name: string, { waiting, held, dead }: Left): string[] {
  const kept = `${counted(waiting + held, "write is", "writes are")} kept in the outbox of '${name}' and sent when it is active again; 'hermes memory outbox send --provider ${name}' sends them now.`;
  const letters = `'${name}' leaves ${counted(dead, "dead letter")}: 'hermes memory outbox list' shows them, 'hermes memory outbox drop --provider ${name}' deletes them.`;
  return [...(waiting + held > 0 ? [kept] : []), ...(dead > 0 ? [letters] : [])];
}
