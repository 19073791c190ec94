export * from "@hermes-memory/import";
