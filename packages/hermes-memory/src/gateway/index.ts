// The gateway: memory for every client by changing its base URL. What the command line uses of it.
export { parseUserRef } from "./identity.ts";
export { type RunningGateway, startGateway } from "./serve.ts";
export { openTokens, type TokenSummary, type Tokens } from "./tokens.ts";
export type { TokenRights } from "./types.ts";
