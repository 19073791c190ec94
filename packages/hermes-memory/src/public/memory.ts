export * from "@hermes-memory/core/memory";
