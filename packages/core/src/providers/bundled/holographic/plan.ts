// A question to the vectors, and how it is answered.

export type VectorRequest = {
  readonly category: string | undefined;
  readonly limit: number;
} & (
  | { readonly kind: "probe" | "related"; readonly entity: string }
  | { readonly kind: "reason"; readonly entities: readonly string[] }
);

/** How a request is answered: a fact's similarity is the best of one subject's keys, and the least over all subjects. */
export type Plan = {
  readonly subjects: readonly (readonly Float64Array[])[];
  /** Facts are measured without their own content. */
  readonly withoutContent: boolean;
  /** Tier of each fact that comes into question: lower ones come first, whatever the scores. Undefined: all facts, one tier. */
  readonly tiers: ReadonlyMap<number, number> | undefined;
};
