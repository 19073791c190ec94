// `hermes setup`: asks where the model runs, its key and its name, saves all of it, then tries the model. Until it saves, leaving
// changes nothing.
import {
  isLoopback,
  type ModelChoiceError,
  openModel,
  parseBaseUrl,
} from "@hermes-memory/agent/internal/models";
import { envFilePath, setEnvValue } from "@hermes-memory/core/internal/config";
import { err, groupThousands, ok, pyStrip, type Result } from "@hermes-memory/core/internal/lib";
import { openHome } from "@hermes-memory/core/internal/memory";
import { maskSecret } from "@hermes-memory/core/internal/providers";
import {
  Cancelled,
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  type Terminal,
  usageFailure,
} from "../command.ts";
import { cancelled } from "../confirm.ts";
import {
  allVendors,
  isSameAddress,
  keyVariable,
  type LocalServer,
  listingServer,
  localServers,
  type Vendor,
} from "../model/model-servers.ts";
import {
  choiceFailure,
  identityJson,
  type ModelSources,
  modelSources,
  modelText,
  overridingNotes,
  type Resolved,
  resolveModel,
  withoutChoice,
} from "../model/resolution.ts";
import {
  type ModelChange,
  mayDropKey,
  modelFlagsOf,
  planChange,
  type RequestedModel,
  type SavedSettings,
  saveSettings,
} from "../model/set-model.ts";
import { type CallReport, explainFailure, noting, stoppable, tryAnswer } from "../model/test-model.ts";
import { counted, oneLine, printable } from "../printing.ts";
import { choose } from "../prompts/choose.ts";

/** The parsed flags. */
type SetupRequest = Omit<RequestedModel, "model" | "apiKey"> & {
  readonly model?: string | undefined;
  readonly isLocal: boolean;
  readonly keyFrom:
    | { readonly kind: "nowhere" }
    | { readonly kind: "variable"; readonly name: string }
    | { readonly kind: "input" };
  readonly isYes: boolean;
  readonly wantsTest: boolean;
};

/** Shared by the steps of one setup. */
type SetupRun = {
  readonly request: SetupRequest;
  readonly sources: ModelSources;
  /** False without a terminal, and with --json or --yes. */
  readonly mayAsk: boolean;
  readonly io: Terminal;
};

/** Where the model runs. */
type ModelHost =
  | { readonly kind: "local"; readonly server: LocalServer }
  | { readonly kind: "vendor"; readonly vendor: Vendor }
  /** Another server; "" while its address is not known. */
  | { readonly kind: "address"; readonly baseUrl: string };

type KeyAnswer =
  /** No key is needed, or the current one stays. */
  | { readonly kind: "unchanged"; readonly note?: string }
  /** A vendor's key, saved in .env. */
  | { readonly kind: "variable"; readonly variable: string; readonly value: string; readonly note?: string }
  /** The key of a server that has no variable, saved beside its address in config.yaml. */
  | { readonly kind: "config"; readonly value: string; readonly note?: string };

const LABEL_CHARS = 90;

export const setup: CommandBody = async (input, context) => {
  try {
    return await runSetup(input, context);
  } catch (cause) {
    if (!(cause instanceof Cancelled)) throw cause;
    return leftEarly(cause.by);
  } finally {
    context.io.endWithoutWaiting();
  }
};

async function runSetup(input: CommandInput, context: CommandContext): Promise<CommandOutcome> {
  const { io, isJson } = context;
  const request = setupRequest(input);
  const mayAsk = io.isInteractive && !isJson && !request.isYes;
  // Before the config is read: a migration writes it.
  if (mayAsk) await (await import("../claw/first-run.ts")).offerMigration(context);
  const sources = await modelSources(context); // a broken config.yaml ends the command before the first question
  const run = { request, sources, mayAsk, io };
  const host = await settleHost(run);
  if (host === "unchanged")
    return { json: { success: true, changed: false }, lines: ["Nothing was changed."] };
  const key = await settleKey(host, run);
  const requested = await settleModel(host, key, run);
  const change = planChange(withKey(sources, key), requested);
  if (change.losesKey && !(await mayDropKey(input, context))) return leftEarly("end");
  const saved = await save(sources, key, change);
  const test = await settleTest(saved, run, context);
  return setupOutcome(saved, test, io);
}

function leftEarly(by: Cancelled["by"]): CommandOutcome {
  return { ...cancelled(by === "interrupt" ? 130 : 1), lines: ["Cancelled. No setting was changed."] };
}

function setupRequest(input: CommandInput): SetupRequest {
  const { flags } = input;
  const variable = textOf(flags["key-env"]);
  if (variable !== undefined && flags["key-stdin"] === true)
    throw usageFailure(
      "The key comes from a variable (--key-env) or from standard input (--key-stdin), not from both.",
    );
  const model = modelFlagsOf(input);
  if (flags.local === true && model.baseUrl !== undefined)
    throw usageFailure("--local looks for a server itself; leave it out where --base-url says where it is.");
  return {
    ...model,
    model: textOf(flags.model),
    isLocal: flags.local === true,
    keyFrom:
      variable !== undefined
        ? { kind: "variable", name: variable }
        : { kind: flags["key-stdin"] === true ? "input" : "nowhere" },
    isYes: flags.yes === true,
    wantsTest: flags["no-test"] !== true,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

// Step 1: where the model runs. All questions throw `Cancelled` when the user leaves.

async function settleHost(run: SetupRun): Promise<ModelHost | "unchanged"> {
  const { sources, mayAsk, io } = run;
  const given = await hostFromFlags(run);
  if (given === undefined && !mayAsk) throw hostMissing(sources);
  const host = given ?? (await askHost(sources, io));
  if (host === "unchanged" || host.kind !== "address" || isAddress(host.baseUrl)) return host;
  if (!mayAsk)
    throw new CommandFailure("The address of the server is missing or cannot be read.", {
      exitCode: 2,
      hint: "Give it as --base-url http://127.0.0.1:9000/v1.",
      details: { kind: "bad_address" },
    });
  for (;;) {
    const baseUrl = (await io.ask("Address of the server, such as http://127.0.0.1:9000/v1: ")).trim();
    if (isAddress(baseUrl)) return { kind: "address", baseUrl };
    io.note("That is no address. It starts with http:// or https://.\n");
  }
}

function isAddress(baseUrl: string): boolean {
  return parseBaseUrl(baseUrl) !== undefined;
}

/** Undefined when the flags do not say. */
async function hostFromFlags({ request, sources }: SetupRun): Promise<ModelHost | undefined> {
  const { provider, baseUrl, isLocal } = request;
  const vendor = provider === undefined ? undefined : vendorNamed(provider, baseUrl, sources);
  if (isLocal) return localHost(vendor, sources);
  if (vendor === undefined && provider !== undefined) return { kind: "address", baseUrl: baseUrl ?? "" };
  if (vendor === undefined) return baseUrl === undefined ? undefined : { kind: "address", baseUrl };
  if (!vendor.isLocal || baseUrl !== undefined) return { kind: "vendor", vendor };
  const server = (await localServers(sources.env)).find(({ kind }) => kind === vendor.name);
  return server === undefined ? { kind: "vendor", vendor } : { kind: "local", server };
}

/** By its name or an alias; undefined for `custom`. Ends the command when there is no such provider. */
function vendorNamed(name: string, baseUrl: string | undefined, sources: ModelSources): Vendor | undefined {
  const vendors = allVendors(sources.config);
  const plain = vendors.find((vendor) => vendor.name === name.toLowerCase() || vendor.label === name);
  if (plain !== undefined) return plain;
  const flags = { provider: name, model: "any", baseUrl: baseUrl ?? "http://127.0.0.1:1/v1" };
  const resolved = resolveModel({ env: {}, config: sources.config }, flags);
  if (!resolved.ok) throw choiceFailure(resolved.error, 2);
  return vendors.find((vendor) => vendor.name === resolved.value.identity.provider);
}

async function localHost(vendor: Vendor | undefined, sources: ModelSources): Promise<ModelHost> {
  if (vendor !== undefined && !vendor.isLocal)
    throw usageFailure(`'${vendor.name}' is no server of this machine. Leave out --local, or --provider.`);
  const servers = await localServers(sources.env);
  const fitting = vendor === undefined ? servers : servers.filter(({ kind }) => kind === vendor.name);
  const server = fitting.find(({ models }) => models.length > 0) ?? fitting[0];
  if (server !== undefined) return { kind: "local", server };
  const usual = allVendors(sources.config).filter(({ isLocal }) => isLocal);
  const tried = (vendor === undefined ? usual : [vendor]).map(
    ({ label, baseUrl }) => `${label} (${baseUrl})`,
  );
  throw new CommandFailure(`No model server answers on this machine. Looked for ${tried.join(", ")}.`, {
    hint: "Start it and try again, or say where it is with --base-url.",
    details: { kind: "no_server" },
  });
}

async function askHost(sources: ModelSources, io: Terminal): Promise<ModelHost | "unchanged"> {
  io.note("Looking for model servers on this machine ...\n");
  const servers = await localServers(sources.env);
  const vendors = allVendors(sources.config).filter(({ isLocal }) => !isLocal);
  const present = resolveModel(sources);
  const hosts: ModelHost[] = [
    ...servers.map((server) => ({ kind: "local", server }) as const),
    ...vendors.map((vendor) => ({ kind: "vendor", vendor }) as const),
    { kind: "address", baseUrl: "" },
  ];
  const labels = [...hosts.map((host) => hostLabel(host, sources)), keepLabel(present)].map((label) =>
    oneLine(label, LABEL_CHARS),
  );
  const title = "Where does the model run?";
  const preselected = present.ok ? hosts.length : easiestHost(hosts, sources);
  const index = await choose(io, { title, labels, preselected });
  io.note(`${title} ${labels[index] ?? ""}\n`);
  return hosts[index] ?? "unchanged";
}

function hostLabel(host: ModelHost, { config, env }: ModelSources): string {
  if (host.kind === "address") return "Another server, by its address";
  if (host.kind === "local") {
    const { kind, baseUrl, models } = host.server;
    const label = allVendors(config).find(({ name }) => name === kind)?.label ?? kind;
    return `${label} at ${baseUrl} - ${models.length === 0 ? "no model yet" : counted(models.length, "model")}`;
  }
  const { vendor } = host;
  if (vendor.isOwn) return `${vendor.label} at ${vendor.baseUrl} - from config.yaml`;
  const variable = keyVariable(vendor, env);
  return `${vendor.label} - ${variable === undefined ? "needs a key" : `key in ${variable}`}`;
}

function keepLabel(present: Result<Resolved, ModelChoiceError>): string {
  if (!present.ok) return "Nowhere yet";
  const { model, provider } = present.value.identity;
  return `Keep: ${model}, by ${provider}`;
}

/** A local server with a model, else a vendor whose key is set, else the first row. */
function easiestHost(hosts: readonly ModelHost[], { env }: ModelSources): number {
  const local = hosts.findIndex((host) => host.kind === "local" && host.server.models.length > 0);
  if (local >= 0) return local;
  const ready = hosts.findIndex(
    (host) => host.kind === "vendor" && keyVariable(host.vendor, env) !== undefined,
  );
  return Math.max(0, ready);
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
async function settleKey(host: ModelHost, run: SetupRun): Promise<KeyAnswer> {
  const given = await givenKey(run);
  if (host.kind === "vendor" && host.vendor.variables.length > 0) return vendorKey(host.vendor, given, run);
  if (given !== undefined) return { kind: "config", value: given };
  if (host.kind !== "address" || !run.mayAsk) return { kind: "unchanged" };
  return addressKey(host.baseUrl, run);
}

async function givenKey({ request: { keyFrom }, sources, io }: SetupRun): Promise<string | undefined> {
  if (keyFrom.kind === "nowhere") return undefined;
  const text = keyFrom.kind === "input" ? await pipedKey(io) : (sources.env[keyFrom.name] ?? "");
  const key = checkedKey(text);
  if (key.ok) return key.value;
  const origin = keyFrom.kind === "input" ? "from standard input" : `in ${oneLine(keyFrom.name)}`;
  throw new CommandFailure(`The key ${origin} ${key.error}.`, { exitCode: 2, details: { kind: "bad_key" } });
}

/** With --key-stdin on a terminal, the key is typed without echo. */
function pipedKey(io: Terminal): Promise<string> {
  return io.isInteractive ? io.ask("Key (input is hidden): ", { isSecret: true }) : io.readInput();
}

async function vendorKey(
  vendor: Vendor,
  given: string | undefined,
  { request, sources, mayAsk, io }: SetupRun,
): Promise<KeyAnswer> {
  const [usual = ""] = vendor.variables;
  const old = currentKey(vendor, request, sources);
  const inEnvironment = keyVariable(vendor, io.env);
  const newKey = (value: string): KeyAnswer =>
    // A key in config.yaml may override a variable, so it is replaced where it is.
    old?.source === "config" ? { kind: "config", value } : { kind: "variable", variable: usual, value };
  if (given !== undefined) {
    const isOverridden = inEnvironment !== undefined && io.env[inEnvironment] !== given;
    const note = `${inEnvironment} is set in the environment too, and goes before .env.`;
    return { ...newKey(given), note: isOverridden ? note : undefined };
  }
  // A variable of the environment would override a key that is typed here.
  if (inEnvironment !== undefined && old?.source === inEnvironment)
    return { kind: "unchanged", note: `${inEnvironment} is set in the environment and is used as it is.` };
  if (mayAsk) {
    const isOptional = old !== undefined; // a local server may need none
    const value = await askKey(`Key of ${vendor.label}`, { old: old?.key ?? "", isOptional }, io);
    return value === "" ? { kind: "unchanged" } : newKey(value);
  }
  if (old !== undefined) return { kind: "unchanged" };
  throw new CommandFailure(`${vendor.label} needs a key, and ${vendor.variables.join(" or ")} is not set.`, {
    exitCode: 2,
    hint: "Give it with --key-env <variable> or --key-stdin; or run this on a terminal to be asked.",
    details: { kind: "no_key", provider: vendor.name, variables: vendor.variables },
  });
}

/** The key that would be used now, "" where none is needed; undefined when one is missing. */
function currentKey(
  vendor: Vendor,
  { baseUrl }: SetupRequest,
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
  const base = parseBaseUrl(baseUrl);
  const label =
    base !== undefined && isLoopback(base) ? "Key of the server, if it wants one" : "Key of the server";
  const value = await askKey(label, { old, isOptional: true }, io);
  return value === "" ? { kind: "unchanged" } : { kind: "config", value };
}

/** "" when the user typed nothing and a key is optional or already there. */
async function askKey(
  label: string,
  { old, isOptional }: { readonly old: string; readonly isOptional: boolean },
  io: Terminal,
): Promise<string> {
  const aid =
    old !== ""
      ? `[${maskSecret(old)}, empty keeps it]`
      : `(input is hidden${isOptional ? ", empty for none" : ""})`;
  for (;;) {
    const typed = await io.ask(`${oneLine(label)} ${aid}: `, { isSecret: true });
    const key = checkedKey(typed);
    if (key.ok) return key.value;
    if (typed.trim() === "" && (old !== "" || isOptional)) return "";
    io.note(`The key ${key.error}.\n`);
  }
}

/** The error continues a sentence that starts with `The key`, and never repeats the key. */
function checkedKey(text: string): Result<string, string> {
  const key = pyStrip(text);
  if (key === "") return err("is empty");
  // A key is sent in an HTTP header, which allows only these characters.
  return /^[\x21-\x7e]+$/.test(key)
    ? ok(key)
    : err("has a space, a line break or another character no key has");
}

/** The sources as they will be once the key is saved. */
function withKey(sources: ModelSources, key: KeyAnswer): ModelSources {
  return key.kind === "variable"
    ? { ...sources, env: { ...sources.env, [key.variable]: key.value } }
    : sources;
}

// Step 3: the name of the model

async function settleModel(host: ModelHost, key: KeyAnswer, run: SetupRun): Promise<RequestedModel> {
  const { request } = run;
  return {
    ...serverOf(host, request),
    model: request.model ?? (await chooseName(host, key, run)),
    apiMode: request.apiMode,
    contextLength: request.contextLength,
    apiKey: key.kind === "config" ? key.value : undefined,
  };
}

type Server = Pick<RequestedModel, "provider" | "baseUrl">;

function serverOf(host: ModelHost, request: SetupRequest): Server {
  switch (host.kind) {
    case "local":
      return { provider: host.server.kind, baseUrl: host.server.baseUrl };
    case "vendor":
      return { provider: host.vendor.name, baseUrl: request.baseUrl };
    case "address":
      return { provider: "custom", baseUrl: host.baseUrl };
    default:
      return host satisfies never;
  }
}

/** The only model there is, one chosen from a list, or a name that the user types. */
async function chooseName(host: ModelHost, key: KeyAnswer, run: SetupRun): Promise<string> {
  const { sources, mayAsk, io, request } = run;
  const { names, isComplete } = await listedModels(host, key, run);
  const [only] = names;
  if (isComplete && only !== undefined && names.length === 1 && !mayAsk) return only;
  if (!mayAsk) throw modelMissing(names);
  const current = currentModel(sources, serverOf(host, request));
  if (names.length === 0) return askName(current, io);
  const title = "Which model?";
  const labels = [...names.map((name) => oneLine(name, LABEL_CHARS)), "Another one, by its name"];
  const index = await choose(io, { title, labels, preselected: Math.max(0, names.indexOf(current)) });
  io.note(`${title} ${labels[index] ?? ""}\n`);
  return names[index] ?? askName(current, io);
}

/** `isComplete`: the server has no other models than these. */
type ModelNames = { readonly names: readonly string[]; readonly isComplete: boolean };

async function listedModels(
  host: ModelHost,
  key: KeyAnswer,
  { request, sources }: SetupRun,
): Promise<ModelNames> {
  if (host.kind === "local") return { names: host.server.models, isComplete: true };
  const suggested = host.kind === "vendor" ? host.vendor.models : [];
  if (host.kind === "vendor" && !host.vendor.isOwn && request.baseUrl === undefined)
    return { names: suggested, isComplete: false };
  const apiKey = key.kind === "config" ? key.value : undefined;
  const server = listingServer(withKey(sources, key), { ...serverOf(host, request), apiKey });
  const names = await server?.listModels();
  return { names: names ?? suggested, isComplete: names !== undefined };
}

/** The configured model, if it belongs to this server; else "". */
function currentModel({ config: { model } }: ModelSources, { provider, baseUrl }: Server): string {
  const isSame =
    model.provider.toLowerCase() === provider && (baseUrl === undefined || baseUrl === model.baseUrl);
  return isSame ? model.default : "";
}

async function askName(current: string, io: Terminal): Promise<string> {
  const aid = current === "" ? "" : ` [${oneLine(current, LABEL_CHARS)}]`;
  for (;;) {
    const name = (await io.ask(`Name of the model${aid}: `)).trim() || current;
    if (name !== "") return name;
    io.note("The name must not be empty.\n");
  }
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

// Step 4: save

type SavedSetup = {
  readonly settings: SavedSettings;
  readonly resolved: Resolved;
  /** The key that was written to .env. */
  readonly variable?: { readonly name: string; readonly path: string };
  readonly notes: readonly string[];
};

/** The key first: settings without their key would not work. */
async function save(sources: ModelSources, key: KeyAnswer, change: ModelChange): Promise<SavedSetup> {
  const { home, config } = sources;
  const path = envFilePath(home);
  if (key.kind === "variable") {
    const outcome = setEnvValue(path, key.variable, key.value);
    if (!outcome.ok) {
      const { message, kind } = outcome.error;
      throw new CommandFailure(message, { hint: "Nothing was changed.", details: { kind, path } });
    }
  }
  return {
    settings: await saveSettings(home, change.plan, config.raw.model),
    resolved: change.resolved,
    variable: key.kind === "variable" ? { name: key.variable, path } : undefined,
    notes: [...(key.note === undefined ? [] : [key.note]), ...overridingNotes(sources.env)],
  };
}

// Step 5: one small call with the saved settings

type SetupTest =
  | { readonly kind: "skipped" }
  | { readonly kind: "interrupted" }
  | { readonly kind: "worked"; readonly report: CallReport }
  | { readonly kind: "failed"; readonly reason: string; readonly failureKind: string };

async function settleTest(saved: SavedSetup, run: SetupRun, context: CommandContext): Promise<SetupTest> {
  const { request, mayAsk, io } = run;
  if (!request.wantsTest) return { kind: "skipped" };
  if (!saved.resolved.hasKey) return testFailed(saved.resolved.problem);
  if (mayAsk) {
    const answer = await io.ask("Try it now with one small call? [Y/n] ").catch(() => "n"); // the settings stay saved
    if (/^n/i.test(answer.trim())) return { kind: "skipped" };
  }
  if (io.isInteractive) io.note(`Asking ${saved.resolved.identity.provider} ...\n`);
  // Opened again: the memory of this command was opened before the settings were saved.
  const sources = await modelSources({ io, memory: openHome({ home: context.memory.home }) });
  const resolved = resolveModel({ ...sources, env: withoutChoice(sources.env) });
  if (!resolved.ok) return testFailed(resolved.error);
  if (!resolved.value.hasKey) return testFailed(resolved.value.problem);
  const { chosen } = resolved.value;
  const tried = await stoppable(io, async (signal) => {
    signal.throwIfAborted();
    return tryAnswer(await openModel(chosen, { log: noting([]) }), signal);
  });
  if (tried === undefined) return { kind: "interrupted" };
  if (tried.ok) return { kind: "worked", report: tried.value };
  const failureKind = tried.error.kind === "failed" ? tried.error.failure.kind : tried.error.kind;
  return { kind: "failed", reason: explainFailure(tried.error), failureKind };
}

function testFailed({ kind, message, hint }: ModelChoiceError): SetupTest {
  return { kind: "failed", reason: `${message} ${hint}`, failureKind: kind };
}

// The outcome

const NEXT = [
  "Next: 'hermes chat' starts a conversation. 'hermes model' shows these settings, 'hermes model set' changes the model.",
];
const AGAIN = "What was set up stays. 'hermes model test' tries again; 'hermes setup' changes it.";

function setupOutcome(saved: SavedSetup, test: SetupTest, io: Terminal): CommandOutcome {
  const { settings, resolved, variable } = saved;
  const { written, removed, path } = settings;
  return {
    json: {
      success: test.kind !== "failed" && test.kind !== "interrupted",
      ...identityJson(resolved.identity),
      has_key: resolved.hasKey,
      key_source: resolved.hasKey ? resolved.chosen.keySource : null,
      key_saved_as: variable?.name ?? null,
      written,
      removed,
      path,
      test: testJson(test),
    },
    lines: [
      ...(variable === undefined ? [] : [row("key", printable(`${variable.name} in ${variable.path}`))]),
      ...(written.length === 0 ? [] : [row("config", printable(`${written.join(", ")} in ${path}`))]),
      ...(removed.length === 0 ? [] : [row("removed", `${removed.join(", ")}: about another model`)]),
      row("model", modelText(resolved.identity)),
      ...testLines(test, io),
    ],
    notes: [
      ...saved.notes.map(printable),
      ...(test.kind === "failed" ? [`${io.paint("red", "error:")} ${printable(test.reason)}`, AGAIN] : []),
    ],
    exitCode: test.kind === "failed" ? 1 : test.kind === "interrupted" ? 130 : 0,
  };
}

function testLines(test: SetupTest, io: Terminal): string[] {
  switch (test.kind) {
    case "skipped":
      return [row("test", "not tried; 'hermes model test' does"), ...NEXT];
    case "interrupted":
      return [row("test", "interrupted; what was set up stays")];
    case "failed":
      return [row("test", io.paint("yellow", "failed"))];
    case "worked": {
      const { text, totalMs } = test.report;
      const answer = text.trim() === "" ? "it answers" : `it answers "${oneLine(text.trim(), 40)}"`;
      return [row("test", io.paint("green", `${answer}, after ${groupThousands(totalMs)} ms`)), ...NEXT];
    }
    default:
      return test satisfies never;
  }
}

function testJson(test: SetupTest): object {
  switch (test.kind) {
    case "worked": {
      const { firstMs, totalMs, text } = test.report;
      return { outcome: "worked", first_token_ms: firstMs ?? null, total_ms: totalMs, text };
    }
    case "failed":
      return { outcome: "failed", kind: test.failureKind, error: test.reason };
    default:
      return { outcome: test.kind };
  }
}

function row(name: string, text: string): string {
  return `${name.padEnd(8)} ${text}`;
}
