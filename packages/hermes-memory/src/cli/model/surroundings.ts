// What a model is chosen from: config.yaml, and the environment together with the home's .env.
import { type HermesConfig, useEnvFile } from "@hermes-memory/core/config";
import type { CommandContext, Terminal } from "../command.ts";

export type Environment = Terminal["env"];

export type Surroundings = {
  readonly home: string;
  readonly config: HermesConfig;
  /** What the process was started with goes before .env. */
  readonly env: Environment;
};

/** Variables that choose a model and go before config.yaml. */
export const CHOOSING_VARIABLES = ["HERMES_MODEL", "HERMES_INFERENCE_PROVIDER"] as const;

/** A broken config.yaml ends the command. */
export async function surroundingsOf({
  memory,
  io,
}: Pick<CommandContext, "memory" | "io">): Promise<Surroundings> {
  const { home } = memory;
  const env: Record<string, string | undefined> = { ...io.env };
  useEnvFile(home, env);
  return { home, config: await memory.config(), env };
}

/** As if nobody had set anything but keys: what config.yaml alone comes to. */
export function withoutChoice(env: Environment): Environment {
  const rest = Object.entries(env).filter(([name]) => !CHOOSING_VARIABLES.some((each) => each === name));
  return Object.fromEntries(rest);
}

/** Told after config.yaml was changed: it may not be what counts. */
export function overridingNotes(env: Environment): string[] {
  const set = CHOOSING_VARIABLES.filter((name) => (env[name] ?? "").trim() !== "");
  if (set.length === 0) return [];
  const are = set.length === 1 ? ["is", "goes"] : ["are", "go"];
  return [`${set.join(" and ")} ${are[0]} set and still ${are[1]} before config.yaml.`];
}
