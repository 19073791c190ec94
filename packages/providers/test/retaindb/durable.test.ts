// What needs the outbox on disk: a batch keeps its key, and two processes share one file.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { FakeRetainDb } from "../fakes/servers/retaindb.ts";
import { KEY, projectOf } from "./harness.ts";

async function place() {
  const home = mkdtempSync(join(tmpdir(), "hermes-retaindb-"));
  const fake = await new FakeRetainDb().start();
  onTestFinished(async () => {
    await fake.stop();
    rmSync(home, { recursive: true, force: true });
  });
  fake.requireAuth(KEY);
  const said = () =>
    fake
      .messagesOf(projectOf(home), "s1")
      .filter(({ role }) => role === "user")
      .map(({ content }) => content);
  return { home, fake, said };
}

const PROCESS = `
  const [home, moduleUrl] = process.argv.slice(1);
  const { createRetainDbProvider } = await import(moduleUrl);
  const provider = createRetainDbProvider({ home, env: process.env });
  provider.initialize("s1", { hermes_home: home });
  await new Promise((resolve) => setTimeout(resolve, 300));
  await provider.onSessionEnd([], {});
  await provider.shutdown({});
`;

it("two processes that find the same rows of the Python edition send each once, in order", async () => {
  const { home, fake, said } = await place();
  const texts = Array.from({ length: 120 }, (_, index) => `turn ${index}`);
  {
    using db = new DatabaseSync(join(home, "retaindb_queue.db"));
    db.exec(
      "CREATE TABLE pending (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT, session_id TEXT, messages_json TEXT, created_at TEXT, last_error TEXT)",
    );
    const insert = db.prepare(
      "INSERT INTO pending (user_id, session_id, messages_json, created_at) VALUES ('default', 's1', ?, ?)",
    );
    for (const content of texts)
      insert.run(JSON.stringify([{ role: "user", content }]), "2026-01-02T03:04:05.678901+00:00");
  }
  const moduleUrl = new URL("../../src/retaindb/provider.ts", import.meta.url).href;
  const env = {
    ...process.env,
    RETAINDB_API_KEY: KEY,
    RETAINDB_BASE_URL: fake.url,
    RETAINDB_PROJECT: projectOf(home),
  };
  const run = () =>
    promisify(execFile)(process.execPath, ["--input-type=module", "-e", PROCESS, home, moduleUrl], { env });
  await Promise.all([run(), run()]);
  if (said().length < texts.length) await run(); // what was left at the end of both
  expect(said()).toEqual(texts);
  using db = new DatabaseSync(join(home, "retaindb_queue.db"), { readOnly: true });
  expect(db.prepare("SELECT count(*) AS rows FROM pending").get()).toEqual({ rows: 0 });
}, 60_000);
