export * from "@hermes-memory/core/langchain";
