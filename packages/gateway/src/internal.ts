// What the command line uses of the gateway. The server itself is not among it: `hermes token` does not need it.
export { urlHost } from "./guard.ts";
export { parseUserRef } from "./identity.ts";
export { openTokens, readLocalToken, type TokenSummary, type Tokens } from "./tokens.ts";
export type { TokenLimits, TokenRights } from "./types.ts";
