// The bundled providers pass the tests of the provider contract.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { createByteroverProvider } from "../../src/providers/bundled/byterover/provider.ts";
import { createHolographicProvider } from "../../src/providers/bundled/holographic/provider.ts";
import { createHonchoProvider } from "../../src/providers/bundled/honcho/provider.ts";
import { memoryProviderContract } from "../../testing/index.ts";
import { installBrv } from "../fakes/brv.ts";
import { FakeHoncho } from "../fakes/servers/honcho.ts";

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

// Each home has its own server. `create` is synchronous, so the servers are started before the tests are registered.
const honchos = await Promise.all(Array.from({ length: 80 }, () => new FakeHoncho().start()));
const honchoOf = new Map<string, FakeHoncho>();
afterAll(() => Promise.all(honchos.map((server) => server.stop())));

memoryProviderContract({ describe, it, expect }, "honcho", {
  create: (home) => {
    const server = honchoOf.get(home) ?? honchos[honchoOf.size];
    if (server === undefined) throw new Error("There are more homes than servers.");
    honchoOf.set(home, server);
    server.chatAnswer = null; // the model's answers depend on no words of the query; they have tests of their own
    const env = { HONCHO_BASE_URL: server.url };
    return createHonchoProvider({ home, env, cwd: "/projects/kiln", userHome: join(home, "nobody") });
  },
  // Sessions and peers are names; memories are what is in them.
  stored: (home) => {
    const server = honchoOf.get(home);
    const sessions = server?.sessionsOf("hermes") ?? [];
    const peers = server?.peersOf("hermes") ?? [];
    return {
      messages: sessions.flatMap((id) => server?.messagesOf("hermes", id).map(({ content }) => content)),
      conclusions: peers.flatMap((one) =>
        peers.flatMap((other) => server?.conclusionsOf("hermes", one, other).map(({ content }) => content)),
      ),
      cards: peers.flatMap((one) => peers.flatMap((other) => server?.cardOf("hermes", one, other) ?? [])),
    };
  },
});
