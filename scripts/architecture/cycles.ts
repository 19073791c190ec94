// Import cycles. None are allowed: to understand one file of a cycle, a reader has to read all of them.

import type { ImportKind } from "../house/import-graph.ts";
import { findCycles } from "./find-cycles.ts";
import type { Import } from "./workspace.ts";

/** A cycle is reported for the first of these steps that finds it: value imports, then lazy imports too, then imports of types too. */
const STEPS: readonly (readonly ImportKind[])[] = [
  ["value"],
  ["value", "dynamic"],
  ["value", "dynamic", "type"],
];

export function importCycles(imports: readonly Import[]): string[] {
  const reported = new Set<string>();
  return STEPS.flatMap((kinds) => {
    const edges = imports.flatMap(({ from, to, kind }) =>
      to !== undefined && kinds.includes(kind) ? [{ from, to }] : [],
    );
    const found = findCycles([...new Set(edges.map(({ from }) => from))], edges).map((files) =>
      files.join(", "),
    );
    const fresh = found.filter((cycle) => !reported.has(cycle));
    for (const cycle of found) reported.add(cycle);
    return fresh.map((cycle) => `${kinds.at(-1)} imports form a cycle: ${cycle}`);
  });
}
