export * from "@hermes-memory/core/security";
