// The bundled providers, held against what every provider promises.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createByteroverProvider } from "../../src/providers/bundled/byterover/index.ts";
import { createHolographicProvider } from "../../src/providers/bundled/holographic/index.ts";
import { memoryProviderContract } from "../../testing/memory-provider.ts";
import { installBrv } from "../fakes/brv.ts";

memoryProviderContract("holographic", {
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

memoryProviderContract("byterover", {
  create: () => {
    const { env, userHome } = installBrv();
    return createByteroverProvider({ env, userHome });
  },
  stored: (home) => {
    const tree = join(home, "byterover", ".brv", "context-tree");
    const notes = existsSync(tree) ? readdirSync(tree).sort() : [];
    return notes.map((name) => readFileSync(join(tree, name), "utf8"));
  },
  cannotForget: "brv has no command that takes a note out again",
});
