// Groups of files in an import graph that reach each other.

type Edge = { readonly from: string; readonly to: string };

/** Groups of two or more files that import each other, directly or through others; the largest first. */
export function findCycles(files: readonly string[], edges: readonly Edge[]): string[][] {
  const targets = Map.groupBy(edges, ({ from }) => from);
  // Tarjan's algorithm: a file is the root of its group when nothing below it reaches further up the stack than itself.
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const isOnStack = new Set<string>();
  const cycles: string[][] = [];
  const visit = (file: string): void => {
    const number = order.size;
    order.set(file, number);
    lowest.set(file, number);
    stack.push(file);
    isOnStack.add(file);
    for (const { to } of targets.get(file) ?? []) {
      if (!order.has(to)) visit(to);
      if (isOnStack.has(to)) lowest.set(file, Math.min(lowest.get(file) ?? 0, lowest.get(to) ?? 0));
    }
    if (lowest.get(file) !== number) return;
    const group = stack.splice(stack.indexOf(file));
    for (const member of group) isOnStack.delete(member);
    if (group.length > 1) cycles.push(group.sort());
  };
  for (const file of files) if (!order.has(file)) visit(file);
  return cycles.sort((a, b) => b.length - a.length);
}
