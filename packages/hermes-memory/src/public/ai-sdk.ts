export * from "@hermes-memory/core/ai-sdk";
