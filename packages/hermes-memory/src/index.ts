// The product as a library: everything the two packages below it export.
export * from "@hermes-memory/agent";
export * from "@hermes-memory/core";
