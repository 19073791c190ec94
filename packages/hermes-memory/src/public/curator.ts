export * from "@hermes-memory/agent/curator";
