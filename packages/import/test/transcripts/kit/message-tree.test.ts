// The order of branched conversations and their active path.
import fc from "fast-check";
import { expect, it } from "vitest";
import { branched, type TreeNode } from "../../../src/transcripts/kit/message-tree.ts";

const node = (id: string, parent?: string, at?: number): TreeNode => ({ id, parent, at });
const ids = (nodes: readonly TreeNode[]): string => nodes.map(({ id }) => id).join(" ");

it("orders by time, each message after its parent, and ends at the newest leaf", () => {
  const { nodes, active } = branched(
    [node("b2", "b1", 9), node("b1", "a", 3), node("c", "a", 5), node("a", undefined, 1)],
    undefined,
  );
  expect(ids(nodes)).toBe("a b1 c b2");
  expect([...active]).toEqual(["b2", "b1", "a"]);
});

it("takes the leaf it is told, unless there is no such message", () => {
  const nodes = [node("a", undefined, 1), node("b", "a", 2), node("c", "a", 3)];
  expect([...branched(nodes, "b").active]).toEqual(["b", "a"]);
  expect([...branched(nodes, "gone").active]).toEqual(["c", "a"]);
  expect(branched([], "gone")).toEqual({ nodes: [], active: new Set() });
});

it("counts a message without time, or with one before its parent's, as written with its parent", () => {
  const nodes = [node("c", "b", 2), node("b", "a"), node("a", undefined, 5), node("other", undefined, 4)];
  expect(ids(branched(nodes, undefined).nodes)).toBe("other a b c");
});

it("ends loops and survives a conversation of 50,000 messages", () => {
  const loop = branched([node("x", "y", 1), node("y", "x", 2), node("self", "self", 3)], undefined);
  expect(ids(loop.nodes)).toBe("x y self");
  const long = Array.from({ length: 50_000 }, (_, at) => node(`${at}`, at === 0 ? undefined : `${at - 1}`));
  expect(branched(long.toReversed(), undefined).active.size).toBe(50_000);
});

it("never puts a message before its parent", () => {
  const tree = fc
    .array(fc.record({ up: fc.nat(), at: fc.option(fc.nat(20), { nil: undefined }) }), { maxLength: 30 })
    .map((list) =>
      list.map(({ up, at }, place) => node(`${place}`, place === 0 ? undefined : `${up % place}`, at)),
    );
  fc.assert(
    fc.property(
      tree.chain((nodes) => fc.shuffledSubarray(nodes, { minLength: nodes.length })),
      (nodes) => {
        const order = branched(nodes, undefined).nodes;
        const places = new Map(order.map(({ id }, place) => [id, place]));
        for (const { id, parent } of order)
          if (parent !== undefined) expect(places.get(parent)).toBeLessThan(places.get(id) ?? -1);
      },
    ),
  );
});
