// The folders in which programs keep what belongs to a user, on each system.
import { join } from "node:path";
import type { Place } from "../reader.ts";
import { textOf } from "./values.ts";

export function configFolder(place: Place): string {
  const { home, env, platform } = place;
  if (platform === "darwin") return join(home, "Library", "Application Support");
  if (platform === "win32") return textOf(env.APPDATA) ?? join(home, "AppData", "Roaming");
  return textOf(env.XDG_CONFIG_HOME) ?? join(home, ".config");
}

/** Many programs use it on every system. */
export function dataFolder({ home, env }: Place): string {
  return textOf(env.XDG_DATA_HOME) ?? join(home, ".local", "share");
}

/** Windows only. */
export function localFolder({ home, env }: Place): string {
  return textOf(env.LOCALAPPDATA) ?? join(home, "AppData", "Local");
}
