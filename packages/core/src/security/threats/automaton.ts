// Turns a shape into a nondeterministic automaton: a list of nodes that refer to each other by index.
import { type ClassSet, including, literalClass } from "./alphabet.ts";
import type { Shape } from "./shape.ts";

type AutomatonNode =
  | { readonly kind: "read"; readonly set: ClassSet; readonly next: number }
  | { readonly kind: "boundary"; readonly next: number }
  | { readonly kind: "fork"; readonly nexts: number[] }
  | { readonly kind: "match" };

export type Automaton = { readonly nodes: readonly AutomatonNode[]; readonly entry: number };

export function buildAutomaton(shape: Shape): Automaton {
  const nodes: AutomatonNode[] = [{ kind: "match" }];
  return { entry: emit(nodes, shape, 0), nodes };
}

/** All nodes reachable without reading, forks resolved, in ascending order. Boundaries are crossed only when told so. */
export function closure(automaton: Automaton, from: readonly number[], crossesBoundary: boolean): number[] {
  const visited = new Set<number>();
  const open = [...from];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (visited.has(id)) continue;
    visited.add(id);
    const node = automaton.nodes[id];
    if (node?.kind === "fork") open.push(...node.nexts);
    if (node?.kind === "boundary" && crossesBoundary) open.push(node.next);
  }
  return [...visited].filter((id) => automaton.nodes[id]?.kind !== "fork").sort((a, b) => a - b);
}

// Built from the back: each part is told the node that follows it and answers with the node it starts at.
function emit(nodes: AutomatonNode[], shape: Shape, next: number): number {
  switch (shape.kind) {
    case "literal":
      return Array.from(shape.text).reduceRight(
        (following, character) => read(nodes, including([literalClass(character)]), following),
        next,
      );
    case "set":
      return read(nodes, shape.set, next);
    case "boundary":
      return nodes.push({ kind: "boundary", next }) - 1;
    case "sequence":
      return shape.parts.reduceRight((following, part) => emit(nodes, part, following), next);
    case "choice":
      return (
        nodes.push({ kind: "fork", nexts: shape.options.map((option) => emit(nodes, option, next)) }) - 1
      );
    case "repeat":
      return emitRepeat(nodes, shape, next);
    default:
      return shape satisfies never;
  }
}

function emitRepeat(nodes: AutomatonNode[], shape: Shape & { kind: "repeat" }, next: number): number {
  let entry = next;
  if (shape.most === Number.POSITIVE_INFINITY) {
    const nexts = [next];
    entry = nodes.push({ kind: "fork", nexts }) - 1;
    nexts.push(emit(nodes, shape.part, entry));
  } else {
    // `next` itself is the way out of every optional round, so that x{0,3} does not nest three deep.
    for (let round = shape.least; round < shape.most; round += 1)
      entry = nodes.push({ kind: "fork", nexts: [next, emit(nodes, shape.part, entry)] }) - 1;
  }
  for (let round = 0; round < shape.least; round += 1) entry = emit(nodes, shape.part, entry);
  return entry;
}

function read(nodes: AutomatonNode[], set: ClassSet, next: number): number {
  return nodes.push({ kind: "read", set, next }) - 1;
}
