// Where a model can run: the vendors, the servers of this machine, and the models that a server lists.
import {
  findLocalServers,
  isLoopback,
  knownProviders,
  type LocalServer,
  type ModelSelection,
  parseBaseUrl,
} from "@hermes-memory/agent/internal/models";
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import { outsideJsonOr } from "@hermes-memory/core/internal/lib";
import { type Environment, type ModelSources, resolveModel } from "./resolution.ts";

export type { LocalServer };

export type Vendor = {
  readonly name: string;
  readonly label: string;
  readonly isLocal: boolean;
  /** "" for the vendor's default address. */
  readonly baseUrl: string;
  /** Variables its key may be in, the usual one first. Empty when it needs no key, or has it in config.yaml. */
  readonly variables: readonly string[];
  /** Models to suggest; not all of them. */
  readonly models: readonly string[];
  /** From `custom_providers` in config.yaml. */
  readonly isOwn: boolean;
  readonly hasOwnKey: boolean;
};

/** The built-in vendors, then those of config.yaml. */
export function allVendors(config: HermesConfig): Vendor[] {
  const known = knownProviders().map(
    ({ name, label, envVars, isLocal, defaultBaseUrl, models = [] }): Vendor => ({
      name,
      label,
      isLocal,
      baseUrl: defaultBaseUrl,
      variables: envVars,
      models,
      isOwn: false,
      hasOwnKey: false,
    }),
  );
  const own = config.models.customProviders
    .filter(({ name, baseUrl }) => name !== "" && baseUrl !== "")
    .map(
      ({ name, baseUrl, apiKey, models }): Vendor => ({
        name: `custom:${name}`,
        label: name,
        isLocal: false,
        baseUrl,
        variables: [],
        models: Object.keys(models),
        isOwn: true,
        hasOwnKey: apiKey !== "",
      }),
    );
  return [...known, ...own];
}

/** The variable that holds its key; undefined when none is set. */
export function keyVariable({ variables }: Vendor, env: Environment): string | undefined {
  return variables.find((name) => (env[name] ?? "").trim() !== "");
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
