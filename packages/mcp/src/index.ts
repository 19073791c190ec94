// The MCP server as a library.
export { type ServeOptions, serveMcp } from "./serve.ts";
