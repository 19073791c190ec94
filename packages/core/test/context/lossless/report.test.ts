// The outcome and the notices made from a compaction, without a database.
import { describe, expect, it } from "vitest";
import { noticesOf, type Refusal, toOutcome } from "../../../src/context/lossless/report.ts";
import { HermesError } from "../../../src/lib/index.ts";
import { alternating, frozen } from "../../../testing/context-engine/lists.ts";

const WINDOW = { tokens: 100_000, factor: 2 };
const list = frozen(alternating(6, 40));
const locked = new HermesError("db-locked", "Another process has the lock.", { hint: "Close it." });
const causes = (...args: Parameters<typeof noticesOf>) => noticesOf(...args).map((notice) => notice?.cause);

describe("a list that is not compacted", () => {
  it("is aborted when the user declined excerpts or the store failed, but not when it is read-only", () => {
    const failure = { kind: "timeout", message: "No summary within 120 s." } as const;
    expect(toOutcome(list, { kind: "declined", failure }, [])).toMatchObject({
      kind: "aborted",
      reason: "summary_failed",
      failure,
    });
    const refused = (cause: Refusal["cause"]) => toOutcome(list, { kind: "refused", cause }, []);
    expect(refused(locked)).toMatchObject({ kind: "aborted", reason: "not_stored" });
    expect(refused("read_only")).toMatchObject({ kind: "unchanged", reason: "not_stored" });
  });
});

it("each cause has its own notice, and sizes are in the server's tokens", () => {
  expect(causes({ kind: "refused", cause: "read_only" }, WINDOW, "kept")).toEqual(["lcm_read_only"]);
  expect(noticesOf({ kind: "refused", cause: locked }, WINDOW, "kept")).toEqual([
    {
      cause: "lcm_store_failed:db-locked",
      text: "The conversation was not compacted, because its summaries could not be stored: Another process has the lock. Close it.",
    },
  ]);
  const unstored = (count: number) =>
    causes({ kind: "unchanged", reason: "not_stored", unstored: count }, WINDOW, "kept");
  expect([unstored(0), unstored(2)]).toEqual([["lcm_conflict"], ["lcm_not_stored"]]);
  const tooLarge = { role: "tool", tokens: 80_000 };
  const [notice] = noticesOf(
    { kind: "unchanged", reason: "message_too_large", unstored: 0, tooLarge },
    WINDOW,
    "kept",
  );
  expect(notice?.text).toContain("One tool message has about 160,000 tokens");
});
