// The door: a local fact store as a memory provider.
export { createHolographicProvider, type HolographicOptions } from "./provider.ts";
