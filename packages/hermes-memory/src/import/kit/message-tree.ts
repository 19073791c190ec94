// Which records of a branched conversation lead to its last message.

/** Ids from the leaf to its root. A loop ends where it closes. */
export function pathTo(leaf: string, parents: ReadonlyMap<string, string | undefined>): ReadonlySet<string> {
  const path = new Set<string>();
  for (let at: string | undefined = leaf; at !== undefined && !path.has(at); at = parents.get(at))
    path.add(at);
  return path;
}
