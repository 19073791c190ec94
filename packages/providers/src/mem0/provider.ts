// Mem0 as a memory provider: the Mem0 Platform, or a Mem0 server that people host themselves.
import type { MemoryProvider } from "@hermes-memory/core/internal/providers";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import { Mem0Connection } from "./connection.ts";
import { MEM0_SETTINGS, type Mem0Settings, missingSetting } from "./settings.ts";

export function createMem0Provider(options: NetworkedOptions): MemoryProvider {
  return new NetworkedProvider<Mem0Settings>(
    {
      name: "mem0",
      label: "Mem0",
      settings: MEM0_SETTINGS,
      missing: missingSetting,
      connect: (settings, context) => new Mem0Connection(settings, context),
    },
    options,
  );
}
