export * from "@hermes-memory/core/anthropic";
