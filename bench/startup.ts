// The time of `hermes memory show` and of a hook from process start to exit, alternating with `node -e 0`. Needs `npm run build`.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { MemoryStore } from "../packages/hermes-memory/src/index.ts";
import { median, round } from "./statistics.ts";

const root = resolve(import.meta.dirname, "..");

export async function run(flags: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const built = join(root, "packages/hermes-memory/dist/hermes.js");
  if (!existsSync(built))
    throw new Error("packages/hermes-memory/dist is missing. Run 'npm run build' first.");
  const rounds = Number(flags.rounds ?? 30);
  const home = mkdtempSync(join(tmpdir(), "hermes-bench-"));
  try {
    await fillHome(home);
    const commands = {
      node: ["-e", "0"],
      built: [built, "memory", "show"],
      checkout: [join(root, "packages/hermes-memory/src/cli/main.ts"), "memory", "show"],
      hook: [built, "hook", "claude-code", "SessionStart"],
    };
    const times: Record<keyof typeof commands, number[]> = { node: [], built: [], checkout: [], hook: [] };
    for (let i = 0; i < rounds + 3; i += 1) {
      for (const name of ["node", "built", "checkout", "hook"] as const) {
        const took = timeOf(commands[name], home);
        if (i >= 3) times[name].push(took); // the first rounds fill the disk cache and the compile cache
      }
    }
    const nodeMs = median(times.node);
    return {
      bench: "startup",
      rounds,
      node_ms: round(nodeMs),
      built_ms: round(median(times.built)),
      checkout_ms: round(median(times.checkout)),
      hook_ms: round(median(times.hook)),
      built_ratio: round(median(times.built) / nodeMs),
      checkout_ratio: round(median(times.checkout) / nodeMs),
      hook_ratio: round(median(times.hook) / nodeMs),
    };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** A typical home: a config with comments, and both memory files with a few entries. */
async function fillHome(home: string): Promise<void> {
  writeFileSync(
    join(home, "config.yaml"),
    "# my settings\nmemory:\n  memory_char_limit: 4000  # more room\n",
  );
  const store = new MemoryStore({ dir: join(home, "memories"), memoryCharLimit: 4000 });
  await store.load();
  for (let i = 0; i < 12; i += 1) {
    await store.apply("memory", {
      action: "add",
      content: `Fact ${i}: the staging box is a small machine in the hall`,
    });
    await store.apply("user", { action: "add", content: `Preference ${i}: short answers, metric units` });
  }
}

function timeOf(args: readonly string[], home: string): number {
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, {
    input: '{"source":"startup"}', // for the hook
    env: { ...process.env, HERMES_HOME: home },
  });
  const took = performance.now() - startedAt;
  if (status !== 0) throw new Error(`node ${args.join(" ")} failed: ${stderr.toString()}`);
  return took;
}
