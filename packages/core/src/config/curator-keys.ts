// The keys under `curator`, and those of its model, in the table of config keys.
import { type ConfigKey, key } from "./config-key.ts";

export const CURATOR_KEYS: readonly ConfigKey[] = [
  key("curator.enabled", "boolean", true, "Tidy memory and skills from time to time."),
  key("curator.interval_hours", "number", 168, "Hours between two scheduled runs; the first waits as long."),
  key("curator.min_idle_hours", "number", 2, "How long the agent has to be idle before one starts."),
  key("curator.stale_after_days", "number", 30, "Days without use after which a skill counts as stale."),
  key("curator.archive_after_days", "number", 90, "Days without use after which a skill is archived."),
  key(
    "curator.prune_builtins",
    "unused",
    undefined,
    "Accepted because files of the original carry it; skills that came with a program are left alone.",
  ),
  key("curator.backup.enabled", "boolean", true, "Pack the skills into a file before they are changed."),
  key("curator.backup.keep", "number", 5, "How many such files are kept."),
  key("curator.memory", "boolean", true, "Look after memory too; a scheduled run only proposes."),
];

/** Beside those of the other small models. */
export const CURATOR_MODEL_KEYS: readonly ConfigKey[] = [
  key(
    "auxiliary.curator.provider",
    "text",
    "auto",
    "Model provider for the curator; auto or main for the agent's own.",
  ),
  key("auxiliary.curator.model", "text", "", "Model for the curator; empty for the provider's usual one."),
  key("auxiliary.curator.base_url", "text", "", "Address of a model server of your own."),
  key("auxiliary.curator.api_key", "text", "", "Its key; better kept in .env."),
  key("auxiliary.curator.timeout", "number", 120, "Seconds for one question to it."),
  key("auxiliary.curator.extra_body", "section", {}, "More fields for each request to the model."),
];
