export * from "@hermes-memory/agent";
