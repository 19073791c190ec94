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
  type LoadedProvider,
  labelOf,
  loadProvider,
  maskSecret,
  missingPackages,
  preselected,
  readExisting,
  recordAvailability,
  recordConnection,
  runForeign,
  type SetupOutcome,
  type SetupWrite,
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
  type CommandOutcome,
  type Terminal,
  unwrap,
  usageFailure,
} from "../../command.ts";
import { cancelled } from "../../confirm.ts";
import { counted, oneLine, printable } from "../../printing.ts";
import { choose } from "../../prompts/choose.ts";
import { activeName, findNamed, hintOf, loadNamed, providerSection } from "./find-provider.ts";
import { total } from "./outbox-state.ts";
import { uploadHint } from "./upload.ts";

/** Shared by the steps of one setup. */
type SetupRun = {
  readonly home: string;
  /** From `--set`; of two for one key, the last counts. */
  readonly given: Answers;
  readonly isYes: boolean;
  /** False without a terminal, and with --json or --yes. */
  readonly mayAsk: boolean;
};

/** How the provider's settings were saved. */
type Finished =
  | { readonly kind: "saved"; readonly outcome: SetupOutcome; readonly notes: readonly string[] }
  /** By the provider's own setup. */
  | { readonly kind: "own"; readonly isActive: boolean }
  /** The user left during the provider's own questions. It may have saved something by then. */
  | { readonly kind: "left"; readonly by: Cancelled["by"] };

const LABEL_CHARS = 200;
const QUESTION_CHARS = 500;

export const setup: CommandBody = async (input, context) => {
  try {
    return await runSetup(input, context);
  } catch (cause) {
    if (!(cause instanceof Cancelled)) throw cause;
    return leftEarly(cause.by, "Cancelled. No setting was changed.");
  } finally {
    context.io.endWithoutWaiting();
  }
};

export const off: CommandBody = (_input, context) => switchOff(context);

async function runSetup(input: CommandInput, context: CommandContext): Promise<CommandOutcome> {
  const { io, isJson } = context;
  const home = resolve(context.home.home);
  const isYes = input.flags.yes === true;
  const run = { home, given: answersOfFlags(input), isYes, mayAsk: io.isInteractive && !isJson && !isYes };
  if (input.args.provider === undefined && (isJson || isYes)) throw await providerMissing(home);
  const name = input.args.provider ?? (await chooseProvider(context));
  if (activeProviderName(name) === "") return switchOff(context); // 'none' and its synonyms

  const found = await findNamed(home, name);
  await context.memory.memoryConfig(); // a broken config.yaml ends the command before the first question
  const dependencies = await settleDependencies(found, run, context);
  useEnvFile(home);
  const loaded = await loadNamed(home, name, "setup");
  const finished = await (loaded.provider.postSetup ? ownSetup : schemaSetup)(loaded, run, context);
  if (finished.kind === "left")
    return leftEarly(finished.by, `Cancelled. What '${name}' had saved by then stays.`);
  const previous = await activeName(context);
  const checked = await checkNow(home, name, context);
  const upload = await uploadHint(name, input, context);
  return setupOutcome(
    {
      name,
      previous,
      dependencies,
      finished,
      ...checked,
      left: leftIn(context, previous),
      upload,
      isScript: !run.mayAsk,
    },
    io,
  );
}

function leftEarly(by: Cancelled["by"], line: string): CommandOutcome {
  return { ...cancelled(by === "interrupt" ? 130 : 1), lines: [line] };
}

async function switchOff(context: CommandContext): Promise<CommandOutcome> {
  const before = await activeName(context);
  const left = leftIn(context, before);
  const { changed } = unwrap(await deactivate(context.home.home));
  const again = `'hermes memory setup ${before}' switches it on again; its settings and data are kept.`;
  return {
    json: {
      success: true,
      provider: null,
      previous: before === "" ? null : before,
      changed,
      path: configPath(context.home.home),
      outbox: left,
    },
    lines: ["Only the built-in memory is used."],
    notes:
      before === "" ? [] : [printable(`'${before}' is switched off. ${again}`), ...leftNotes(before, left)],
  };
}

/** Writes of a provider that is no longer active. */
type Left = { readonly waiting: number; readonly held: number; readonly dead: number };

function leftIn({ home }: CommandContext, name: string): Left {
  const lanes = ifReadable(() => readOutbox(home.home)).filter(({ provider }) => provider === name);
  const { waiting, held, dead } = total(lanes.map(({ state }) => state));
  return { waiting, held, dead };
}

function leftNotes(name: string, { waiting, held, dead }: Left): string[] {
  const writes = counted(waiting + held, "write is", "writes are");
  return [
    ...(waiting + held === 0
      ? []
      : [
          printable(
            `${writes} kept in the outbox of '${name}' and sent when it is active again; 'hermes memory outbox send --provider ${name}' sends them now.`,
          ),
        ]),
    ...(dead === 0
      ? []
      : [
          printable(
            `'${name}' leaves ${counted(dead, "dead letter")}: 'hermes memory outbox list' shows them, 'hermes memory outbox drop --provider ${name}' deletes them.`,
          ),
        ]),
  ];
}

// Arguments

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

async function providerMissing(home: string): Promise<CommandFailure> {
  const names = (await findProviders(home)).providers.map(({ name }) => name);
  return usageFailure(
    "Name the provider that is to be set up: with --json or --yes no questions are asked.",
    {
      hint: `There are: ${names.join(", ")}. 'none' means the built-in memory alone.`,
      providers: names,
    },
  );
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

// Step 1: which provider. All questions throw `Cancelled` when the user leaves.

/** "" for the built-in memory alone. */
async function chooseProvider(context: CommandContext): Promise<string> {
  const { io, home } = context;
  const { providers, warnings } = await findProviders(home.home);
  for (const warning of warnings) io.note(`warning: ${printable(warning)}\n`);
  for (const { name, problem } of providers)
    if (problem !== undefined) io.note(`${name} is not offered. ${printable(problem)}\n`);
  const offered = providers.filter(({ problem }) => problem === undefined);
  const active = await activeName(context);
  const labels: string[] = [];
  for (const found of offered) {
    const mark = found.name === active ? " (active)" : "";
    labels.push(`${found.name} - ${oneLine(await hintOf(home.home, found))}${mark}`);
  }
  const title = "Which memory provider?";
  const builtIn = "Built-in only";
  const index = await choose(io, { title, labels: [...labels, builtIn], preselected: labels.length });
  const name = offered[index]?.name;
  io.note(`${title} ${name ?? builtIn}\n`);
  return name ?? "";
}

// Step 2: npm packages and programs that the plugin needs. Packages are installed if the user agrees, programs are only looked for.

type Dependencies = {
  readonly installed: readonly string[];
  /** Packages that are not installed. */
  readonly missing: readonly string[];
  readonly external: readonly {
    readonly name: string;
    readonly present: boolean | null;
    readonly install: string;
  }[];
};

async function settleDependencies(
  found: FoundProvider,
  run: SetupRun,
  { io }: CommandContext,
): Promise<Dependencies> {
  const note = (text: string): void => io.note(`${printable(text)}\n`);
  const packages = missingPackages(found);
  const isInstalled = packages.length > 0 && (await settlePackages(found, packages, run, io));
  const python = found.manifest.pipDependencies;
  if (python.length > 0) note(`For the Python edition, not installed here: ${python.join(", ")}`);
  const external: Dependencies["external"][number][] = [];
  for (const dependency of found.manifest.externalDependencies) {
    const { name, install } = dependency;
    const check = await checkExternal(dependency);
    if (check.kind === "missing") {
      note(`${name} is missing: ${check.reason}.`);
      if (install !== "") note(`  Install it with: ${install}`);
    }
    external.push({ name, present: check.kind === "unchecked" ? null : check.kind === "present", install });
  }
  return { installed: isInstalled ? packages : [], missing: isInstalled ? [] : packages, external };
}

async function settlePackages(
  found: FoundProvider,
  packages: readonly string[],
  { isYes, mayAsk }: SetupRun,
  io: Terminal,
): Promise<boolean> {
  const note = (text: string): void => io.note(`${printable(text)}\n`);
  const count = counted(packages.length, "npm package");
  note(`'${found.name}' needs ${count} in ${found.directory ?? "its directory"}: ${packages.join(", ")}`);
  if (!isYes && !mayAsk) note("Nothing is installed without --yes.");
  const isAgreed = isYes || (mayAsk && (await io.confirm("Install now?", { short: true })));
  if (!isAgreed) return false;
  note("Installing ...");
  const outcome = await io.untilInterrupted((signal) => installPackages(found, packages, { signal }));
  if (outcome.ok) return true;
  if (outcome.error.kind === "stopped") throw new Cancelled("interrupt");
  note(outcome.error.message);
  return false;
}

// Step 3: the settings that the provider's schema lists

async function schemaSetup(
  { found: { name }, provider }: LoadedProvider,
  { home, given, mayAsk }: SetupRun,
  { io, memory }: CommandContext,
): Promise<Finished> {
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
  const notes = notesOn(name, fields, { given, answers, existing }, mayAsk);
  const split = splitAnswers(name, fields, answers);
  const outcome = await saveSetup({ ...split, home, name, provider });
  for (const { variable, value } of split.secrets) process.env[variable] = value; // for the check that follows
  return { kind: "saved", outcome, notes };
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

/** A key of `--set` is not asked for. A secret that the user keeps is not among the answers. */
async function askFields(
  fields: readonly ConfigField[],
  { given: givenAnswers, existing }: { readonly given: Answers; readonly existing: Existing },
  io: Terminal,
): Promise<Answers> {
  const answers = new Map<string, string>();
  for (const field of fields) {
    if (!isAsked(field, answers)) continue;
    const given = givenAnswers.get(field.key);
    const first = given === undefined ? undefined : accepted(field, given, io);
    const answer = first ?? (await askField(field, answers, existing, io));
    if (answer !== "") answers.set(field.key, answer);
  }
  return answers;
}

async function askField(
  field: ConfigField,
  answers: Answers,
  existing: Existing,
  io: Terminal,
): Promise<string> {
  if (field.secret === true) return askSecret(field, existing.secrets.get(field.key) ?? "", io);
  const current = existing.settings.get(field.key);
  const title = shown(labelOf(field));
  if (field.choices !== undefined) {
    const labels = field.choices.map(shown);
    const question = { title, labels, preselected: preselected(field, answers, current) };
    const choice = field.choices[await choose(io, question)] ?? "";
    io.note(`${title}: ${shown(choice)}\n`);
    return choice;
  }
  const standard = defaultAnswer(field, answers, current);
  const isYesNo = field.type === "boolean";
  const offered = isYesNo ? yesOrNo(field, standard) : standard;
  const kind = isYesNo ? " (yes/no)" : "";
  const aid = offered !== "" ? ` [${shown(offered)}]` : field.required ? "" : " (optional)";
  return untilAccepted(field, io, async () => (await io.ask(`${title}${kind}${aid}: `)).trim() || standard);
}

/** A saved or default boolean as the user is asked for it; "" for none. */
function yesOrNo(field: ConfigField, value: string): string {
  const checked = checkAnswer({ ...field, required: false }, value);
  if (!checked.ok || checked.value === "") return "";
  return checked.value === "true" ? "yes" : "no";
}

/** Of the current secret only the end is printed. The schema's default is not used: it would be printed. */
async function askSecret(field: ConfigField, current: string, io: Terminal): Promise<string> {
  if (current === "" && field.url) io.note(`Get it at ${shown(field.url)}\n`);
  const aid = current !== "" ? `[${maskSecret(current)}, empty keeps it]` : "(input is hidden)";
  return untilAccepted(current === "" ? field : { ...field, required: false }, io, () =>
    io.ask(`${shown(labelOf(field))} ${aid}: `, { isSecret: true }),
  );
}

async function untilAccepted(field: ConfigField, io: Terminal, ask: () => Promise<string>): Promise<string> {
  for (;;) {
    const answer = accepted(field, await ask(), io);
    if (answer !== undefined) return answer;
  }
}

/** Undefined when the answer is invalid; prints why. */
function accepted(field: ConfigField, text: string, io: Terminal): string | undefined {
  const checked = checkAnswer(field, text);
  if (checked.ok) return checked.value;
  io.note(`${shown(field.key)} ${shown(checked.error)}.\n`);
  return undefined;
}

/** Text of a plugin's schema: one line, without control characters. */
function shown(text: string): string {
  return oneLine(text, LABEL_CHARS);
}

function notesOn(
  name: string,
  fields: readonly ConfigField[],
  {
    given,
    answers,
    existing,
  }: { readonly given: Answers; readonly answers: Answers; readonly existing: Existing },
  wasAsked: boolean,
): string[] {
  const secrets = fields.filter(({ secret }) => secret === true);
  const kept = secrets.filter(({ key }) => existing.secrets.has(key) && !answers.has(key));
  const unused = [...given.keys()].filter((key) => !answers.has(key) && given.get(key) !== "");
  return [
    ...(secrets.some(({ key }) => given.has(key))
      ? ["A secret given with --set stays in the history of the shell; a variable or the prompt does not."]
      : []),
    ...(wasAsked ? [] : kept.map((field) => `${variableOf(name, field)} is set already and stays as it is.`)),
    ...(unused.length === 0 ? [] : [`Not used with these answers: ${unused.join(", ")}.`]),
  ];
}

// Step 3 for a provider that has its own setup: it asks through `ask` and switches the provider on itself

type Ask = (
  question: string,
  options?: { readonly secret?: boolean; readonly default?: string },
) => Promise<string>;

async function ownSetup(
  { found: { name }, provider }: LoadedProvider,
  { given, mayAsk, home }: SetupRun,
  { io, memory }: CommandContext,
): Promise<Finished> {
  if (!mayAsk) await refuseMissingSecrets({ name, provider, home, given }, { io, memory });
  let left: Cancelled | undefined;
  const ask: Ask = async (question, { secret = false, default: standard = "" } = {}) => {
    if (left !== undefined) throw left; // a plugin that catches the error and asks again
    const aid = standard === "" || secret ? "" : ` [${oneLine(standard)}]`;
    try {
      const answer = await io.ask(`${oneLine(question, QUESTION_CHARS)}${aid} `, { isSecret: secret });
      return answer.trim() === "" ? standard : answer;
    } catch (cause) {
      if (cause instanceof Cancelled) left = cause;
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
  if (left !== undefined) return { kind: "left", by: left.by };
  if (!outcome.ok)
    throw new CommandFailure(`The setup of '${name}' ${outcome.error.message}.`, {
      details: { kind: "setup-failed", provider: name },
    });
  const after = await ifUsable(openHome({ home }).config()); // reads the file that the plugin may have changed
  return {
    kind: "own",
    isActive: after !== undefined && activeProviderName(after.memory.provider) === name,
  };
}

/** A setup that may not ask cannot get a key that is neither given nor saved. Which settings are required is in the provider's schema. */
async function refuseMissingSecrets(
  {
    name,
    provider,
    home,
    given,
  }: Pick<SetupRun, "home" | "given"> & {
    readonly name: string;
    readonly provider: LoadedProvider["provider"];
  },
  { io, memory }: Pick<CommandContext, "io" | "memory">,
): Promise<void> {
  const { fields } = fieldsOf(provider);
  const section = await providerSection(memory, name);
  const existing = await readExisting({ home, name, fields, env: io.env, provider, section });
  const { missing } = collectAnswers(fields, given, existing);
  const secrets = missing.filter(({ secret }) => secret === true);
  if (secrets.length > 0) throw missingSettings(name, secrets);
}

// The outcome

/** Asks a new instance, which reads the settings that were saved, and then its service, if it has one. */
async function checkNow(
  home: string,
  name: string,
  { memory }: CommandContext,
): Promise<{ readonly availability: Availability; readonly connection: ConnectionCheck }> {
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

type SetupReport = {
  readonly name: string;
  /** Active before this setup; "" for none. */
  readonly previous: string;
  /** In the outbox of `previous`. */
  readonly left: Left;
  readonly dependencies: Dependencies;
  readonly finished: Exclude<Finished, { readonly kind: "left" }>;
  readonly availability: Availability;
  readonly connection: ConnectionCheck;
  readonly upload: { readonly count: number; readonly note?: string };
  /** Nobody was asked anything. */
  readonly isScript: boolean;
};

const NOTHING_SAVED = { written: [], failed: [], unsaved: [] } as const;

function setupOutcome(report: SetupReport, io: Terminal): CommandOutcome {
  const { name, previous, left, dependencies, finished, availability, connection, upload, isScript } = report;
  const isOwn = finished.kind === "own";
  const isActive = isOwn ? finished.isActive : finished.outcome.activated;
  const { written, failed, unsaved } = isOwn ? NOTHING_SAVED : finished.outcome;
  const isReplaced = isActive && previous !== name;
  // A script must notice that the service did not answer; a user at the terminal reads it.
  const isDone = failed.length === 0 && !(isScript && connection.kind === "failed");
  return {
    json: {
      success: isDone,
      provider: name,
      activated: isActive,
      own_setup: isOwn,
      written,
      failed,
      unsaved,
      packages: { installed: dependencies.installed, missing: dependencies.missing },
      external: dependencies.external,
      available: availability.available,
      reason: availability.reason,
      connection:
        connection.kind === "unsupported"
          ? undefined
          : { ok: connection.kind === "reached", message: connection.message },
      previous: previous === "" ? null : previous,
      outbox: isReplaced ? left : undefined,
      uploadable: isActive ? upload.count : undefined,
    },
    lines: [
      ...written.map(writtenLine),
      ...(unsaved.length === 0
        ? []
        : [row("not kept", `${unsaved.join(", ")}: the provider has no place for settings`)]),
      activeLine(name, { isActive, wasActive: previous === name && !isOwn }, io),
      availabilityLine(availability, io),
      ...connectionLines(name, connection, isActive, io),
    ],
    notes: [
      ...(isOwn ? [] : finished.notes),
      ...(isReplaced ? leftNotes(previous, left) : []),
      ...(isActive && upload.note !== undefined && connection.kind !== "failed"
        ? [printable(upload.note)]
        : []),
      ...failed.map(({ message }) => `${io.paint("red", "error:")} ${printable(message)}`),
      ...(failed.length === 0 || written.length === 0
        ? []
        : ["What was saved stays saved; run the setup again for the rest."]),
      ...(isOwn && !isActive
        ? [`Its own setup did not switch it on. To do that: hermes config set memory.provider ${name}`]
        : []),
    ],
    exitCode: isDone ? 0 : 1,
  };
}

function activeLine(
  name: string,
  { isActive, wasActive }: { readonly isActive: boolean; readonly wasActive: boolean },
  io: Terminal,
): string {
  if (isActive)
    return io.paint("green", `'${name}' is the memory provider of every session that starts from now on.`);
  if (wasActive) return io.paint("yellow", `'${name}' was the memory provider before and still is.`);
  return io.paint("yellow", `'${name}' is not switched on.`);
}

function availabilityLine({ available, reason }: Availability, io: Terminal): string {
  if (available) return "It is available. 'hermes memory test' tries it out.";
  return `${io.paint("yellow", "It is not available yet.")} ${printable(reason ?? "It gives no reason.")}`;
}

function connectionLines(
  name: string,
  connection: ConnectionCheck,
  isActive: boolean,
  io: Terminal,
): string[] {
  switch (connection.kind) {
    case "unsupported":
      return [];
    case "reached":
      return [printable(connection.message)];
    case "failed":
      return [
        `${io.paint("yellow", "Its service refused the request or was not reached:")} ${printable(connection.message.replace(/^The check of its service failed: /, ""))}`,
        `The settings are saved${isActive ? ` and '${name}' is active` : ""}. If a setting is wrong, 'hermes memory setup ${name}' corrects it; 'hermes doctor --network' tries the connection again.`,
      ];
    default:
      return connection satisfies never;
  }
}

function writtenLine(write: SetupWrite): string {
  switch (write.step) {
    case "settings":
      return row("settings", `${write.keys.join(", ")}: kept by the provider`);
    case "secrets":
      return row("variables", `${write.variables.join(", ")} in ${write.path}`);
    case "activation":
      return row("config", `memory.provider in ${write.path}`);
    default:
      return write satisfies never;
  }
}

function row(name: string, text: string): string {
  return `${name.padEnd(9)} ${printable(text)}`;
}
