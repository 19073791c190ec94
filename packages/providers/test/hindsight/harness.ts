// A fake Hindsight as the provider contract needs it. One server for all homes: each home has banks of its own.
import { basename } from "node:path";
import type { ProviderHarness } from "../../../core/testing/index.ts";
import { createHindsightProvider } from "../../src/hindsight/provider.ts";
import { controlsOf } from "../fakes/servers/controls.ts";
import type { FakeHindsight } from "../fakes/servers/hindsight.ts";

export const KEY = "hindsight-test-key-0123456789";

const bankOf = (home: string): string => `bank-${basename(home)}`;

export function harnessOf(fake: FakeHindsight): ProviderHarness {
  return {
    create: (home) =>
      createHindsightProvider({
        home,
        env: {
          HOME: home,
          HINDSIGHT_API_URL: fake.url,
          HINDSIGHT_API_KEY: KEY,
          HINDSIGHT_BANK_ID: bankOf(home),
          HINDSIGHT_TIMEOUT: "3",
        },
      }),
    stored: (home) => {
      const banks = fake.banks().filter((bank) => bank.startsWith(bankOf(home)));
      return banks.flatMap((bank) =>
        fake.documents(bank).map(({ id, text, tags }) => ({ bank, id, text, tags })),
      );
    },
    modeSetting: "memory_mode",
    turns: (home) =>
      fake
        .documents(bankOf(home))
        .filter(({ id }) => id.startsWith("session-"))
        .flatMap(({ text }) => text.split("\n"))
        .flatMap((line) => (JSON.parse(line) as { role: string; content: string }[][]).flat())
        .filter(({ role }) => role === "user")
        .map(({ content }) => content),
    server: () => controlsOf(fake, KEY),
  };
}
