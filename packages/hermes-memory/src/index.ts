// The product as a library: the roots of the two packages below it. Their subpaths are in src/public.
export * from "@hermes-memory/agent";
export * from "@hermes-memory/core";
