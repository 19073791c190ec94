export * from "@hermes-memory/agent/models";
