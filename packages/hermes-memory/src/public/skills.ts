export * from "@hermes-memory/core/skills";
