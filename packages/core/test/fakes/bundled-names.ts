// The names of the bundled providers, in the order of every list. find-providers.test.ts says which they are.
export { BUNDLED_NAMES } from "../../src/providers/discovery/find-providers.ts";
