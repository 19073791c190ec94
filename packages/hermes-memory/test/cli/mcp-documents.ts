// Documents of other programs as people write them: any values, in any layout.
import fc from "fast-check";

export type Layout = {
  /** Between any two tokens, in turn. */
  readonly gaps: readonly string[];
  readonly hasMark: boolean;
  readonly hasTrailingComma: boolean;
};

export function layout(gaps: readonly string[]): fc.Arbitrary<Layout> {
  return fc.record({
    gaps: fc.array(fc.constantFrom(...gaps), { minLength: 1, maxLength: 12 }),
    hasMark: fc.boolean(),
    hasTrailingComma: fc.boolean(),
  });
}

/** JSON, or JSON with comments, depending on the gaps. */
export function written(value: unknown, { gaps, hasMark, hasTrailingComma }: Layout): string {
  let turn = 0;
  const gap = (): string => gaps[turn++ % gaps.length] ?? "";
  const list = (open: string, items: readonly string[], close: string): string => {
    const comma = hasTrailingComma && items.length > 0 ? `,${gap()}` : "";
    return `${open}${gap()}${items.join(`${gap()},${gap()}`)}${gap()}${comma}${close}`;
  };
  const write = (each: unknown): string => {
    if (Array.isArray(each)) return list("[", each.map(write), "]");
    if (typeof each !== "object" || each === null) return JSON.stringify(each) ?? "null";
    const members = Object.entries(each).map(
      ([key, member]) => `${JSON.stringify(key)}${gap()}:${gap()}${write(member)}`,
    );
    return list("{", members, "}");
  };
  return `${hasMark ? "\ufeff" : ""}${gap()}${write(value)}${gap()}`;
}
