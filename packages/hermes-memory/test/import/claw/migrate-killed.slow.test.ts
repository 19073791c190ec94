// A migration that is killed at any moment: running the command again ends in the state of one undisturbed run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { NODE_COMPILE_CACHE } from "../../../../core/test/fakes/compile-cache.ts";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import { makeSource, treeOf } from "../../../../import/test/openclaw/source-folder.ts";
import { runHere } from "../../cli/run.ts";

const MAIN = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));
const WORDS = ["claw", "migrate", "--yes", "--migrate-secrets"];

function place(): string {
  const userHome = tempDirectory();
  makeSource(userHome);
  return userHome;
}

/** Without what differs between any two runs: names of run folders, journals, reports, locks, snapshots. */
function essence(userHome: string): Record<string, string> {
  const kept = Object.entries(treeOf(join(userHome, ".hermes"))).filter(
    ([name]) =>
      !/\.lock$|\.history\/|^backups\/|\/backups\/|^logs\/|report\.json$|(?:config\.yaml|\.env|\.skills_prompt_snapshot\.json)\.\w+\.tmp$|\.md\.bak|(?:summary|MIGRATION_NOTES)\.md$/.test(
        name,
      ),
  );
  return Object.fromEntries(
    kept
      .filter(([name]) => !name.startsWith("state.db"))
      .map(([name, hash]) => [name.replace(/openclaw\/\d{8}T\d{6}(-\d+)?/, "openclaw/RUN"), hash])
      .concat([["conversations", conversationsIn(join(userHome, ".hermes", "state.db"))]]),
  );
}

/** The bytes of a database differ between any two runs. */
function conversationsIn(path: string): string {
  using database = new DatabaseSync(path, { readOnly: true });
  const rows = database
    .prepare(
      "SELECT s.id, s.title, m.role, m.content, m.timestamp, m.active FROM sessions s JOIN messages m ON m.session_id = s.id ORDER BY m.session_id, m.id",
    )
    .all();
  return JSON.stringify(rows);
}

/** SQLite makes these beside a database that is open. */
function withoutDatabaseLog(tree: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(tree).filter(([name]) => !/^state\.db-(?:wal|shm)$/.test(name)));
}

/** Starts the command and kills it after so many milliseconds, counted from the first thing it writes. */
async function killed(userHome: string, afterMs: number): Promise<boolean> {
  const home = join(userHome, ".hermes");
  const child = spawn(process.execPath, [MAIN, ...WORDS], {
    env: { PATH: process.env.PATH, HOME: userHome, HERMES_HOME: home, NODE_COMPILE_CACHE },
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  while (!existsSync(home) && child.exitCode === null) await sleep(1);
  await sleep(afterMs);
  child.kill("SIGKILL");
  const [code] = await ended;
  return code === null;
}

describe("a killed migration", () => {
  it("is continued by the next run, wherever it was killed", async () => {
    const reference = place();
    await runHere(WORDS, { home: join(reference, ".hermes"), env: { HOME: reference } });
    const wanted = essence(reference);
    let kills = 0;
    for (const afterMs of [0, 1, 2, 4, 6, 9, 12, 16, 20, 25, 30, 40, 50, 65, 80, 100, 130, 170]) {
      const userHome = place();
      const home = join(userHome, ".hermes");
      if (await killed(userHome, afterMs)) kills += 1;
      if (await killed(userHome, Math.floor(afterMs / 2))) kills += 1;
      const last = await runHere(WORDS, { home, env: { HOME: userHome } });
      expect(last, `${afterMs} ms: ${last.stdout}${last.stderr}`).toMatchObject({ code: 0 });
      expect(essence(userHome), `${afterMs} ms`).toEqual(wanted);
      const after = withoutDatabaseLog(treeOf(home));
      await runHere(WORDS, { home, env: { HOME: userHome } });
      expect(withoutDatabaseLog(treeOf(home)), `${afterMs} ms, once more`).toEqual(after);
      expect(readFileSync(join(home, "memories/MEMORY.md"), "utf8").split("heron")).toHaveLength(2);
    }
    expect(kills).toBeGreaterThan(5);
  }, 240_000);
});
