export * from "@hermes-memory/core/tools";
