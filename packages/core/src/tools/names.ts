// Names of tools: which belong to the agent, and when two of them could be mixed up. The one place that folds them.

/** The agent's own tools by the set they are switched on with, also those that are off at the moment: no other owner may use their names. */
export const OWN_TOOLSETS = {
  memory: ["memory"],
  session_search: ["session_search"],
  todo: ["todo"],
  results: ["read_result"],
  skills: ["skills_list", "skill_view", "skill_manage"],
  delegation: ["delegate_task"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

const OWN_TOOL_NAMES: readonly string[] = Object.values(OWN_TOOLSETS).flat();

/** No provider gets one of these: beside the own ones, those of the agents that share its plugins. Programs may bring them. */
export const PROVIDER_RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...OWN_TOOL_NAMES,
  ...`web_search web_extract terminal process read_terminal read_file write_file patch search_files
  vision_analyze image_generate browser_navigate browser_snapshot browser_click browser_type browser_scroll browser_back
  browser_press browser_get_images browser_vision browser_console browser_cdp browser_dialog text_to_speech clarify
  execute_code cronjob send_message ha_list_entities ha_get_state ha_list_services ha_call_service kanban_show kanban_list
  kanban_complete kanban_block kanban_heartbeat kanban_comment kanban_create kanban_link kanban_unblock computer_use`.split(
    /\s+/,
  ),
]);

/** The names that model APIs accept; with one other name they refuse the whole request. */
export const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** A name as a reader sees it at a glance: without case, width and separators. Two names with the same fold could be mixed up. */
export function foldName(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");
}

/** Finds the one of these names that another could be taken for: `memory` for `Memory`, `skill_manage` for `skill-manage`. */
export function namesLike(names: Iterable<string>): (name: string) => string | undefined {
  const folded = new Map([...names].map((name) => [foldName(name), name]));
  return (name) => folded.get(foldName(name));
}

export const ownNameLike = namesLike(OWN_TOOL_NAMES);
