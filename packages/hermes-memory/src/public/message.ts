export * from "@hermes-memory/core/message";
