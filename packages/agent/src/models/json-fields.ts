// JSON that a server sends, of which nothing is known yet: getting it within limits, and reading its fields.
import { isRecord, outsideJsonOr } from "@hermes-memory/core/internal/lib";

/** An empty record for anything that is not an object. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** An empty list for anything that is not a list. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Undefined for anything that is not a text, and for an empty one. */
export function someText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const LEAST_WINDOW = 1_024;
const MOST_WINDOW = 10_000_000;

/** Whether a number can be the context window of a model, in tokens. */
export function isPlausibleWindow(value: unknown): value is number {
  return (
    typeof value === "number" && Number.isSafeInteger(value) && value >= LEAST_WINDOW && value <= MOST_WINDOW
  );
}

/** Of the server's answer, undefined for every kind of failure: no server, too slow, too long, or no JSON. */
export async function fetchJson(
  url: string,
  init: RequestInit,
  { fetch: send, mostBytes }: { readonly fetch: typeof fetch; readonly mostBytes: number },
): Promise<unknown> {
  try {
    // A local server must not redirect us, and the key, to another one.
    const response = await send(url, { redirect: "error", ...init });
    if (!response.ok) return void (await response.body?.cancel());
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > mostBytes) return undefined;
      chunks.push(chunk);
    }
    return outsideJsonOr(Buffer.concat(chunks).toString("utf8"), undefined);
  } catch {
    return undefined; // other answers may help
  }
}
