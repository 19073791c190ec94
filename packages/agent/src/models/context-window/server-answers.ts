// What the answers of the usual model servers say about one model's window. Foreign JSON: whatever does not fit says nothing.
import { asList, asRecord, asWindow, windowIn } from "./fields.ts";

export type ServerKind = "Ollama" | "LM Studio" | "llama.cpp" | "OpenAI-compatible";

export type ServerWindow = {
  readonly tokens: number;
  readonly server: ServerKind;
  /** It is what the model could take; the server has not loaded it yet and may then serve less. */
  readonly isProvisional: boolean;
  /** It is what the model was loaded with, so that nothing said earlier is better known. */
  readonly isLoaded: boolean;
};

/** `/api/ps` tells what is loaded and with which window, `/api/show` what the model could do and its file asks for. */
export function fromOllama(model: string, ps: unknown, show: unknown): ServerWindow | undefined {
  const { models } = asRecord(ps);
  if (!Array.isArray(models)) return undefined; // something else that also has an /api/show
  const loaded = models.map(asRecord).find(({ name, model: other }) => {
    return isSameOllamaModel(name, model) || isSameOllamaModel(other, model);
  });
  const served = asWindow(loaded?.context_length);
  if (served !== undefined) return { tokens: served, server: "Ollama", isProvisional: false, isLoaded: true };

  const most = trainedWindow(show);
  const asked = asWindow(/^\s*num_ctx\s+"?(\d+)/m.exec(String(asRecord(show).parameters ?? ""))?.[1]);
  if (asked !== undefined)
    return {
      tokens: Math.min(asked, most ?? asked),
      server: "Ollama",
      isProvisional: false,
      isLoaded: false,
    };
  if (most === undefined) return undefined;
  // Models in Ollama's cloud always run with all they have.
  return { tokens: most, server: "Ollama", isProvisional: !/[:-]cloud$/i.test(model), isLoaded: false };
}

/** `/api/show` where nothing else was answered: an old Ollama, or something that imitates it. */
export function fromShowAlone(show: unknown): ServerWindow | undefined {
  const tokens = trainedWindow(show);
  return tokens === undefined
    ? undefined
    : { tokens, server: "Ollama", isProvisional: true, isLoaded: false };
}

/** `/api/v0/models` */
export function fromLmStudio(model: string, list: unknown): ServerWindow | undefined {
  const entry = asList(asRecord(list).data)
    .map(asRecord)
    .find(({ id }) => isSameText(id, model));
  const loaded = asWindow(entry?.loaded_context_length);
  if (loaded !== undefined)
    return { tokens: loaded, server: "LM Studio", isProvisional: false, isLoaded: true };
  const most = asWindow(entry?.max_context_length);
  // Another server's list may have a field of that name; only this one tells the state.
  if (most === undefined || typeof entry?.state !== "string") return undefined;
  return { tokens: most, server: "LM Studio", isProvisional: true, isLoaded: false };
}

/** `/props`: the window of one slot, which is what a request gets. */
export function fromLlamaCpp(props: unknown): ServerWindow | undefined {
  const tokens = asWindow(asRecord(asRecord(props).default_generation_settings).n_ctx);
  return tokens === undefined
    ? undefined
    : { tokens, server: "llama.cpp", isProvisional: false, isLoaded: true };
}

/** `/v1/models`. A server with a single model serves that, whatever name it is asked for. */
export function fromModelList(model: string, list: unknown): ServerWindow | undefined {
  const entries = asList(Array.isArray(list) ? list : asRecord(list).data).map(asRecord);
  const named = entries.find(({ id, name }) => isSameText(id, model) || isSameText(name, model));
  const entry = named ?? (entries.length === 1 ? entries[0] : undefined);
  const tokens = windowIn(entry);
  if (tokens === undefined) return undefined;
  // vLLM's word for what it was started with. Other lists tell what a model could do.
  const isLoaded = asWindow(entry?.max_model_len) === tokens;
  return { tokens, server: "OpenAI-compatible", isProvisional: false, isLoaded };
}

function trainedWindow(show: unknown): number | undefined {
  const info = asRecord(asRecord(show).model_info);
  const own = asWindow(info[`${String(info["general.architecture"])}.context_length`]);
  const any = Object.entries(info).filter(([key]) => key.endsWith(".context_length"));
  return own ?? any.map(([, value]) => asWindow(value)).find((tokens) => tokens !== undefined);
}

/** A name without a tag means `latest`. */
function isSameOllamaModel(name: unknown, asked: string): boolean {
  return typeof name === "string" && tagged(name) === tagged(asked);
}

function tagged(name: string): string {
  const lower = name.trim().toLowerCase();
  return lower.slice(lower.lastIndexOf("/") + 1).includes(":") ? lower : `${lower}:latest`;
}

function isSameText(value: unknown, wanted: string): boolean {
  return typeof value === "string" && value.toLowerCase() === wanted.toLowerCase();
}
