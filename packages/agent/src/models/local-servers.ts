// Finds model servers on this machine by asking on their usual ports.
import { modelListUrl } from "./base-url.ts";
import { findProvider } from "./choice/providers.ts";
import { asList, asRecord, fetchJson, someText } from "./json-fields.ts";

/** The servers that are looked for. */
export type LocalServerKind = "ollama" | "lmstudio" | "llamacpp" | "vllm";

/** A model server on this machine. */
export type LocalServer = {
  /** A provider's name. */
  readonly kind: LocalServerKind;
  /** To show to users. */
  readonly label: string;
  readonly baseUrl: string;
  /** In the server's order, without those that the server says are not for conversation. */
  readonly models: readonly string[];
};

/** Where to look, and how long to wait. */
export type LocalServerOptions = {
  readonly fetch?: typeof fetch;
  /** For each server; all are asked at the same time. Default 500. */
  readonly timeoutMs?: number;
  /** Instead of a server's usual ports. */
  readonly ports?: Readonly<Partial<Record<LocalServerKind, readonly number[]>>>;
  readonly signal?: AbortSignal;
};

const USUAL_PORTS: Readonly<Record<LocalServerKind, readonly number[]>> = {
  ollama: [11434],
  lmstudio: [1234],
  llamacpp: [8080],
  vllm: [8000],
};

const TIMEOUT_MS = 500;
const MOST_BYTES = 1024 * 1024;

/** In the order of `USUAL_PORTS`. Rejects only when the signal is aborted. */
export async function findLocalServers(options: LocalServerOptions = {}): Promise<readonly LocalServer[]> {
  const { ports = {}, signal } = options;
  signal?.throwIfAborted();
  const kinds = Object.keys(USUAL_PORTS) as LocalServerKind[];
  const places = kinds.flatMap((kind) => (ports[kind] ?? USUAL_PORTS[kind]).map((port) => ({ kind, port })));
  const found = await Promise.all(places.map(({ kind, port }) => ask(kind, port, options)));
  signal?.throwIfAborted();
  return found.filter((server) => server !== undefined);
}

/** Undefined when there is no answer, or the answer is not a model server's. */
async function ask(
  kind: LocalServerKind,
  port: number,
  options: LocalServerOptions,
): Promise<LocalServer | undefined> {
  const { fetch: send = fetch, timeoutMs = TIMEOUT_MS, signal } = options;
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const limits = [AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])];
  const init = { headers: { accept: "application/json" }, signal: AbortSignal.any(limits) };
  const url = modelListUrl(new URL(baseUrl));
  const { data } = asRecord(await fetchJson(url, init, { fetch: send, mostBytes: MOST_BYTES }));
  if (!Array.isArray(data)) return undefined;
  const entries = data.map(asRecord);
  if (entries.length > 0 && entries.every(({ id }) => typeof id !== "string")) return undefined;
  const models = entries.filter(isForConversation).flatMap(({ id }) => someText(id) ?? []);
  const told = kindIn(entries) ?? kind;
  return { kind: told, label: findProvider(told)?.label ?? told, baseUrl, models };
}

const OWNERS: Readonly<Record<string, LocalServerKind>> = {
  library: "ollama",
  llamacpp: "llamacpp",
  organization_owner: "lmstudio",
  vllm: "vllm",
};

/** The owner that a server names in its list tells more than the port, which can be changed. */
function kindIn(entries: readonly Readonly<Record<string, unknown>>[]): LocalServerKind | undefined {
  const owner = entries.map(({ owned_by: name }) => name).find((name) => typeof name === "string");
  return owner !== undefined && Object.hasOwn(OWNERS, owner) ? OWNERS[owner] : undefined;
}

/** Some servers say what a model is for; a model without that information is included. */
function isForConversation({ type, capabilities }: Readonly<Record<string, unknown>>): boolean {
  if (typeof type === "string" && /^embeddings?$|^rerank/i.test(type)) return false;
  const can = asList(capabilities).map(String);
  return can.length === 0 || can.some((word) => /completion|chat|generate|text/i.test(word));
}
