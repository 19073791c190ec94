export * from "@hermes-memory/mcp";
