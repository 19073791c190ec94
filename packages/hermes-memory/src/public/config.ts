export * from "@hermes-memory/core/config";
