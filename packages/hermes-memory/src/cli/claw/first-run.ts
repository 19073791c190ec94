// The offer of the first `hermes setup`: bring over what an OpenClaw folder holds, with the questions of `hermes claw migrate`.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { configPath } from "@hermes-memory/core/internal/config";
import { isDirectory } from "@hermes-memory/core/internal/lib";
import type { CommandContext } from "../command.ts";

/** Asks only where there is a `~/.openclaw` and no config.yaml yet. Keys are imported only after a yes of their own. */
export async function offerMigration({ io, home, runCommand }: CommandContext): Promise<void> {
  const userHome = process.platform === "win32" ? io.env.USERPROFILE : io.env.HOME;
  if (!userHome || existsSync(configPath(home.home))) return;
  const folder = join(userHome, ".openclaw");
  if (!isDirectory(folder)) return;
  io.note("There is an OpenClaw folder at ~/.openclaw.\n");
  if (!(await io.confirm("See what can be brought over from it?", { short: true }))) return;
  const withKeys = await io.confirm("Bring over its API keys and tokens too?", { short: true });
  const words = ["claw", "migrate", "--source", folder, ...(withKeys ? ["--migrate-secrets"] : [])];
  await runCommand(words, io);
  io.note("\n");
}
