// Tool names: which ones are the agent's own, and when a model could confuse two names.

/** The agent's own tools by toolset. No other owner may use their names, even while a toolset is disabled. */
export const OWN_TOOLSETS = {
  memory: ["memory"],
  session_search: ["session_search"],
  todo: ["todo"],
  results: ["read_result"],
  skills: ["skills_list", "skill_view", "skill_manage"],
  delegation: ["delegate_task"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

const OWN_TOOL_NAMES: readonly string[] = Object.values(OWN_TOOLSETS).flat();

/** Names that a provider may not use: our own, and those of the agents that share its plugins. An embedding program may use them. */
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

/** Model APIs refuse a whole request if one tool name does not match. */
export const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Removes case, width and separators. Two names with the same result could be confused. */
export function foldName(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");
}

/** Returns a function that finds the name of the list which a given name could be confused with: `skill_manage` for `skill-manage`. */
export function namesLike(names: Iterable<string>): (name: string) => string | undefined {
  const folded = new Map([...names].map((name) => [foldName(name), name]));
  return (name) => folded.get(foldName(name));
}

let likeOwn: ReturnType<typeof namesLike> | undefined; // built on first use, because most commands load this file and never ask

/** The agent's own tool that a name could be confused with. */
export function ownNameLike(name: string): string | undefined {
  likeOwn ??= namesLike(OWN_TOOL_NAMES);
  return likeOwn(name);
}
