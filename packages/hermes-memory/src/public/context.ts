export * from "@hermes-memory/core/context";
