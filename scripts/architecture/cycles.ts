// Files that import each other in a circle. Whoever reads one of them has to read them all.
import { findCycles } from "./find-cycles.ts";
import type { Import, ImportKind } from "./workspace.ts";

/**
 * `AgentCore` is at once the state that turns and commands share and the one who reserves the session, so the functions that
 * do it take the whole core as an argument. It goes when the agent's state and its operations become files of their own.
 */
const AGENT_CORE = [
  "packages/agent/src/agent/core.ts",
  "packages/agent/src/agent/session/compacted-list.ts",
  "packages/agent/src/agent/session/compaction.ts",
  "packages/agent/src/agent/session/reserve.ts",
];

export type KnownCycles = Readonly<Record<"value" | "dynamic" | "type", readonly (readonly string[])[]>>;

/** Exactly these circles may exist: by value imports, with dynamic imports added, and with imports of types added. */
export const KNOWN_CYCLES: KnownCycles = {
  value: [],
  dynamic: [],
  type: [AGENT_CORE],
};

const STEPS = [
  { step: "value", kinds: ["value"] },
  { step: "dynamic", kinds: ["value", "dynamic"] },
  { step: "type", kinds: ["value", "dynamic", "type"] },
] as const satisfies readonly { readonly step: keyof KnownCycles; readonly kinds: readonly ImportKind[] }[];

/** Circles that are not on the list, and entries of the list that are no longer circles. */
export function unexpectedCycles(imports: readonly Import[], known: KnownCycles): string[] {
  const reported = new Set<string>();
  return STEPS.flatMap(({ step, kinds }) => {
    const edges = imports.flatMap(({ from, to, kind }) =>
      to !== undefined && (kinds as readonly ImportKind[]).includes(kind) ? [{ from, to }] : [],
    );
    const found = findCycles([...new Set(edges.map(({ from }) => from))], edges).map(show);
    const expected = known[step].map((cycle) => show([...cycle].sort()));
    const more = found.filter((cycle) => !expected.includes(cycle) && !reported.has(cycle));
    for (const cycle of found) reported.add(cycle); // with more kinds the same circle is there again
    return [
      ...more.map((cycle) => `${step} imports form a cycle: ${cycle}`),
      ...expected
        .filter((cycle) => !found.includes(cycle))
        .map((cycle) => `KNOWN_CYCLES.${step} lists what is no cycle: ${cycle}`),
    ];
  });
}

function show(cycle: readonly string[]): string {
  return cycle.join(", ");
}
