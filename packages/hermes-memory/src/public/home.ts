export * from "@hermes-memory/core/home";
