// What the command line uses of the gateway.

export { parseUserRef } from "./identity.ts";
export { openTokens, type TokenSummary, type Tokens } from "./tokens.ts";
export type { TokenRights } from "./types.ts";
