export * from "@hermes-memory/core/curated";
