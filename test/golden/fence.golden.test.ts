// Sanitised texts of the Python original, from golden vectors outside the repository.
import { describe, expect, it } from "vitest";
import { sanitizeContext } from "../../src/security/index.ts";
import { readVectors } from "./vectors.ts";

type Vector = {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly input: string;
  readonly output: string;
  readonly differs?: string | null;
};

const vectors = readVectors<Vector>("fence.jsonl")?.filter((vector) => vector.kind === "sanitize");

describe.skipIf(vectors === undefined)("recall fence vectors", () => {
  it.each(vectors ?? [])("$id: $title", ({ input, output, differs }) => {
    const clean = sanitizeContext(input);
    // Where one pass of the original leaves something, ours goes on.
    if (differs === "not_fixed_point") expect(clean).not.toBe(output);
    else expect(clean).toBe(output);
    expect(sanitizeContext(clean)).toBe(clean);
  });
});
