// What the setups of services with questions of their own share.
import { setConfigValue } from "@hermes-memory/core/internal/config";
import { HermesError, pyStrip, type Result } from "@hermes-memory/core/internal/lib";
import type { ConfigField, PostSetupOptions } from "@hermes-memory/core/internal/providers";

export type Asking = Pick<PostSetupOptions, "print"> & { readonly ask: NonNullable<PostSetupOptions["ask"]> };

/** Asks until the answer fits. An empty answer is the standard one; of a secret, whose value is not shown, it is "". */
export async function askField(
  { key, description = key, choices, secret = false, url }: ConfigField,
  standard: string,
  { ask, print }: Asking,
  check: (answer: string) => Result<string, string>,
): Promise<string> {
  if (url !== undefined) print(`A key is made at ${url}.`);
  const hint = choices === undefined ? "" : ` (${choices.join(", ")})`;
  const kept = secret ? "; empty keeps the one that is saved" : "";
  for (;;) {
    const shown = secret ? { secret: true } : { default: standard };
    const answer = pyStrip(await ask(`${description}${hint}${kept}`, shown));
    if (answer === "") return secret ? "" : standard;
    const checked = check(answer);
    if (checked.ok) return checked.value;
    print(`${key} ${checked.error}.`);
  }
}

export async function activate(home: string, provider: string): Promise<void> {
  const activated = await setConfigValue(home, "memory.provider", provider);
  if (!activated.ok) throw new HermesError("config-not-saved", activated.error.message);
}
