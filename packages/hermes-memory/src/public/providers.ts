export * from "@hermes-memory/core/providers";
