// Sanitised texts and fenced blocks of the Python original, from golden vectors outside the repository.
import { describe, expect, it } from "vitest";
import { buildMemoryContextBlock, StreamingContextScrubber } from "../../src/providers/fence/recall-fence.ts";
import { sanitizeContext } from "../../src/security/index.ts";
import { readVectors } from "./vectors.ts";

type Named = { readonly id: string; readonly title: string; readonly differs?: string | null };

type Sanitize = Named & { readonly kind: "sanitize"; readonly input: string; readonly output: string };

type Build = Named & { readonly kind: "build"; readonly input: string; readonly expect: ExpectedBlock };

type ExpectedBlock =
  | { readonly empty: true }
  | {
      readonly empty: false;
      readonly starts_with: string;
      readonly body: string;
      readonly ends_with: string;
      readonly open_tags: number;
      readonly close_tags: number;
    };

type Roundtrip = Named & {
  readonly kind: "roundtrip";
  readonly prefix: string;
  readonly inner: string;
  readonly suffix: string;
  readonly sanitized: string;
  readonly scrub_unchanged: boolean;
  readonly scrubbed: string | null;
  readonly scrub_flush: string;
};

const vectors = readVectors<Sanitize | Build | Roundtrip>("fence.jsonl");

describe.skipIf(vectors === undefined)("recall fence vectors", () => {
  it.each(vectors?.filter((vector) => vector.kind === "sanitize") ?? [])(
    "$id: $title",
    ({ input, output, differs }) => {
      const clean = sanitizeContext(input);
      // Where one pass of the original leaves something, ours goes on.
      if (differs === "not_fixed_point") expect(clean).not.toBe(output);
      else expect(clean).toBe(output);
      expect(sanitizeContext(clean)).toBe(clean);
    },
  );

  it.each(vectors?.filter((vector) => vector.kind === "build") ?? [])(
    "$id: $title",
    ({ input, expect: expected, differs }) => {
      const block = buildMemoryContextBlock(input);
      // The original puts a block around nothing.
      if (expected.empty || differs === "empty_body") {
        expect(block).toBe("");
        return;
      }
      const [, note = "", blank, ...body] = block.split("\n");
      expect(block.startsWith(expected.starts_with)).toBe(true);
      expect(note.endsWith("]")).toBe(true);
      expect(blank).toBe("");
      expect(body.join("\n")).toBe(expected.body + expected.ends_with);
      expect(block.split("<memory-context>")).toHaveLength(expected.open_tags + 1);
      expect(block.split("</memory-context>")).toHaveLength(expected.close_tags + 1);
    },
  );

  it.each(vectors?.filter((vector) => vector.kind === "roundtrip") ?? [])(
    "$id: $title",
    ({ prefix, inner, suffix, sanitized, scrub_unchanged, scrubbed, scrub_flush }) => {
      const text = prefix + buildMemoryContextBlock(inner) + suffix;
      expect(sanitizeContext(text)).toBe(sanitized);
      const scrubber = new StreamingContextScrubber();
      expect(scrubber.feed(text)).toBe(scrub_unchanged ? text : scrubbed);
      expect(scrubber.flush()).toBe(scrub_flush);
    },
  );
});
