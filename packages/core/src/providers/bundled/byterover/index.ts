// The door of the ByteRover provider: an external memory kept by the `brv` command line.
import type { MemoryProvider } from "../../contract.ts";
import { type ByteroverOptions, ByteroverProvider } from "./provider.ts";

export type { ByteroverOptions } from "./provider.ts";

export function createByteroverProvider(options: ByteroverOptions = {}): MemoryProvider {
  return new ByteroverProvider(options);
}
