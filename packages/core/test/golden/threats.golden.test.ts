// Threat findings of the Python reference.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkOp } from "../../src/curated/entries.ts";
import { pyStrip } from "../../src/lib/index.ts";
import { scanThreats, threatMessage } from "../../src/security/index.ts";
import { goldenDirectory } from "./vectors.ts";

type Vector = {
  readonly id: string;
  readonly text: string;
  readonly ids_by_scope: Readonly<Record<"all" | "context" | "strict", readonly string[]>>;
  readonly blocked_at_write: boolean;
  readonly message_names: readonly string[] | null;
  readonly differs?: string | null;
};

const file = join(goldenDirectory, "threats.jsonl");
const vectors = existsSync(file) ? parseLines(readFileSync(file, "utf8")) : [];

const FILE = { entries: [], limit: 2_200 };

describe("golden threat vectors", () => {
  if (vectors.length === 0) it.skip("skipped: the folder that HERMES_GOLDEN names has no threats.jsonl");

  for (const vector of vectors)
    it.skipIf(vector.differs)(vector.id, () => {
      for (const scope of ["all", "context", "strict"] as const)
        expect(scanThreats(vector.text, scope).map((finding) => finding.id)).toEqual(
          vector.ids_by_scope[scope],
        );
      const [written] = scanThreats(pyStrip(vector.text), "strict");
      expect(written !== undefined).toBe(vector.blocked_at_write);
      // A write passes the second gate too, which the reference does not have.
      const stored = checkOp({ action: "add", content: vector.text }, { allow: [] }, FILE);
      const refusal = !stored.ok && stored.error.kind === "blocked" ? stored.error.ids : [];
      if (vector.blocked_at_write) expect(refusal).toEqual(vector.ids_by_scope.strict);
      else expect(refusal.filter((id) => !/^(?:secret|disguised|hidden)_/.test(id))).toEqual([]);
      const [first] = scanThreats(vector.text, "strict");
      if (vector.message_names === null) expect(first).toBeUndefined();
      else
        expect(vector.message_names.some((name) => first && threatMessage(first).includes(name))).toBe(true);
    });
});

function parseLines(text: string): Vector[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Vector);
}
