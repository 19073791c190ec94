// The MCP door: memory and past sessions for any client that speaks the Model Context Protocol.
import type { ServeOptions } from "./serve.ts";

export type { ServeOptions } from "./serve.ts";

/** Serves until the input ends or the signal aborts. The SDK is loaded here and nowhere earlier. */
export async function serveMcp(options: ServeOptions): Promise<void> {
  const { serve } = await import("./serve.ts");
  await serve(options);
}
