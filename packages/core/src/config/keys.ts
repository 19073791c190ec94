// Every key of config.yaml this program reads: default, what is allowed, what it does. `get`, `check` and the reference
// page work from this table; a test holds it against the schema and the page.
import { type ConfigKey, key } from "./config-key.ts";
import { CONTEXT_KEYS } from "./context-keys.ts";
import { CURATOR_KEYS, CURATOR_MODEL_KEYS } from "./curator-keys.ts";
import { DELEGATION_KEYS } from "./delegation-keys.ts";
import { DEFAULT_MEMORY_CONFIG as memory } from "./memory-config.ts";
import { SKILLS_KEYS } from "./skills-keys.ts";

export type { ConfigKey } from "./config-key.ts";

export const CONFIG_KEYS: readonly ConfigKey[] = [
  key("memory.memory_enabled", "boolean", memory.memoryEnabled, "Keep the agent's own notes (MEMORY.md)."),
  key(
    "memory.user_profile_enabled",
    "boolean",
    memory.userProfileEnabled,
    "Keep notes about the user (USER.md).",
  ),
  key(
    "memory.memory_char_limit",
    "number",
    memory.memoryCharLimit,
    "Size of MEMORY.md in characters (code points).",
  ),
  key(
    "memory.user_char_limit",
    "number",
    memory.userCharLimit,
    "Size of USER.md in characters (code points).",
  ),
  key(
    "memory.write_approval",
    "approval",
    memory.writeApproval,
    "Ask before a memory write, or stage it for review.",
  ),
  key("memory.provider", "text", memory.provider, "Name of the external memory provider; empty for none."),
  key(
    "memory.nudge_interval",
    "number",
    memory.nudgeInterval,
    "Turns between two reminders to save; 0 for none.",
  ),
  key(
    "memory.overflow",
    "choice",
    memory.overflow,
    "When a file is full: refuse the write, or archive old entries.",
  ),
  key("memory.scan_allow", "list", memory.scanAllow, "Ids of threat patterns that are let through."),
  key(
    "memory.allow_secrets",
    "boolean",
    memory.allowSecrets,
    "Store texts that look like credentials (memory files and facts), and recall them unmasked.",
  ),
  key("memory.history_max_bytes", "number", memory.historyMaxBytes, "Size at which a journal is compacted."),
  key(
    "memory.history_keep",
    "number",
    memory.historyKeep,
    "Newest changes that stay undoable after compaction.",
  ),
  key(
    "memory.lock_timeout_seconds",
    "number",
    memory.lockTimeoutSeconds,
    "Longest wait for another process.",
  ),
  key(
    "memory.recall_max_chars",
    "number",
    memory.recallMaxChars,
    "Most characters of provider recall in one turn.",
  ),
  key(
    "memory.prefetch_timeout_s",
    "number",
    memory.prefetchTimeoutS,
    "Longest wait for provider recall in one turn, in seconds; 0 for no limit.",
  ),
  key(
    "memory.prefetch_max_age_turns",
    "number",
    memory.prefetchMaxAgeTurns,
    "How many turns a recall that came too late stays usable.",
  ),
  key("memory.mirror_remove", "boolean", memory.mirrorRemove, "Tell the provider about removed entries too."),
  key(
    "memory.refresh_on_resume",
    "boolean",
    memory.refreshOnResume,
    "Give a resumed session a new prompt with memory as it is now.",
  ),
  key(
    "memory.flush_min_turns",
    "unused",
    undefined,
    "Accepted because sample files carry it; nothing reads it.",
  ),
  ...SKILLS_KEYS,
  ...CURATOR_KEYS,
  key(
    "agent.disabled_toolsets",
    "list",
    [],
    "Toolsets the agent never gets; memory takes the provider's tools too.",
  ),
  key("agent.task_completion_guidance", "boolean", true, "Ask the agent to finish what it has begun."),
  key(
    "agent.tool_use_enforcement",
    "choice",
    "auto",
    "Insist on tool calls instead of talk about them: for models that need it, always, never, or by model name.",
  ),
  key("agent.max_turns", "number", 90, "Model calls in one turn before the agent has to stop."),
  key("agent.api_max_retries", "number", 3, "Attempts for one model call; 1 means no second one."),
  key(
    "agent.max_output_tokens",
    "number",
    undefined,
    "Most tokens of one reply; up to the model's server when absent.",
  ),
  key(
    "agent.max_result_chars",
    "number",
    100_000,
    "Most characters of one tool result in the conversation, and at most a quarter of the window; longer ones are kept in a file.",
  ),
  ...DELEGATION_KEYS,
  key(
    "approvals.destructive_slash_confirm",
    "boolean",
    true,
    "Ask before a slash command throws conversation away, and before `/compress` makes do without a model.",
  ),
  key("mcp_servers.*", "section", undefined, "An MCP server whose tools the agent may use."),
  key(
    "plugins.*",
    "section",
    undefined,
    "Settings of a plugin; holographic reads plugins.hermes-memory-store.",
  ),
  key("context_file_max_chars", "number", 20_000, "Most characters taken from one context file."),
  key("timezone", "text", "", "Zone of dates, such as Europe/Vienna; empty for the machine's own."),
  key("display.memory_notifications", "choice", "on", "Show memory changes: off, on or verbose."),
  key("display.show_reasoning", "boolean", false, "Show what a model thinks before it answers."),
  key(
    "display.busy_input_mode",
    "choice",
    "steer",
    "What Enter does in a chat while a turn runs: queue, steer or interrupt.",
  ),
  key("display.platforms.*.memory_notifications", "choice", undefined, "The same for one platform."),
  key("logging.memory_monitor.enabled", "boolean", true, "Log the gateway's process memory."),
  key("logging.memory_monitor.interval_seconds", "number", 300, "Seconds between two such lines."),
  key("sessions.auto_prune", "boolean", false, "Remove old sessions when a program starts."),
  key("sessions.retention_days", "number", 90, "How old a session must be to be removed then."),
  key("sessions.vacuum_after_prune", "boolean", true, "Give the space of removed sessions back."),
  key("sessions.min_interval_hours", "number", 24, "Hours between two such clean-ups."),
  key(
    "sessions.write_json_snapshots",
    "boolean",
    false,
    "Also write each conversation to a JSON file under sessions/.",
  ),
  key(
    "sessions.orphan_file_days",
    "number",
    30,
    "Days after which files of sessions that are gone are removed when a program starts; 0 for never.",
  ),
  key(
    "session_search.summarize",
    "choice",
    "off",
    "Written recaps of past sessions: never, when the agent asks, or for every search.",
  ),
  key("session_search.summary_timeout", "number", 90, "Seconds for all recaps of one search together."),
  key("session_search.cross_profile", "boolean", true, "Let the agent read sessions of other profiles."),
  key(
    "session_search.max_message_chars",
    "number",
    0,
    "Most characters of one message in a search result; 0 for the usual ones (1,200 and 4,000).",
  ),
  key(
    "session_search.max_result_chars",
    "number",
    60_000,
    "Most characters of all messages in a search result together.",
  ),
  key(
    "auxiliary.session_search.provider",
    "text",
    "auto",
    "Model provider for recaps; auto or main for the agent's own.",
  ),
  key("auxiliary.session_search.model", "text", "", "Model for recaps; empty for the provider's usual one."),
  key("auxiliary.session_search.base_url", "text", "", "Address of a model server of your own."),
  key("auxiliary.session_search.api_key", "text", "", "Its key; better kept in .env."),
  key("auxiliary.session_search.timeout", "number", 30, "Seconds for one recap."),
  key("auxiliary.session_search.extra_body", "section", {}, "More fields for each request to the model."),
  key(
    "auxiliary.session_search.max_concurrency",
    "number",
    3,
    "How many recaps are written at the same time.",
  ),
  ...CURATOR_MODEL_KEYS,
  ...CONTEXT_KEYS,
];

/** The table row of a dotted key, wildcards resolved. */
export function findConfigKey(path: readonly string[]): ConfigKey | undefined {
  return CONFIG_KEYS.find((candidate) => {
    const parts = candidate.key.split(".");
    return parts.length === path.length && parts.every((part, i) => part === "*" || part === path[i]);
  });
}

/** True for `memory`, `display.platforms`, ...: paths that hold known keys. */
export function isKnownSection(path: readonly string[]): boolean {
  return CONFIG_KEYS.some((candidate) => {
    const parts = candidate.key.split(".");
    return parts.length > path.length && path.every((part, i) => parts[i] === "*" || part === parts[i]);
  });
}

/** True for what is inside of a section that is one key, such as `mcp_servers.lab.enabled`. */
export function isWithinKey(path: readonly string[]): boolean {
  return path.some((_part, length) => findConfigKey(path.slice(0, length))?.kind === "section");
}
