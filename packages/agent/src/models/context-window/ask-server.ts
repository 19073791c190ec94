// Asks a model's server how many tokens it takes. All questions go out at once, because nobody says which kind of server it
// is; the answers are weighed in the order of how well they tell what is really served.
import { outsideJsonOr } from "@hermes-memory/core/lib";
import { modelListUrl, serverRoot } from "./base-url.ts";
import {
  fromLlamaCpp,
  fromLmStudio,
  fromModelList,
  fromOllama,
  fromShowAlone,
  type ServerWindow,
} from "./server-answers.ts";

export type ServerQuestion = {
  readonly model: string;
  readonly provider: string;
  readonly base: URL;
  readonly apiKey: string;
  /** For everything together. */
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
  readonly signal?: AbortSignal | undefined;
};

/** A list of all models of a large gateway has some megabytes. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Undefined when nobody answers in time, or nothing that helps. Rejects only when the caller's signal is aborted. */
export async function askServer(question: ServerQuestion): Promise<ServerWindow | undefined> {
  const { model, base, timeoutMs, signal } = question;
  signal?.throwIfAborted();
  const done = new AbortController();
  const stop = AbortSignal.any([done.signal, AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
  const root = serverRoot(base);
  const get = (url: string): Promise<unknown> => readJson(url, {}, question, stop);
  const ps = get(`${root}/api/ps`);
  const show = readJson(`${root}/api/show`, { model, name: model }, question, stop);
  const listed = get(`${root}/api/v0/models`);
  const props = get(`${root}/props?model=${encodeURIComponent(model)}&autoload=false`);
  // Anthropic's list comes in pages of 20.
  const models = get(`${modelListUrl(base)}${isAnthropic(question) ? "?limit=1000" : ""}`);
  try {
    const window =
      fromOllama(model, await ps, await show) ??
      fromLmStudio(model, await listed) ??
      fromLlamaCpp(await props) ??
      fromModelList(model, await models) ??
      fromShowAlone(await show);
    signal?.throwIfAborted();
    return window;
  } finally {
    done.abort(); // whatever is still under way no longer matters
  }
}

/** Undefined for every kind of failure. `body` with keys makes it a POST. */
async function readJson(
  url: string,
  body: Readonly<Record<string, unknown>>,
  question: ServerQuestion,
  signal: AbortSignal,
): Promise<unknown> {
  const isPost = Object.keys(body).length > 0;
  try {
    const { fetch: send } = question; // as a method it would get the wrong `this`
    const response = await send(url, {
      method: isPost ? "POST" : "GET",
      headers: {
        accept: "application/json",
        ...(isPost ? { "content-type": "application/json" } : {}),
        ...keyHeaders(question),
      },
      ...(isPost ? { body: JSON.stringify(body) } : {}),
      redirect: "error", // a server on this machine may not send us, or the key, to another one
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      return undefined;
    }
    return outsideJsonOr(await readText(response), undefined);
  } catch {
    return undefined; // not there, too slow, or not talking JSON: other answers may help
  }
}

function keyHeaders(question: ServerQuestion): Record<string, string> {
  const { apiKey } = question;
  if (apiKey === "") return {};
  if (!isAnthropic(question)) return { authorization: `Bearer ${apiKey}` };
  return { "x-api-key": apiKey, "anthropic-version": "2023-06-01" };
}

function isAnthropic({ provider, base }: ServerQuestion): boolean {
  return provider.toLowerCase() === "anthropic" || base.hostname === "api.anthropic.com";
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error("too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
