// Tool names that belong to the agent. A provider that registers one of them does not get it.
export const CORE_TOOL_NAMES: ReadonlySet<string> = new Set(
  `web_search web_extract terminal process read_terminal read_file write_file patch search_files
  vision_analyze image_generate skills_list skill_view skill_manage browser_navigate browser_snapshot browser_click
  browser_type browser_scroll browser_back browser_press browser_get_images browser_vision browser_console browser_cdp
  browser_dialog text_to_speech todo memory session_search clarify execute_code delegate_task cronjob send_message
  ha_list_entities ha_get_state ha_list_services ha_call_service kanban_show kanban_list kanban_complete kanban_block
  kanban_heartbeat kanban_comment kanban_create kanban_link kanban_unblock computer_use read_result`.split(
    /\s+/,
  ),
);
