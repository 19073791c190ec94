// `hermes memory upload` for every provider that can say what it has, against its fake.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { FAKE_SERVICES } from "../../../providers/test/fakes/servers/services.ts";
import { type RunOutcome, runHermes } from "./run.ts";

const KEY = "k-0f3a9d8e7c6b5a41";

const SETTINGS: Readonly<Record<string, (url: string) => readonly string[]>> = {
  honcho: (url) => [`baseUrl=${url}`, `apiKey=${KEY}`],
  mem0: (url) => [`host=${url}`, `api_key=${KEY}`],
  hindsight: (url) => ["mode=local_external", `api_url=${url}`, `api_key=${KEY}`],
  supermemory: (url) => [`base_url=${url}`, `api_key=${KEY}`],
  openviking: (url) => [`endpoint=${url}`, `api_key=${KEY}`],
  retaindb: (url) => [`base_url=${url}`, `api_key=${KEY}`, "project=default"],
};

const LONG = "The kiln is fired at 1240 degrees in winter";
const PART = "The kiln is fired at 1240 degrees";
const USER = "Prefers short answers about glazes";

type Report = {
  readonly success: boolean;
  readonly copied: number;
  readonly present: number;
  readonly waiting: number;
  readonly missing?: number;
};

function desk(): {
  readonly home: string;
  readonly run: (...words: string[]) => Promise<RunOutcome>;
  readonly upload: (...words: string[]) => Promise<Report>;
} {
  const home = tempDirectory();
  const env = { HOME: join(home, "nobody"), USER: "ann" };
  const run = (...words: string[]) => runHermes(words, { home, env, cwd: home });
  const upload = async (...words: string[]) =>
    JSON.parse((await run("memory", "upload", ...words, "--json")).stdout) as Report;
  return { home, run, upload };
}

async function addEntries(run: (...words: string[]) => Promise<RunOutcome>): Promise<void> {
  for (const words of [[LONG], [PART], [USER, "--target", "user"]])
    expect((await run("memory", "add", ...words)).code).toBe(0);
}

describe.each(FAKE_SERVICES)("hermes memory upload to $name", ({ name, create }) => {
  it("copies what was written before the setup, once", { timeout: 120_000 }, async () => {
    const fake = await create().start();
    onTestFinished(() => fake.stop());
    fake.requireAuth(KEY);
    const times = (text: string) => JSON.stringify(fake.stored()).split(text).length - 1;
    const { home, run, upload } = desk();
    await addEntries(run);
    const sets = (SETTINGS[name]?.(fake.url) ?? []).flatMap((pair) => ["--set", pair]);
    const setup = await run("memory", "setup", name, ...sets, "--yes");
    expect(setup).toMatchObject({ code: 0, stderr: expect.stringContaining("3 entries of MEMORY.md") });
    expect(setup.stderr).toContain("'hermes memory upload'");

    expect(await upload("--dry-run")).toMatchObject({ success: true, copied: 0, missing: 3, present: 0 });
    expect(times(PART)).toBe(0);

    expect(await upload("--target", "user")).toMatchObject({ copied: 1, present: 0 });
    const all = await run("memory", "upload");
    expect(all).toMatchObject({ code: 0, stdout: expect.stringContaining(`Copied 2 entries to '${name}'.`) });
    const stored = { long: times(LONG), part: times(PART), user: times(USER) };
    expect(stored.long).toBeGreaterThan(0);
    expect(stored.part).toBeGreaterThan(stored.long); // also without the rest of the sentence
    expect(stored.user).toBeGreaterThan(0);

    expect(await upload()).toMatchObject({ success: true, copied: 0, present: 3, waiting: 0 });
    // Without the outbox, the server is asked.
    for (const suffix of ["", "-wal", "-shm"])
      rmSync(join(home, `memory_outbox.db${suffix}`), { force: true });
    expect(await upload()).toMatchObject({ success: true, copied: 0, present: 3 });
    expect({ long: times(LONG), part: times(PART), user: times(USER) }).toEqual(stored);

    await fake.stop();
    await run("memory", "off");
    await run("memory", "add", "The shed has a new roof");
    await run("config", "set", "memory.provider", name);
    const down = await run("memory", "upload");
    expect(down).toMatchObject({ code: 1, stderr: expect.stringContaining("Nothing was copied") });
  });
});
