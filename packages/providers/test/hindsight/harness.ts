// A fake Hindsight for the provider contract.
import { harnessOf } from "../fakes/contract.ts";
import { FakeHindsight } from "../fakes/servers/hindsight.ts";

export const hindsight = () =>
  harnessOf("hindsight", {
    fake: () => new FakeHindsight(),
    env: { HINDSIGHT_TIMEOUT: "3" },
    modeSetting: "memory_mode",
  });
