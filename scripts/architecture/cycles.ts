// Files that import each other in a circle. Whoever reads one of them has to read them all.
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
  dynamic: [COMMAND_LINE],
  type: [COMMAND_LINE, AGENT_CORE],
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
    const found = findCycles(
      imports.filter(({ kind }) => (kinds as readonly ImportKind[]).includes(kind)),
    ).map(show);
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

/** Groups of two or more files that reach each other, each sorted (Tarjan's algorithm). */
export function findCycles(imports: readonly Pick<Import, "from" | "to">[]): string[][] {
  const targets = Map.groupBy(imports, ({ from }) => from);
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const cycles: string[][] = [];
  const visit = (file: string): void => {
    const number = order.size;
    order.set(file, number);
    lowest.set(file, number);
    open.push(file);
    for (const { to } of targets.get(file) ?? []) {
      if (to === undefined) continue;
      if (!order.has(to)) visit(to);
      if (open.includes(to)) lowest.set(file, Math.min(lowest.get(file) ?? 0, lowest.get(to) ?? 0));
    }
    if (lowest.get(file) !== number) return;
    const group = open.splice(open.indexOf(file));
    if (group.length > 1) cycles.push(group.sort());
  };
  for (const file of targets.keys()) if (!order.has(file)) visit(file);
  return cycles;
}

function show(cycle: readonly string[]): string {
  return cycle.join(", ");
}
