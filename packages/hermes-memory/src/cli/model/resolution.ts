// Which model the settings lead to, and how it is described. A model that only lacks its key can be shown and saved, but not called.
import {
  type ChosenModel,
  type ContextWindow,
  chooseModel,
  findLocalServers,
  isLoopback,
  type KnownProvider,
  knownProviders,
  type LocalServer,
  type ModelChoiceError,
  type ModelIdentity,
  type ModelSelection,
  parseBaseUrl,
} from "@hermes-memory/agent/internal/models";
import {
  type HermesConfig,
  type ModelConfig,
  nearest,
  useEnvFile,
} from "@hermes-memory/core/internal/config";
import { cachingPolicy } from "@hermes-memory/core/internal/context";
import { err, ok, outsideJsonOr, type Result } from "@hermes-memory/core/internal/lib";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { type CommandContext, CommandFailure, type Terminal } from "../command.ts";
import { oneLine } from "../printing.ts";

export type Environment = Terminal["env"];

/** A model is chosen from config.yaml and the environment. */
export type ModelSources = {
  readonly home: string;
  readonly config: HermesConfig;
  /** The variables of the process, then those of the home's .env. */
  readonly env: Environment;
};

export type Resolved =
  | { readonly hasKey: true; readonly identity: ModelIdentity; readonly chosen: ChosenModel }
  | { readonly hasKey: false; readonly identity: ModelIdentity; readonly problem: ModelChoiceError };

/** Variables that choose a model and override config.yaml. */
const CHOOSING_VARIABLES = ["HERMES_MODEL", "HERMES_INFERENCE_PROVIDER"] as const;
/** Replaces a missing key so that the rest can be resolved. It is never sent. */
const NO_KEY = "none";
const ADDRESS_CHARS = 100;

/** A broken config.yaml ends the command. */
export async function modelSources({
  memory,
  io,
}: Pick<CommandContext, "memory" | "io">): Promise<ModelSources> {
  const { home } = memory;
  const env: Record<string, string | undefined> = { ...io.env };
  useEnvFile(home, env);
  return { home, config: await memory.config(), env };
}

export function resolveModel(
  { env, config }: Pick<ModelSources, "env" | "config">,
  flags: ModelSelection = {},
): Result<Resolved, ModelChoiceError> {
  const chosen = chooseModel({ flags, env, config });
  if (chosen.ok) return ok({ hasKey: true, identity: identityOf(chosen.value), chosen: chosen.value });
  if (chosen.error.kind !== "no_key") return chosen;
  const keyless = chooseModel({ flags: { ...flags, apiKey: NO_KEY }, env, config });
  if (!keyless.ok) return err(chosen.error);
  return ok({ hasKey: false, identity: identityOf(keyless.value), problem: chosen.error });
}

/** The model that these settings in config.yaml lead to, ignoring the variables that override them. */
export function resolveSettings(
  { env, config }: Pick<ModelSources, "env" | "config">,
  model: ModelConfig,
): Result<Resolved, ModelChoiceError> {
  return resolveModel({ env: withoutChoice(env), config: { ...config, model } });
}

export function withoutChoice(env: Environment): Environment {
  const rest = Object.entries(env).filter(([name]) => !CHOOSING_VARIABLES.some((each) => each === name));
  return Object.fromEntries(rest);
}

/** The variables that choose the model now. */
export function overridesIn(env: Environment): readonly string[] {
  return CHOOSING_VARIABLES.filter((name) => (env[name] ?? "").trim() !== "");
}

export function overridingNotes(env: Environment): string[] {
  const set = overridesIn(env);
  if (set.length === 0) return [];
  return [
    `${set.join(" and ")} ${set.length === 1 ? "is set and overrides" : "are set and override"} config.yaml.`,
  ];
}

export function choiceFailure(
  { kind, message, hint }: ModelChoiceError,
  exitCode: 1 | 2 = 1,
): CommandFailure {
  return new CommandFailure(message, { exitCode, hint, details: { kind } });
}

// How a model is described

/** `claude-sonnet-5-5, by anthropic at https://...` */
export function modelText({ model, provider, baseUrl }: ModelIdentity): string {
  const address = baseUrl === "" ? "" : ` at ${oneLine(redactSecrets(baseUrl), ADDRESS_CHARS)}`; // it may carry a password
  return `${oneLine(model, ADDRESS_CHARS)}, by ${oneLine(provider)}${address}`;
}

export function identityJson({ model, provider, baseUrl, apiMode }: ModelIdentity) {
  return { model, provider, base_url: addressJson(baseUrl), api_mode: apiMode };
}

export function addressJson(baseUrl: string): string | null {
  return baseUrl === "" ? null : redactSecrets(baseUrl);
}

export function windowJson({ tokens, source, server, isProvisional }: ContextWindow): object {
  return { tokens, source, server: server ?? null, provisional: isProvisional };
}

/** Undefined: not known. */
export function cachingJson(identity: Parameters<typeof cachingPolicy>[0] | undefined, ttl: string): object {
  const policy = identity && cachingPolicy(identity);
  return {
    enabled: policy?.enabled ?? null,
    layout: policy?.enabled ? (policy.native ? "native" : "envelope") : null,
    ttl,
  };
}

function identityOf({ model, provider, apiMode, baseUrl }: ModelIdentity): ModelIdentity {
  return { model, provider, apiMode, baseUrl };
}

// Where a model can run: the vendors, the servers of this machine, and the models that a server lists.

export type { LocalServer };

/** `isOwn`: from `custom_providers` in config.yaml, and perhaps with its key there. */
export type Vendor = KnownProvider & { readonly isOwn: boolean; readonly hasOwnKey: boolean };

/** The built-in vendors, then those of config.yaml. */
export function allVendors(config: HermesConfig): Vendor[] {
  const known = knownProviders().map((vendor) => ({ ...vendor, isOwn: false, hasOwnKey: false }));
  const own = config.models.customProviders.filter(({ name, baseUrl }) => name !== "" && baseUrl !== "");
  return [
    ...known,
    ...own.map(({ name, baseUrl, apiKey, models }) => ({
      ...{ name: `custom:${name}`, label: name, isLocal: false, defaultBaseUrl: baseUrl, envVars: [] },
      ...{ models: Object.keys(models), isOwn: true, hasOwnKey: apiKey !== "" },
    })),
  ];
}

/** By its name or an alias; undefined for `custom`. Ends the command when there is no such provider. */
export function vendorNamed(
  asked: string,
  { config }: Pick<ModelSources, "config">,
  baseUrl = "http://127.0.0.1:1/v1",
): Vendor | undefined {
  const vendors = allVendors(config);
  const plain = vendors.find(({ name, label }) =>
    [name, label].some((text) => text.toLowerCase() === asked.toLowerCase()),
  );
  if (plain !== undefined) return plain;
  const resolved = resolveModel({ env: {}, config }, { provider: asked, model: "any", baseUrl });
  if (!resolved.ok) {
    const meant = nearest(
      asked,
      vendors.map(({ name }) => name),
    );
    const hint = meant === undefined ? resolved.error.hint : `Did you mean '${meant}'?`;
    throw choiceFailure({ ...resolved.error, hint }, 2);
  }
  return vendors.find(({ name }) => name === resolved.value.identity.provider);
}

/** The variable that holds its key; undefined when none is set. */
export function keyVariable({ envVars }: Vendor, env: Environment): string | undefined {
  return envVars.find((name) => (env[name] ?? "").trim() !== "");
}

/** On their usual ports, and for Ollama on the port in OLLAMA_HOST. */
export async function localServers(env: Environment): Promise<readonly LocalServer[]> {
  const port = ollamaPort(env);
  return findLocalServers(port === undefined ? {} : { ports: { ollama: [port] } });
}

/** From Ollama's own variable, unless it names another machine. */
function ollamaPort(env: Environment): number | undefined {
  const url = parseBaseUrl(env.OLLAMA_HOST ?? "");
  return url === undefined || !isLoopback(url) || url.port === "" ? undefined : Number(url.port);
}

type ListingServer = {
  readonly provider: string;
  readonly baseUrl: string;
  /** On this machine. */
  readonly isLocal: boolean;
  /** Undefined when the server does not answer in time, or has no list. */
  listModels(): Promise<readonly string[] | undefined>;
};

/** The server that a selection leads to, with the key that belongs to it. Undefined unless its protocol has a list of models. */
export function listingServer(sources: ModelSources, selection: ModelSelection): ListingServer | undefined {
  // Any model will do; without a name no server is resolved.
  const resolved = resolveModel(sources, { ...selection, model: selection.model || "any" });
  if (!resolved.ok) return undefined;
  const { provider, baseUrl, apiMode } = resolved.value.identity;
  const base = parseBaseUrl(baseUrl);
  if (base === undefined || (apiMode !== "chat_completions" && apiMode !== "responses")) return undefined;
  const apiKey = resolved.value.hasKey ? resolved.value.chosen.apiKey : "";
  return { provider, baseUrl, isLocal: isLoopback(base), listModels: () => serverModels(baseUrl, apiKey) };
}

const LOOPBACK_MS = 2_000;
const REMOTE_MS = 8_000;
/** The list of a gateway with some hundred models takes 1 to 2 MB. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Undefined when the server does not answer in time, or has no list. */
async function serverModels(address: string, apiKey: string): Promise<readonly string[] | undefined> {
  const base = parseBaseUrl(address);
  if (base === undefined) return undefined;
  const path = base.pathname.replace(/\/+$/, "");
  try {
    const response = await fetch(`${base.origin}${path === "" ? "/v1" : path}/models`, {
      headers: {
        accept: "application/json",
        ...(apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      redirect: "error", // or the key would go to another server
      signal: AbortSignal.timeout(isLoopback(base) ? LOOPBACK_MS : REMOTE_MS),
    });
    if (!response.ok) {
      await response.body?.cancel();
      return undefined;
    }
    return namesIn(outsideJsonOr(await limitedText(response), null));
  } catch {
    return undefined; // the user can still type a name
  }
}

function namesIn(answer: unknown): readonly string[] | undefined {
  const list = (answer as { readonly data?: unknown } | null)?.data;
  if (!Array.isArray(list)) return undefined;
  const ids = list.map((entry: unknown) => (entry as { readonly id?: unknown } | null)?.id);
  return ids.filter((id): id is string => typeof id === "string" && id.trim() !== "");
}

async function limitedText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error("too long");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** A trailing slash and letter case make no difference. */
export function isSameAddress(one: string, other: string): boolean {
  const plain = (text: string): string => text.trim().replace(/\/+$/, "").toLowerCase();
  return plain(one) === plain(other);
}
