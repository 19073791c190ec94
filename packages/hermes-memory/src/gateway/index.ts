// What the command line uses of the gateway.
import type { RunningGateway, StartOptions } from "./serve.ts";

export { urlHost } from "./guard.ts";
export { parseUserRef } from "./identity.ts";
export type { RunningGateway } from "./serve.ts";
export { openTokens, readLocalToken, type TokenSummary, type Tokens } from "./tokens.ts";
export type { TokenLimits, TokenRights } from "./types.ts";

/** Loads the server, which `hermes token` does not need. */
export async function startGateway(options: StartOptions): Promise<RunningGateway> {
  return (await import("./serve.ts")).startGateway(options);
}
