// What points a user with an OpenClaw folder to `hermes claw`: the offer of the first setup, and one hint at the start of a chat.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { configPath, setConfigValue } from "@hermes-memory/core/internal/config";
import { isDirectory } from "@hermes-memory/core/internal/lib";
import type { CommandContext, Terminal } from "../command.ts";

/** Asks only where there is a `~/.openclaw` and no config.yaml yet. Keys are imported only after a yes of their own. */
export async function offerMigration({ io, home, runCommand }: CommandContext): Promise<void> {
  const folder = openClawFolder(io);
  if (folder === undefined || existsSync(configPath(home.home))) return;
  io.note("There is an OpenClaw folder at ~/.openclaw.\n");
  if (!(await io.confirm("See what can be brought over from it?", { short: true }))) return;
  const withKeys = await io.confirm("Bring over its API keys and tokens too?", { short: true });
  const words = ["claw", "migrate", "--source", folder, ...(withKeys ? ["--migrate-secrets"] : [])];
  await runCommand(words, io);
  io.note("\n");
}

const SEEN = "onboarding.seen.openclaw_residue_cleanup";

/** Shown once: the next call returns undefined. */
export async function residueHint({
  io,
  home,
  memory,
}: Pick<CommandContext, "home" | "memory"> & {
  readonly io: Pick<Terminal, "env" | "isInteractive">;
}): Promise<string | undefined> {
  if (!io.isInteractive || openClawFolder(io) === undefined) return undefined;
  const { onboarding } = await memory.config();
  if (onboarding.seen.openclawResidueCleanup) return undefined;
  const saved = await setConfigValue(home.home, SEEN, "true");
  if (!saved.ok) return undefined; // a file that cannot be changed would show the hint at every start
  return "There is an OpenClaw folder at ~/.openclaw. 'hermes claw migrate' brings over what it holds; 'hermes claw cleanup' renames it, after which OpenClaw stops working.";
}

/** `~/.openclaw` of the user whose environment this is. */
function openClawFolder({ env }: Pick<Terminal, "env">): string | undefined {
  const userHome = process.platform === "win32" ? env.USERPROFILE : env.HOME;
  const folder = userHome ? join(userHome, ".openclaw") : undefined;
  return folder !== undefined && isDirectory(folder) ? folder : undefined;
}
