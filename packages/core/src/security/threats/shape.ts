// A parsed pattern: what notation.ts produces and automaton.ts compiles, with the two questions asked about it.
import type { ClassSet } from "./alphabet.ts";

export type Shape =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "set"; readonly set: ClassSet }
  | { readonly kind: "boundary" }
  | { readonly kind: "sequence"; readonly parts: readonly Shape[] }
  | { readonly kind: "choice"; readonly options: readonly Shape[] }
  | { readonly kind: "repeat"; readonly part: Shape; readonly least: number; readonly most: number };

/** The same pattern read from right to left, for finding where a match starts once its end is known. */
export function reversed(shape: Shape): Shape {
  switch (shape.kind) {
    case "literal":
      return { kind: "literal", text: Array.from(shape.text).reverse().join("") };
    case "sequence":
      return { kind: "sequence", parts: shape.parts.map(reversed).reverse() };
    case "choice":
      return { kind: "choice", options: shape.options.map(reversed) };
    case "repeat":
      return { ...shape, part: reversed(shape.part) };
    case "set":
    case "boundary":
      return shape;
    default:
      return shape satisfies never;
  }
}

/** Shorter literals are in nearly every text, so asking for them saves nothing. */
const TELLING_LENGTH = 3;

/**
 * What a text must contain for the pattern to match: at least one literal of every group. The first group is special:
 * every match begins with one of its literals, so the search may start at the first of them.
 */
export function requiredLiterals(shape: Shape): readonly (readonly string[])[] {
  const parts = (shape.kind === "sequence" ? shape.parts : [shape]).filter(
    (part) => part.kind !== "boundary",
  );
  const [opening, ...others] = parts.map(leadingLiterals);
  if (opening === undefined || opening.length === 0)
    throw new Error("A pattern has to begin with a literal.");
  const telling = others.filter(
    (group) => group.length > 0 && group.every((literal) => literal.length >= TELLING_LENGTH),
  );
  return [opening, ...telling];
}

/** The literals a shape can begin with; none when it can begin with anything else. */
function leadingLiterals(shape: Shape): readonly string[] {
  switch (shape.kind) {
    case "literal":
      return [shape.text];
    case "sequence":
      return shape.parts[0] === undefined ? [] : leadingLiterals(shape.parts[0]);
    case "choice": {
      const groups = shape.options.map(leadingLiterals);
      return groups.some((group) => group.length === 0) ? [] : groups.flat();
    }
    default:
      return [];
  }
}
