// A service as the provider contract needs it: each home has a fake of its own. `create` is synchronous, so the fakes listen before the
// tests are registered.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { ProviderHarness } from "../../../core/testing/index.ts";
import { controlsOf } from "./servers/controls.ts";
import { FAKE_SERVICES, type Fake } from "./servers/services.ts";

const HOMES = 120;
const FAST = { pauses: { firstMs: 20, longestMs: 100, blockedMs: 100 }, breakerMs: 200 };

type Options<F extends Fake> = Partial<Omit<ProviderHarness, "server">> & {
  readonly fake: () => F;
  /** What the provider sends. Empty: the server asks for none. */
  readonly key?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Written to `<service>.json` of a home without one. */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly server?: (fake: F) => ReturnType<typeof controlsOf>;
};

export async function harnessOf<F extends Fake>(
  name: string,
  { fake: newFake, key = "contract-key-0123456789", env = {}, settings, server, ...more }: Options<F>,
): Promise<ProviderHarness> {
  const service = FAKE_SERVICES.find((each) => each.name === name);
  if (service === undefined) throw new Error(`There is no service ${name}.`);
  const fakes = Array.from({ length: HOMES }, newFake);
  await Promise.all(fakes.map((fake) => fake.start()));
  afterAll(() => Promise.all(fakes.map((fake) => fake.stop())));
  const controls = server ?? ((fake: F) => controlsOf(fake, key === "" ? undefined : key));
  const ofHome = new Map<string, F>();
  const fakeOf = (home: string): F => {
    const fake = ofHome.get(home) ?? fakes[ofHome.size];
    if (fake === undefined) throw new Error("There are more homes than fakes.");
    if (!ofHome.has(home)) controls(fake).recover();
    ofHome.set(home, fake);
    return fake;
  };
  return {
    create: (home) => {
      const path = join(home, `${name}.json`);
      if (settings !== undefined && home !== "." && !existsSync(path))
        writeFileSync(path, JSON.stringify(settings));
      const variables = { HOME: home, ...service.env(fakeOf(home).url, key), ...env };
      return service.provider({ home, env: variables, limits: FAST });
    },
    stored: (home) => fakeOf(home).stored(),
    turns: (home) => service.turns(fakeOf(home), "session-1").filter((text) => !text.startsWith("Noted")),
    server: (home) => controls(fakeOf(home)),
    ...more,
  };
}
