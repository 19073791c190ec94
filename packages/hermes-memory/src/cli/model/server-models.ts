// The models an OpenAI-compatible server lists, wherever it is.

import { isLoopback, parseBaseUrl } from "@hermes-memory/agent/models";
import { outsideJsonOr } from "@hermes-memory/core/lib";

const LOOPBACK_MS = 2_000;
const REMOTE_MS = 8_000;
/** A gateway's list of some hundred models has a megabyte or two. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Undefined when it cannot be had: no server, no list, or not in time. */
export async function serverModels(
  address: string,
  apiKey: string,
  signal?: AbortSignal,
): Promise<readonly string[] | undefined> {
  const base = parseBaseUrl(address);
  if (base === undefined) return undefined;
  const deadline = AbortSignal.timeout(isLoopback(base) ? LOOPBACK_MS : REMOTE_MS);
  const path = base.pathname.replace(/\/+$/, "");
  try {
    const response = await fetch(`${base.origin}${path === "" ? "/v1" : path}/models`, {
      headers: {
        accept: "application/json",
        ...(apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      redirect: "error", // the key is for this server and no other
      signal: signal === undefined ? deadline : AbortSignal.any([deadline, signal]),
    });
    if (!response.ok) {
      await response.body?.cancel();
      return undefined;
    }
    return namesIn(outsideJsonOr(await limitedText(response), null));
  } catch {
    signal?.throwIfAborted();
    return undefined; // whoever asks goes on without a list
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
