// The keys under `delegation` in the table of config keys.
import { type ConfigKey, key } from "./config-key.ts";

export const DELEGATION_KEYS: readonly ConfigKey[] = [
  key("delegation.max_iterations", "number", 50, "Model calls one child may make."),
  key("delegation.max_concurrent_children", "number", 3, "Children that may run at the same time."),
  key(
    "delegation.max_spawn_depth",
    "number",
    1,
    "How deep agents may delegate: 0 nobody, 1 the agent you talk to, 2 its children too.",
  ),
  key(
    "delegation.child_timeout_seconds",
    "number",
    0,
    "Seconds a child may take (30 at least); 0 for no limit.",
  ),
  key(
    "delegation.max_async_children",
    "unused",
    undefined,
    "Accepted because files of the original carry it; children always run while their parent waits.",
  ),
];
