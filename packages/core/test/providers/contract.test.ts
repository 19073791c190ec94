// The bundled providers pass the tests of the provider contract.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { createByteroverProvider } from "../../src/providers/bundled/byterover/provider.ts";
import { createHolographicProvider } from "../../src/providers/bundled/holographic/provider.ts";
import { createMem0Provider } from "../../src/providers/bundled/mem0/provider.ts";
import { memoryProviderContract } from "../../testing/index.ts";
import type { ServerControls } from "../../testing/memory-provider.ts";
import { installBrv } from "../fakes/brv.ts";
import type { FakeServer } from "../fakes/servers/fake-server.ts";
import { FakeMem0 } from "../fakes/servers/mem0.ts";

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

// One server for all homes: each home has a user and an agent of its own.
for (const edition of ["platform", "oss"] as const) {
  const mem0 = await new FakeMem0({ edition }).start();
  afterAll(() => mem0.stop());
  const key = "m0-contractkey0123456789";
  mem0.requireAuth(key);

  memoryProviderContract({ describe, it, expect }, `mem0 (${edition})`, {
    create: (home) => {
      const settings = join(home, "mem0.json");
      // A tool waits as long as `timeout` for a server that hangs; the tests call several.
      if (home !== "." && !existsSync(settings))
        writeFileSync(settings, JSON.stringify({ api: edition, timeout: 3 }));
      const name = basename(home);
      const ids = { MEM0_USER_ID: `user-${name}`, MEM0_AGENT_ID: `agent-${name}` };
      return createMem0Provider({ home, env: { MEM0_HOST: mem0.url, MEM0_API_KEY: key, ...ids } });
    },
    stored: (home) =>
      mem0.table
        .all()
        .map(({ memory, user_id, agent_id }) => ({ memory, user_id, agent_id }))
        .filter((memory) => JSON.stringify(memory).includes(basename(home))),
    turns: (home) =>
      mem0
        .memories(`user-${basename(home)}`)
        .map(({ memory }) => memory)
        .filter((memory) => !memory.startsWith("Noted")),
    server: () => controlsOf(mem0, key),
  });
}

/** Trouble that lasts, made of trouble for more requests than a test makes. */
const ALWAYS = 1_000;

function controlsOf(fake: FakeServer, key: string): ServerControls {
  const port = Number(new URL(fake.url).port);
  let isStopped = false;
  return {
    stop: async () => {
      isStopped = true;
      await fake.stop();
    },
    start: async () => {
      if (isStopped) await fake.start(port);
      isStopped = false;
    },
    hang: () => fake.hang(),
    fail: (status, body, headers) => fake.fail(status, body, headers),
    answer: (raw, type) => fake.replyNext(ALWAYS, { status: 200, raw, headers: { "content-type": type } }),
    cutAnswers: () => fake.halfAnswerNext(ALWAYS),
    revokeKey: () => fake.requireAuth(`${key}-new`),
    recover: () => {
      fake.recover();
      fake.requireAuth(key);
    },
    resend: () => {}, // PLACEHOLDER: `retryDead(home, {})` when branch `outbox` is merged
    requests: () => fake.requests.length,
  };
}
