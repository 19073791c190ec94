// The pages of lcm_expand, without a database.
import fc from "fast-check";
import { expect, it } from "vitest";
import { type PageRequest, pageOf, type Source } from "../../../src/context/lossless/tools/expand.ts";

const source = (text: string): Source => ({
  record: { role: "user", content: text },
  long: ["content"],
  text,
  format: "text",
});
const REQUEST: PageRequest = { maxTokens: 40, sourceOffset: 0, sourceLimit: 1_000, contentOffset: 0 };

it("a caller that follows the offsets reads every text exactly once, whatever fits one page", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ maxLength: 400, unit: "binary" }), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 120 }),
      (texts, maxTokens) => {
        const read = texts.map(() => "");
        let request: PageRequest | undefined = { ...REQUEST, maxTokens };
        for (let pages = 0; request !== undefined; pages += 1) {
          expect(pages).toBeLessThan(5_000);
          const page = pageOf(texts.map(source), request);
          for (const [at, { content }] of page.sources.entries())
            read[request.sourceOffset + at] += String(content);
          const { next_source_offset: sourceOffset, next_content_offset: contentOffset = 0 } = page;
          request = sourceOffset === undefined ? undefined : { ...request, sourceOffset, contentOffset };
        }
        expect(read).toEqual(texts);
      },
    ),
  );
});
