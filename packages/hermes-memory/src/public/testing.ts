export * from "@hermes-memory/core/testing";
