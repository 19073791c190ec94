// The home the tour works in, and its config.yaml: the scripted model, an example price, and what makes layers act within a few
// turns that otherwise take dozens.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { CommandFailure } from "../command.ts";
import { MODELS } from "./script.ts";

export type DemoHome = { readonly path: string; readonly isKept: boolean };

/** US dollars per million tokens. No vendor's: an example with the usual discount for cached tokens. */
export const EXAMPLE_PRICE = { input: 3, output: 15, cache_read: 0.3 } as const;

/** Turns until a background review; 10 where nobody says otherwise. */
export const REVIEW_AFTER_TURNS = 2;
export const SMALL_WINDOW = 16_000;
const USUAL_WINDOW = 128_000;

export function makeHome(named: string | undefined, isKept: boolean): DemoHome {
  if (named === undefined) return { path: mkdtempSync(join(tmpdir(), "hermes-demo-")), isKept };
  const path = resolve(named);
  if (existsSync(path) && readdirSync(path).length > 0)
    throw new CommandFailure(`${path} is not empty, and the demo writes a config.yaml of its own.`, {
      exitCode: 2,
      hint: "Name a directory that is empty or does not exist yet, or leave --home out.",
      details: { kind: "not_empty" },
    });
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return { path, isKept: true };
}

export function leaveHome({ path, isKept }: DemoHome): void {
  if (!isKept) rmSync(path, { recursive: true, force: true });
}

/** `long`: a usual window, and a review soon. `small`: a small window and the lossless engine. */
export async function configure(home: string, baseUrl: string, kind: "long" | "small"): Promise<void> {
  const { stringify } = await import("yaml");
  const config = {
    model: {
      default: MODELS.chat,
      provider: "custom",
      base_url: baseUrl,
      context_length: kind === "long" ? USUAL_WINDOW : SMALL_WINDOW,
    },
    models: { prices: { [MODELS.chat]: EXAMPLE_PRICE } },
    auxiliary: {
      title_generation: { model: MODELS.titles },
      compression: { model: MODELS.summaries, context_length: USUAL_WINDOW },
    },
    ...(kind === "long"
      ? { memory: { nudge_interval: REVIEW_AFTER_TURNS } }
      : {
          context: { engine: "lcm", lcm: { fresh_tail_ratio: 0.1 } },
          memory: { nudge_interval: 0 }, // reviews have been shown by then
          skills: { creation_nudge_interval: 0 },
        }),
  };
  const head =
    "# Written by 'hermes demo'. The model is a script on this machine; 'hermes setup' chooses a real one.\n";
  writeFileSync(join(home, "config.yaml"), head + stringify(config));
}
