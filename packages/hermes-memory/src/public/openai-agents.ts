export * from "@hermes-memory/core/openai-agents";
