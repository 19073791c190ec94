export * from "@hermes-memory/core/sessions";
