// The home the tour works in, and its config.yaml: the scripted model, an example price, and settings that make layers act within
// a few turns instead of dozens.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { err, ok, type Result } from "@hermes-memory/core/internal/lib";
import { MODELS } from "./scripted-model.ts";

export type TourHome = { readonly path: string; readonly isKept: boolean };

/** US dollars per million tokens. Not a vendor's price: an example with the usual discount for cached tokens. */
export const EXAMPLE_PRICE = { input: 3, output: 15, cache_read: 0.3 } as const;

/** Turns until a background review; the default is 10. */
export const REVIEW_AFTER_TURNS = 2;
export const SMALL_WINDOW = 16_000;
const USUAL_WINDOW = 128_000;

/** A temporary directory, or the named one, which has to be empty or missing and is kept. */
export function makeTourHome(
  named: string | undefined,
  isKept: boolean,
): Result<TourHome, { readonly kind: "not-empty"; readonly path: string }> {
  if (named === undefined) return ok({ path: mkdtempSync(join(tmpdir(), "hermes-demo-")), isKept });
  const path = resolve(named);
  if (existsSync(path) && readdirSync(path).length > 0) return err({ kind: "not-empty", path });
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return ok({ path, isKept: true });
}

export function removeTourHome({ path, isKept }: TourHome): void {
  if (!isKept) rmSync(path, { recursive: true, force: true });
}

/** `long`: the usual window, and a review after two turns. `small`: a small window and the lossless engine. */
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
          memory: { nudge_interval: 0 }, // an earlier session has shown a review
          skills: { creation_nudge_interval: 0 },
        }),
  };
  const head =
    "# Written by 'hermes demo'. The model is a script on this machine; 'hermes setup' chooses a real one.\n";
  writeFileSync(join(home, "config.yaml"), head + stringify(config));
}
