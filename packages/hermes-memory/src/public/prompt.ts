export * from "@hermes-memory/core/prompt";
