// `startWire` for tests: closed when the test is over, which fails if the script ran out or threw.
import { onTestFinished } from "vitest";
import type { WireOptions } from "./format.ts";
import type { Script, WireKind } from "./script.ts";
import { startWire as start, type Wire } from "./start-wire.ts";

export type { Wire } from "./start-wire.ts";

export type TestWireOptions = WireOptions & {
  /** The test looks at `problems` itself. */
  readonly mayRunOut?: boolean;
};

export async function startWire(
  kind: WireKind,
  script: Script,
  options: TestWireOptions = {},
): Promise<Wire> {
  const wire = await start(kind, script, options);
  onTestFinished(async () => {
    await wire.close();
    if (!options.mayRunOut && wire.problems.length > 0) throw new Error(wire.problems.join("\n"));
  });
  return wire;
}
