export * from "@hermes-memory/gateway";
