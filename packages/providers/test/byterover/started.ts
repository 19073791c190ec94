// A provider in a new home with the scripted brv, shut down after the test.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { InitializeOptions } from "../../../core/src/providers/contract.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { type ByteroverOptions, ByteroverProvider } from "../../src/byterover/provider.ts";
import { type BrvPlan, installBrv, type StandIn } from "../fakes/brv.ts";

export type Started = {
  readonly provider: ByteroverProvider;
  readonly home: string;
  readonly brv: StandIn;
  /** The working directory of brv. */
  readonly directory: string;
};

export type StartOptions = {
  readonly plan?: BrvPlan;
  readonly settings?: object;
  /** Notes in the tree; undefined for no tree. */
  readonly notes?: readonly string[];
  readonly context?: InitializeOptions["agent_context"];
  readonly options?: ByteroverOptions;
  readonly env?: Readonly<Record<string, string>>;
};

export function startProvider({
  plan = {},
  settings,
  notes,
  context,
  options,
  env,
}: StartOptions = {}): Started {
  const home = tempDirectory();
  const brv = installBrv(plan);
  const directory = join(home, "byterover");
  if (settings !== undefined) writeFileSync(join(home, "byterover.json"), JSON.stringify(settings));
  if (notes !== undefined) plant(directory, notes);
  const provider = new ByteroverProvider({
    env: { ...brv.env, ...env },
    userHome: brv.userHome,
    systemPlaces: [],
    ...options,
  });
  provider.initialize("s-1", {
    hermes_home: home,
    agent_context: context,
  });
  onTestFinished(() => provider.shutdown({ signal: AbortSignal.abort() }));
  return { provider, home, brv, directory };
}

export const recall = (provider: ByteroverProvider, query: string, signal?: AbortSignal): Promise<string> =>
  provider.prefetch(query, { session_id: "s-1", signal });

/** The notes in the tree, oldest first. */
export function storedNotes(directory: string): string[] {
  const tree = join(directory, ".brv", "context-tree");
  return readdirSync(tree)
    .sort()
    .map((name) => readFileSync(join(tree, name), "utf8"));
}

function plant(directory: string, notes: readonly string[]): void {
  const tree = join(directory, ".brv", "context-tree");
  mkdirSync(tree, { recursive: true });
  writeFileSync(join(directory, ".brv", "config.json"), "{}");
  for (const [index, note] of notes.entries()) writeFileSync(join(tree, `note-${index + 1}.md`), note);
}
