// Branched conversations: the order of their messages, and which of them lead to the last one.

/** Ids from the leaf to its root. A loop ends where it closes. */
export function pathTo(leaf: string, parents: ReadonlyMap<string, string | undefined>): ReadonlySet<string> {
  const path = new Set<string>();
  for (let at: string | undefined = leaf; at !== undefined && !path.has(at); at = parents.get(at))
    path.add(at);
  return path;
}

export type TreeNode = {
  readonly id: string;
  readonly parent: string | undefined;
  /** Seconds since 1970, where known. */
  readonly at: number | undefined;
};

export type BranchedNodes<N> = {
  /** In the order in which they were written, each after its parent. */
  readonly nodes: readonly N[];
  readonly active: ReadonlySet<string>;
};

/**
 * Orders the nodes and finds the active path: to `leaf`, or if there is no such node, to the newest one without children. A node without
 * a time, or with one before its parent's, counts as written with its parent.
 */
export function branched<N extends TreeNode>(
  nodes: readonly N[],
  leaf: string | undefined,
): BranchedNodes<N> {
  const parents = new Map(nodes.map(({ id, parent }) => [id, parent]));
  const places = placesOf(nodes);
  const ordered = nodes.toSorted((a, b) => {
    const [one, other] = [places.get(a.id), places.get(b.id)];
    return (one?.at ?? 0) - (other?.at ?? 0) || (one?.depth ?? 0) - (other?.depth ?? 0);
  });
  const withChildren = new Set(parents.values());
  const newest = ordered.findLast(({ id }) => !withChildren.has(id)) ?? ordered.at(-1);
  const end = leaf !== undefined && parents.has(leaf) ? leaf : newest?.id;
  return { nodes: ordered, active: end === undefined ? new Set() : pathTo(end, parents) };
}

type PlaceInTree = { readonly at: number; readonly depth: number };

/** Without recursion: a conversation can be thousands of messages deep. */
function placesOf(nodes: readonly TreeNode[]): ReadonlyMap<string, PlaceInTree> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const places = new Map<string, PlaceInTree>();
  for (const node of nodes) {
    const chain = new Map<string, TreeNode>();
    let above: TreeNode | undefined = node;
    while (above !== undefined && !places.has(above.id) && !chain.has(above.id)) {
      chain.set(above.id, above);
      above = above.parent === undefined ? undefined : byId.get(above.parent);
    }
    const isLoop = above !== undefined && chain.has(above.id); // no order but that of the times
    let place = (above && places.get(above.id)) ?? { at: 0, depth: 0 };
    for (const { id, at } of [...chain.values()].reverse()) {
      place = isLoop
        ? { at: at ?? 0, depth: 0 }
        : { at: Math.max(place.at, at ?? 0), depth: place.depth + 1 };
      places.set(id, place);
    }
  }
  return places;
}
