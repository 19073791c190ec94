// Mem0 as a memory provider: the Mem0 Platform, or a Mem0 server that people host themselves.
import type { MemoryProvider } from "@hermes-memory/core/internal/providers";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import type { Service } from "../kit/networked/service.ts";
import { Mem0Connection } from "./connection.ts";
import {
  FIELDS,
  type Mem0Settings,
  missingSetting,
  readMem0Settings,
  savedAnswers,
  saveMem0Settings,
  settingsRemarks,
} from "./settings.ts";

const MEM0: Service<Mem0Settings> = {
  name: "mem0",
  label: "Mem0",
  fields: FIELDS,
  readSettings: readMem0Settings,
  remarks: settingsRemarks,
  saveSettings: saveMem0Settings,
  savedSettings: savedAnswers,
  missing: missingSetting,
  secrets: ({ apiKey }) => (apiKey === "" ? [] : [apiKey]),
  connect: (settings, context) => new Mem0Connection(settings, context),
};

export function createMem0Provider(options: NetworkedOptions): MemoryProvider {
  return new NetworkedProvider(MEM0, options);
}
