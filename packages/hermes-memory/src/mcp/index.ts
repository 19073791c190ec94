// Memory and past sessions for any client of the Model Context Protocol.
import type { ServeOptions } from "./serve.ts";

export type { ServeOptions } from "./serve.ts";

/** Serves until the input ends or the signal aborts. The SDK is loaded only then. */
export async function serveMcp(options: ServeOptions): Promise<void> {
  const { serve } = await import("./serve.ts");
  await serve(options);
}
