// The threat patterns with their scopes, in reporting order. notation.ts explains the notation.

/** Which patterns `scanThreats` tries: `all` has the fewest (those that matter everywhere), `strict` the most. */
export type ThreatScope = "all" | "context" | "strict";

export type ThreatPattern = { readonly id: string; readonly scope: ThreatScope; readonly shape: string };

const CHANGE = "(update|modify|edit|write|change|append|add to)";
const SECRET_NAME = "(key|token|secret|password|credential|api)";

export const THREAT_PATTERNS: readonly ThreatPattern[] = [
  { id: "prompt_injection", scope: "all", shape: "ignore FILL (previous|all|above|prior) FILL instructions" },
  { id: "sys_prompt_override", scope: "all", shape: "system prompt override" },
  {
    id: "disregard_rules",
    scope: "all",
    shape: "disregard FILL (your|all|any) FILL (instructions|rules|guidelines)",
  },
  {
    id: "bypass_restrictions",
    scope: "all",
    shape: "act as (if|though) FILL you FILL (have no|don't have) FILL (restrictions|limits|rules)",
  },
  {
    id: "html_comment_injection",
    scope: "all",
    shape: "<!--[unclosed]*(ignore|override|system|secret|hidden)[unclosed]*-->",
  },
  {
    id: "hidden_div",
    scope: "all",
    shape: "<[space]*div style[space]*=[space]*[quote][any]*display[space]*:[space]*none",
  },
  { id: "translate_execute", scope: "all", shape: "translate LINE into LINE and (execute|run|eval)" },
  { id: "deception_hide", scope: "all", shape: "do not FILL tell FILL the user" },
  { id: "role_hijack", scope: "context", shape: "you are FILL now (a|an|the)[space]" },
  { id: "role_pretend", scope: "context", shape: "pretend FILL (you are|to be)[space]" },
  { id: "leak_system_prompt", scope: "context", shape: "output FILL (system|initial) prompt" },
  {
    id: "remove_filters",
    scope: "context",
    shape: "(respond|answer|reply) without FILL (restrictions|limitations|filters|safety)",
  },
  { id: "fake_update", scope: "context", shape: "you have been FILL (updated|upgraded|patched) to" },
  { id: "identity_override", scope: "context", shape: "{b}name yourself [word]" },
  { id: "c2_node_registration", scope: "context", shape: "register (as )?a?[space]*node" },
  { id: "c2_heartbeat", scope: "context", shape: "(heartbeat|beacon|check[gap]?in) (to|with)[space]" },
  { id: "c2_task_pull", scope: "context", shape: "pull (down )?(new )?task(ing|s)?{b}" },
  { id: "c2_network_connect", scope: "context", shape: "connect to the network{b}" },
  { id: "forced_action", scope: "context", shape: "you must FILL{0,3} (register|connect|report|beacon){b}" },
  { id: "anti_forensic_oneliner", scope: "context", shape: "only use one[gap]?liners?{b}" },
  {
    id: "anti_forensic_disk",
    scope: "context",
    shape: "never FILL (create|write) FILL (script|file) FILL disk",
  },
  {
    id: "env_var_unset_agent",
    scope: "context",
    shape: "unset [word]*(claude|codex|hermes|agent|openai|anthropic)",
  },
  {
    id: "known_c2_framework",
    scope: "context",
    shape: "{b}(praxis|cobalt[space]*strike|sliver|havoc|mythic|metasploit|brainworm){b}",
  },
  { id: "c2_explicit", scope: "context", shape: "{b}c2 (server|channel|infrastructure|beacon){b}" },
  { id: "c2_explicit_long", scope: "context", shape: "{b}command and control{b}" },
  { id: "exfil_curl", scope: "all", shape: `curl LINE\${?[word]*${SECRET_NAME}` },
  { id: "exfil_wget", scope: "all", shape: `wget LINE\${?[word]*${SECRET_NAME}` },
  { id: "read_secrets", scope: "all", shape: "cat LINE(.env|credentials|.netrc|.pgpass|.npmrc|.pypirc)" },
  { id: "send_to_url", scope: "strict", shape: "(send|post|upload|transmit) LINE (to|at) https?://" },
  {
    id: "context_exfil",
    scope: "strict",
    shape:
      "(include|output|print|share) FILL (conversation|chat history|previous messages|full context|entire context)",
  },
  { id: "ssh_backdoor", scope: "strict", shape: "authorized_keys" },
  { id: "ssh_access", scope: "strict", shape: "($home|~)/.ssh" },
  { id: "hermes_env", scope: "strict", shape: "($home|~)/.hermes/.env" },
  {
    id: "agent_config_mod",
    scope: "strict",
    shape: `${CHANGE} LINE(agents.md|claude.md|.cursorrules|.clinerules)`,
  },
  { id: "hermes_config_mod", scope: "strict", shape: `${CHANGE} LINE.hermes/(config.yaml|soul.md)` },
  {
    id: "hardcoded_secret",
    scope: "strict",
    shape: "(api[joint]?key|token|secret|password)[space]*[assign][space]*[quote][key]{20}",
  },
];
