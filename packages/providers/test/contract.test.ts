// The bundled providers pass the tests of the provider contract.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { memoryProviderContract } from "../../core/testing/index.ts";
import { createByteroverProvider } from "../src/byterover/provider.ts";
import { createHolographicProvider } from "../src/holographic/provider.ts";
import { installBrv } from "./fakes/brv.ts";

memoryProviderContract({ describe, it, expect }, "holographic", {
  create: () => createHolographicProvider(),
  stored: (home) => {
    using db = new DatabaseSync(join(home, "memory_store.db"), { readOnly: true });
    return [
      "SELECT content, category, tags, trust_score, helpful_count FROM facts ORDER BY fact_id",
      "SELECT name, aliases FROM entities ORDER BY entity_id",
      "SELECT count(*) AS links FROM fact_entities",
      "SELECT bank_name, fact_count FROM memory_banks ORDER BY bank_name",
    ].map((sql) => db.prepare(sql).all());
  },
  moreSettings: ["max_chars"],
});

// The suite also creates a provider while it registers its tests, so the scripted `brv` cannot be in a directory of one test.
const programs = mkdtempSync(join(tmpdir(), "hermes-test-"));
afterAll(() => rmSync(programs, { recursive: true, force: true }));

memoryProviderContract({ describe, it, expect }, "byterover", {
  create: () => {
    const { env, userHome } = installBrv({}, mkdtempSync(join(programs, "brv-")));
    return createByteroverProvider({ env, userHome });
  },
  stored: (home) => {
    const tree = join(home, "byterover", ".brv", "context-tree");
    const notes = existsSync(tree) ? readdirSync(tree).sort() : [];
    return notes.map((name) => readFileSync(join(tree, name), "utf8"));
  },
  cannotForget: "brv has no command that takes a note out again",
});
