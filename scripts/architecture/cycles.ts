// Files that import each other in a circle. Whoever reads one of them has to read them all.
import { findCycles } from "./find-cycles.ts";
import type { Import, ImportKind } from "./workspace.ts";

/**
 * The command line calls itself: `/curator` in a chat runs `hermes curator` through `program.ts`, and `completion` reads the list
 * of all commands, itself among them. That list loads the body of a command when it runs, so no file is loaded in a circle.
 */
const COMMAND_LINE = [
  "packages/hermes-memory/src/cli/chat/chat.ts",
  "packages/hermes-memory/src/cli/chat/commands.ts",
  "packages/hermes-memory/src/cli/chat/curator-command.ts",
  "packages/hermes-memory/src/cli/chat/open-agent.ts",
  "packages/hermes-memory/src/cli/completion/command.ts",
  "packages/hermes-memory/src/cli/completion/run.ts",
  "packages/hermes-memory/src/cli/groups.ts",
  "packages/hermes-memory/src/cli/program.ts",
];

export type KnownCycles = Readonly<Record<"value" | "dynamic" | "type", readonly (readonly string[])[]>>;

/** Exactly these circles may exist: by value imports, with dynamic imports added, and with imports of types added. */
export const KNOWN_CYCLES: KnownCycles = {
  value: [],
  dynamic: [COMMAND_LINE],
  type: [COMMAND_LINE],
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
