// `hermes setup`: asks where the model runs, its key and its name, saves all of it, then tries the model. Until it saves, leaving
// changes nothing.
import { type ModelChoiceError, openModel, parseBaseUrl } from "@hermes-memory/agent/internal/models";
import { envFilePath, setEnvValue } from "@hermes-memory/core/internal/config";
import { pyStrip } from "@hermes-memory/core/internal/lib";
import { openHome } from "@hermes-memory/core/internal/memory";
import { maskSecret } from "@hermes-memory/core/internal/providers";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type Terminal,
  usageFailure,
} from "../command.ts";
import {
  allVendors,
  identityJson,
  isSameAddress,
  keyVariable,
  type LocalServer,
  listingServer,
  localServers,
  type ModelSources,
  modelSources,
  modelText,
  overridingNotes,
  type Resolved,
  resolveModel,
  type Vendor,
  vendorNamed,
  withoutChoice,
} from "../model/resolution.ts";
import {
  confirmDroppedKey,
  modelFlagsOf,
  planChange,
  type RequestedModel,
  saveSettings,
  textFlag,
} from "../model/set-model.ts";
import { noting, stoppable, tryAnswer } from "../model/test-model.ts";
import { counted, oneLine, printable } from "../printing.ts";

/** Shared by the steps of one setup. */
type SetupRun = {
  readonly request: Omit<RequestedModel, "model" | "apiKey"> & { readonly model?: string | undefined };
  readonly flags: CommandInput["flags"];
  readonly sources: ModelSources;
  /** False without a terminal, and with --json or --yes. */
  readonly mayAsk: boolean;
  readonly io: Terminal;
};

/** Where the model runs. */
type Host = Pick<RequestedModel, "baseUrl"> & {
  readonly provider: string;
  readonly vendor?: Vendor;
  /** All that a server of this machine has. */
  readonly models?: readonly string[];
};

/** Without a value, none is needed or the current one stays. */
type KeyAnswer = {
  readonly value?: string;
  /** In .env, of a vendor. The key of a server without one is saved beside its address in config.yaml. */
  readonly variable?: string;
  readonly note?: string;
};

const LABEL_CHARS = 90;

export const setup: CommandBody = async (input, context) => {
  const { flags } = input;
  const { io, isJson } = context;
  io.endWithoutWaiting();
  const mayAsk = io.isInteractive && !isJson && flags.yes !== true;
  const request = { ...modelFlagsOf(input), model: textFlag(flags.model) };
  refuseContradiction(flags);
  // Before the config is read: a migration writes it.
  if (mayAsk) await (await import("../claw/first-run.ts")).offerMigration(context);
  const sources = await modelSources(context); // a broken config.yaml ends the command before the first question
  const run: SetupRun = { request, flags, sources, mayAsk, io };

  const host = await settleHost(run);
  if (host === undefined) return { json: { success: true, changed: false, message: "Nothing was changed." } };
  const key = await settleKey(host, run);
  const { provider, baseUrl } = host;
  const model = request.model ?? (await chooseName(host, key, run));
  const change = planChange(withKey(sources, key), {
    ...request,
    ...{ provider, baseUrl, model, apiKey: configKey(key) },
  });
  if (change.losesKey) await confirmDroppedKey(input, context);

  const variable = saveKey(sources.home, key); // the key first: settings without their key would not work
  const { resolved } = change;
  const saved = await saveSettings(sources.home, change.plan, sources.config.raw.model);
  const tried = flags["no-test"] === true ? SKIPPED : await tryModel(resolved, run, context);
  const isDone = tried.outcome === "worked" || tried.outcome === "skipped";
  return {
    json: {
      success: isDone,
      message: `The model is ${modelText(resolved.identity)}.\n${isDone ? NEXT : AGAIN}`,
      ...identityJson(resolved.identity),
      has_key: resolved.hasKey,
      key_source: resolved.hasKey ? resolved.chosen.keySource : null,
      key_saved_as: variable ?? null,
      ...saved,
      test: tried,
    },
    notes: [...(key.note === undefined ? [] : [printable(key.note)]), ...overridingNotes(sources.env)],
    exitCode: isDone ? 0 : tried.outcome === "failed" ? 1 : 130,
  };
};

const NEXT =
  "Next: 'hermes chat' starts a conversation. 'hermes model' shows these settings, 'hermes model set' changes the model.";
const AGAIN = "What was set up stays. 'hermes model test' tries again; 'hermes setup' changes it.";

function refuseContradiction(flags: CommandInput["flags"]): void {
  if (textFlag(flags["key-env"]) !== undefined && flags["key-stdin"] === true)
    throw usageFailure(
      "The key comes from a variable (--key-env) or from standard input (--key-stdin), not from both.",
    );
  if (flags.local === true && textFlag(flags["base-url"]) !== undefined)
    throw usageFailure("--local looks for a server itself; leave it out where --base-url says where it is.");
}

// Step 1: where the model runs. All questions throw `Cancelled` when the user leaves.

/** Undefined: the user keeps what is set. */
async function settleHost(run: SetupRun): Promise<Host | undefined> {
  const { sources, mayAsk, io } = run;
  const given = await hostFromFlags(run);
  if (given === undefined && !mayAsk) throw hostMissing(sources);
  const host = given ?? (await askHost(sources, io));
  if (host?.provider !== "custom" || parseBaseUrl(host.baseUrl ?? "") !== undefined) return host;
  if (!mayAsk)
    throw new CommandFailure("The address of the server is missing or cannot be read.", {
      exitCode: 2,
      hint: "Give it as --base-url http://127.0.0.1:9000/v1.",
      details: { kind: "bad_address" },
    });
  const baseUrl = await io.ask("Address of the server, such as http://127.0.0.1:9000/v1", {
    problem: (typed) =>
      parseBaseUrl(typed) === undefined
        ? "That is no address. It starts with http:// or https://."
        : undefined,
  });
  return { provider: "custom", baseUrl };
}

/** Undefined when the flags do not say. */
async function hostFromFlags({ request, flags, sources }: SetupRun): Promise<Host | undefined> {
  const { provider, baseUrl } = request;
  const vendor = provider === undefined ? undefined : vendorNamed(provider, sources, baseUrl);
  if (flags.local === true) return localHost(vendor, sources);
  if (vendor === undefined)
    return provider === undefined && baseUrl === undefined ? undefined : { provider: "custom", baseUrl };
  const servers = vendor.isLocal && baseUrl === undefined ? await localServers(sources.env) : [];
  const server = servers.find(({ kind }) => kind === vendor.name);
  return server === undefined ? { provider: vendor.name, baseUrl, vendor } : hostOf(server);
}

function hostOf({ kind, baseUrl, models }: LocalServer): Host {
  return { provider: kind, baseUrl, models };
}

async function localHost(vendor: Vendor | undefined, sources: ModelSources): Promise<Host> {
  if (vendor !== undefined && !vendor.isLocal)
    throw usageFailure(`'${vendor.name}' is no server of this machine. Leave out --local, or --provider.`);
  const servers = await localServers(sources.env);
  const fitting = vendor === undefined ? servers : servers.filter(({ kind }) => kind === vendor.name);
  const server = fitting.find(({ models }) => models.length > 0) ?? fitting[0];
  if (server !== undefined) return hostOf(server);
  const usual = allVendors(sources.config).filter(({ isLocal }) => isLocal);
  const tried = (vendor === undefined ? usual : [vendor]).map(
    ({ label, defaultBaseUrl }) => `${label} (${defaultBaseUrl})`,
  );
  throw new CommandFailure(`No model server answers on this machine. Looked for ${tried.join(", ")}.`, {
    hint: "Start it and try again, or say where it is with --base-url.",
    details: { kind: "no_server" },
  });
}

async function askHost(sources: ModelSources, io: Terminal): Promise<Host | undefined> {
  io.note("Looking for model servers on this machine ...\n");
  const servers = await localServers(sources.env);
  const vendors = allVendors(sources.config);
  const present = resolveModel(sources);
  const offered: (readonly [host: Host, label: string])[] = [
    ...servers.map((server) => {
      const { kind, baseUrl, models } = server;
      const label = vendors.find(({ name }) => name === kind)?.label ?? kind;
      const has = models.length === 0 ? "no model yet" : counted(models.length, "model");
      return [hostOf(server), `${label} at ${baseUrl} - ${has}`] as const;
    }),
    ...vendors
      .filter(({ isLocal }) => !isLocal)
      .map((vendor) => {
        const variable = keyVariable(vendor, sources.env);
        const key = variable === undefined ? "needs a key" : `key in ${variable}`;
        const label = vendor.isOwn ? ` at ${vendor.defaultBaseUrl} - from config.yaml` : ` - ${key}`;
        return [{ provider: vendor.name, vendor }, `${vendor.label}${label}`] as const;
      }),
    [{ provider: "custom" }, "Another server, by its address"],
  ];
  const keep = present.ok
    ? `Keep: ${present.value.identity.model}, by ${present.value.identity.provider}`
    : "Nowhere yet";
  const labels = [...offered.map(([, label]) => label), keep].map((label) => oneLine(label, LABEL_CHARS));
  // A local server with a model, else a vendor whose key is set, else the first row.
  const local = offered.findIndex(([{ models = [] }]) => models.length > 0);
  const ready = offered.findIndex(([{ vendor }]) => vendor && keyVariable(vendor, sources.env) !== undefined);
  const easiest = local >= 0 ? local : Math.max(0, ready);
  const preselected = present.ok ? offered.length : easiest;
  const index = await io.choose({ title: "Where does the model run?", labels, preselected });
  return offered[index]?.[0];
}

function hostMissing(sources: ModelSources): CommandFailure {
  const names = allVendors(sources.config).map(({ name }) => name);
  return usageFailure(
    "Say where the model runs: without a terminal, or with --json or --yes, no questions are asked.",
    {
      hint:
        "Name it: hermes setup --provider <name> --model <model> --key-env <variable> --yes, or hermes setup --local --yes. " +
        `Providers: ${names.join(", ")}.`,
      providers: names,
    },
  );
}

// Step 2: the key. It is never printed; of the current one, only the end is.

/** Ends the command when a key is needed and the user cannot be asked. */
async function settleKey({ provider, baseUrl = "", vendor }: Host, run: SetupRun): Promise<KeyAnswer> {
  const given = await givenKey(run);
  if (vendor !== undefined && vendor.envVars.length > 0) return vendorKey(vendor, given, run);
  if (given !== undefined || provider !== "custom" || !run.mayAsk) return { value: given };
  return addressKey(baseUrl, run);
}

/** With --key-stdin on a terminal, the key is typed. */
async function givenKey({ flags, sources, io }: SetupRun): Promise<string | undefined> {
  const variable = textFlag(flags["key-env"]);
  const isKeyPiped = flags["key-stdin"] === true;
  if (variable === undefined && !isKeyPiped) return undefined;
  if (isKeyPiped && io.isInteractive) return askKey("Key", { old: "", isOptional: false }, io);
  const key = pyStrip(isKeyPiped ? await io.readInput() : (sources.env[variable ?? ""] ?? ""));
  const problem = keyProblem(key);
  if (problem === undefined) return key;
  const origin = variable === undefined ? "from standard input" : `in ${oneLine(variable)}`;
  throw new CommandFailure(`The key ${origin} ${problem}.`, { exitCode: 2, details: { kind: "bad_key" } });
}

async function vendorKey(vendor: Vendor, given: string | undefined, run: SetupRun): Promise<KeyAnswer> {
  const { request, sources, mayAsk, io } = run;
  const old = currentKey(vendor, request, sources);
  const inEnvironment = keyVariable(vendor, io.env);
  // A key in config.yaml may override a variable, so it is replaced where it is.
  const variable = old?.source === "config" ? undefined : vendor.envVars[0];
  if (given !== undefined) {
    const isOverridden = inEnvironment !== undefined && io.env[inEnvironment] !== given;
    const note = `${inEnvironment} is set in the environment too, and goes before .env.`;
    return { value: given, variable, note: isOverridden ? note : undefined };
  }
  // A variable of the environment would override a key that is typed here.
  if (inEnvironment !== undefined && old?.source === inEnvironment)
    return { note: `${inEnvironment} is set in the environment and is used as it is.` };
  if (mayAsk) {
    const isOptional = old !== undefined; // a local server may need none
    return {
      value: await askKey(`Key of ${vendor.label}`, { old: old?.key ?? "", isOptional }, io),
      variable,
    };
  }
  if (old !== undefined) return {};
  throw new CommandFailure(`${vendor.label} needs a key, and ${vendor.envVars.join(" or ")} is not set.`, {
    exitCode: 2,
    hint: "Give it with --key-env <variable> or --key-stdin; or run this on a terminal to be asked.",
    details: { kind: "no_key", provider: vendor.name, variables: vendor.envVars },
  });
}

/** The key that would be used now, "" where none is needed; undefined when one is missing. */
function currentKey(
  vendor: Vendor,
  { baseUrl }: SetupRun["request"],
  { env, config }: ModelSources,
): { readonly key: string; readonly source: string } | undefined {
  const flags = { provider: vendor.name, baseUrl, model: "any" };
  const resolved = resolveModel({ env: withoutChoice(env), config }, flags);
  if (!resolved.ok || !resolved.value.hasKey) return undefined;
  const { apiKey, keySource } = resolved.value.chosen;
  return { key: apiKey, source: keySource };
}

async function addressKey(baseUrl: string, { sources, io }: SetupRun): Promise<KeyAnswer> {
  const { model } = sources.config;
  const old = isSameAddress(model.baseUrl, baseUrl) ? model.apiKey : "";
  return { value: await askKey("Key of the server, if it wants one", { old, isOptional: true }, io) };
}

/** Undefined when the user typed nothing and a key is optional or already there. */
async function askKey(
  label: string,
  { old, isOptional }: { readonly old: string; readonly isOptional: boolean },
  io: Terminal,
): Promise<string | undefined> {
  const aid = old !== "" ? ` [${maskSecret(old)}, empty keeps it]` : isOptional ? " (empty for none)" : "";
  const mayBeEmpty = old !== "" || isOptional;
  const typed = await io.ask(`${oneLine(label)}${aid}`, {
    isSecret: true,
    problem: (key) => {
      const problem = key === "" && mayBeEmpty ? undefined : keyProblem(key);
      return problem === undefined ? undefined : `The key ${problem}.`;
    },
  });
  return typed === "" ? undefined : typed;
}

/** Continues a sentence that starts with `The key`, and never repeats the key. */
function keyProblem(key: string): string | undefined {
  if (key === "") return "is empty";
  // A key is sent in an HTTP header, which allows only these characters.
  return /^[\x21-\x7e]+$/.test(key) ? undefined : "has a space, a line break or another character no key has";
}

/** The sources as they will be once the key is saved. */
function withKey(sources: ModelSources, { variable, value }: KeyAnswer): ModelSources {
  if (variable === undefined || value === undefined) return sources;
  return { ...sources, env: { ...sources.env, [variable]: value } };
}

/** For config.yaml. */
function configKey({ value, variable }: KeyAnswer): string | undefined {
  return variable === undefined ? value : undefined;
}

// Step 3: the name of the model

/** The only model there is, one chosen from a list, or a name that the user types. */
async function chooseName(host: Host, key: KeyAnswer, run: SetupRun): Promise<string> {
  const { sources, mayAsk, io } = run;
  const { names, isComplete } = await listedModels(host, key, run);
  const [only] = names;
  if (isComplete && only !== undefined && names.length === 1 && !mayAsk) return only;
  if (!mayAsk) throw modelMissing(names);
  const current = currentModel(sources, host);
  if (names.length === 0) return askName(current, io);
  const labels = [...names.map((name) => oneLine(name, LABEL_CHARS)), "Another one, by its name"];
  const preselected = Math.max(0, names.indexOf(current));
  const index = await io.choose({ title: "Which model?", labels, preselected });
  return names[index] ?? askName(current, io);
}

/** `isComplete`: the server has no other models than these. */
type ModelNames = { readonly names: readonly string[]; readonly isComplete: boolean };

async function listedModels(
  { provider, baseUrl, vendor, models }: Host,
  key: KeyAnswer,
  { sources }: SetupRun,
): Promise<ModelNames> {
  if (models !== undefined) return { names: models, isComplete: true };
  const suggested = vendor?.models ?? [];
  if (vendor?.isOwn === false && baseUrl === undefined) return { names: suggested, isComplete: false };
  const selection = { provider, baseUrl, apiKey: configKey(key) };
  const server = listingServer(withKey(sources, key), selection);
  const names = await server?.listModels();
  return { names: names ?? suggested, isComplete: names !== undefined };
}

/** The configured model, if it belongs to this server; else "". */
function currentModel({ config: { model } }: ModelSources, { provider, baseUrl }: Host): string {
  const isSame =
    model.provider.toLowerCase() === provider && (baseUrl === undefined || baseUrl === model.baseUrl);
  return isSame ? model.default : "";
}

function askName(current: string, io: Terminal): Promise<string> {
  const problem = (name: string): string | undefined =>
    name === "" ? "The name must not be empty." : undefined;
  return io.ask("Name of the model", { standard: current, problem });
}

const NAMED_AT_MOST = 20;

function modelMissing(models: readonly string[]): CommandFailure {
  const names = models.slice(0, NAMED_AT_MOST);
  const rest = models.length > names.length ? ` and ${models.length - names.length} more` : "";
  return new CommandFailure(
    "Name the model: without a terminal, or with --json or --yes, no questions are asked.",
    {
      exitCode: 2,
      hint:
        names.length === 0 ? "Add --model <name>." : `Add --model with one of: ${names.join(", ")}${rest}.`,
      details: { kind: "no_model", models },
    },
  );
}

// Step 4: save the key, and step 5: one small call with the saved settings

/** Returns the variable that it was written to. */
function saveKey(home: string, { value, variable }: KeyAnswer): string | undefined {
  if (variable === undefined || value === undefined) return undefined;
  const path = envFilePath(home);
  const outcome = setEnvValue(path, variable, value);
  if (outcome.ok) return variable;
  const { message, kind } = outcome.error;
  throw new CommandFailure(message, { hint: "Nothing was changed.", details: { kind, path } });
}

/** As `--json` prints it. */
type Trial = {
  readonly outcome: "skipped" | "interrupted" | "worked" | "failed";
  readonly [field: string]: string | number | null;
};

const SKIPPED: Trial = { outcome: "skipped" };

async function tryModel(
  planned: Resolved,
  { mayAsk, io }: SetupRun,
  { memory }: CommandContext,
): Promise<Trial> {
  if (!planned.hasKey) return failed(planned.problem);
  if (mayAsk) {
    const question = { title: "Try it now with one small call?", labels: ["yes", "no"], preselected: 0 };
    if ((await io.choose(question).catch(() => 1)) === 1) return SKIPPED; // the settings stay saved
  }
  if (io.isInteractive) io.note(`Asking ${planned.identity.provider} ...\n`);
  // Opened again: the memory of this command was opened before the settings were saved.
  const sources = await modelSources({ io, memory: openHome({ home: memory.home }) });
  const resolved = resolveModel({ ...sources, env: withoutChoice(sources.env) });
  if (!resolved.ok) return failed(resolved.error);
  if (!resolved.value.hasKey) return failed(resolved.value.problem);
  const { chosen } = resolved.value;
  const tried = await stoppable(io, async (signal) => {
    signal.throwIfAborted();
    return tryAnswer(await openModel(chosen, { log: noting([]) }), signal);
  });
  if (tried === undefined) return { outcome: "interrupted" };
  if (!tried.ok) return failed({ ...tried.error, hint: "" });
  const { first_token_ms, total_ms, text } = tried.value;
  return { outcome: "worked", first_token_ms, total_ms, text };
}

function failed({ kind, message, hint }: Record<keyof ModelChoiceError, string>): Trial {
  return { outcome: "failed", kind, error: `${message} ${hint}`.trim() };
}
