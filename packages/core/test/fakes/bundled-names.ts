// The names of the bundled providers, in the order of every list. find-providers.test.ts says which they are.
import { BUNDLED_PROVIDERS } from "../../src/providers/discovery/bundled.ts";

export const BUNDLED_NAMES: readonly string[] = BUNDLED_PROVIDERS.map(({ name }) => name).sort();
