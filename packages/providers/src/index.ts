// The eight external memories that come with hermes-memory. `@hermes-memory/core` finds them here by name.
export { bundledProviders } from "./bundled.ts";
