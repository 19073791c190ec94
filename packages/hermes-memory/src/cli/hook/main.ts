// The process of `hermes hook`, started without the rest of the command line: a client waits for it at every turn.
import { writeSync } from "node:fs";
import { systemHomeContext } from "@hermes-memory/core/internal/home";
import { type HookRequest, homeOf, runHook, systemHookProcess, WORKER } from "./run-hook.ts";

/** The client goes on without an answer then. */
const LONGEST_MS = 800;

const [, script = "", , ...words] = process.argv;
if (words.includes(WORKER)) await work();
else await answer();

async function answer(): Promise<void> {
  const late = setTimeout(() => process.exit(0), LONGEST_MS);
  const text = await runHook(requestOf(words), systemHookProcess());
  clearTimeout(late);
  try {
    if (text !== "") writeSync(1, `${text}\n`);
  } catch {
    // The client is gone.
  }
  process.exit(0); // the client may keep stdin open
}

/** Flags come first, so that the end of the command says which hook it is. */
function requestOf(given: readonly string[]): HookRequest {
  const flag = (name: string): string | undefined => {
    const at = given.indexOf(name);
    return at < 0 ? undefined : given[at + 1];
  };
  const [client = "", event = ""] = given.slice(-2);
  return { client, event, home: flag("--home"), profile: flag("--profile") };
}

async function work(): Promise<void> {
  const { drainQueue, systemWorker } = await import("./worker.ts");
  const system = systemHomeContext();
  const request = requestOf(words);
  await drainQueue(homeOf(request, system), systemWorker(system, script));
}
