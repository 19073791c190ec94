// The threat patterns with their scopes, in reporting order. notation.ts explains the notation; the words of a new pattern also go
// into SIGNS of threat-scan.ts (a test compares the two).

export type ThreatScope = "all" | "context" | "strict";

export type ThreatPattern = { readonly id: string; readonly scope: ThreatScope; readonly shape: string };

const CHANGE = "(update|modify|edit|write|change|append|add to)";
const SECRET_NAME = "(key|token|secret|password|credential|api)";

export const THREAT_PATTERNS: readonly ThreatPattern[] = [
  pattern("prompt_injection", "all", "ignore FILL (previous|all|above|prior) FILL instructions"),
  pattern("sys_prompt_override", "all", "system prompt override"),
  pattern("disregard_rules", "all", "disregard FILL (your|all|any) FILL (instructions|rules|guidelines)"),
  pattern(
    "bypass_restrictions",
    "all",
    "act as (if|though) FILL you FILL (have no|don't have) FILL (restrictions|limits|rules)",
  ),
  pattern(
    "html_comment_injection",
    "all",
    "<!--[unclosed]*(ignore|override|system|secret|hidden)[unclosed]*-->",
  ),
  pattern(
    "hidden_div",
    "all",
    "<[space]*div style[space]*=[space]*[quote][any]*display[space]*:[space]*none",
  ),
  pattern("translate_execute", "all", "translate LINE into LINE and (execute|run|eval)"),
  pattern("deception_hide", "all", "do not FILL tell FILL the user"),
  pattern("role_hijack", "context", "you are FILL now (a|an|the)[space]"),
  pattern("role_pretend", "context", "pretend FILL (you are|to be)[space]"),
  pattern("leak_system_prompt", "context", "output FILL (system|initial) prompt"),
  pattern(
    "remove_filters",
    "context",
    "(respond|answer|reply) without FILL (restrictions|limitations|filters|safety)",
  ),
  pattern("fake_update", "context", "you have been FILL (updated|upgraded|patched) to"),
  pattern("identity_override", "context", "{b}name yourself [word]"),
  pattern("c2_node_registration", "context", "register (as )?a?[space]*node"),
  pattern("c2_heartbeat", "context", "(heartbeat|beacon|check[gap]?in) (to|with)[space]"),
  pattern("c2_task_pull", "context", "pull (down )?(new )?task(ing|s)?{b}"),
  pattern("c2_network_connect", "context", "connect to the network{b}"),
  pattern("forced_action", "context", "you must FILL{0,3} (register|connect|report|beacon){b}"),
  pattern("anti_forensic_oneliner", "context", "only use one[gap]?liners?{b}"),
  pattern("anti_forensic_disk", "context", "never FILL (create|write) FILL (script|file) FILL disk"),
  pattern("env_var_unset_agent", "context", "unset [word]*(claude|codex|hermes|agent|openai|anthropic)"),
  pattern(
    "known_c2_framework",
    "context",
    "{b}(praxis|cobalt[space]*strike|sliver|havoc|mythic|metasploit|brainworm){b}",
  ),
  pattern("c2_explicit", "context", "{b}c2 (server|channel|infrastructure|beacon){b}"),
  pattern("c2_explicit_long", "context", "{b}command and control{b}"),
  pattern("exfil_curl", "all", `curl LINE\${?[word]*${SECRET_NAME}`),
  pattern("exfil_wget", "all", `wget LINE\${?[word]*${SECRET_NAME}`),
  pattern("read_secrets", "all", "cat LINE(.env|credentials|.netrc|.pgpass|.npmrc|.pypirc)"),
  pattern("send_to_url", "strict", "(send|post|upload|transmit) LINE (to|at) https?://"),
  pattern(
    "context_exfil",
    "strict",
    "(include|output|print|share) FILL (conversation|chat history|previous messages|full context|entire context)",
  ),
  pattern("ssh_backdoor", "strict", "authorized_keys"),
  pattern("ssh_access", "strict", "($home|~)/.ssh"),
  pattern("hermes_env", "strict", "($home|~)/.hermes/.env"),
  pattern("agent_config_mod", "strict", `${CHANGE} LINE(agents.md|claude.md|.cursorrules|.clinerules)`),
  pattern("hermes_config_mod", "strict", `${CHANGE} LINE.hermes/(config.yaml|soul.md)`),
  pattern(
    "hardcoded_secret",
    "strict",
    "(api[joint]?key|token|secret|password)[space]*[assign][space]*[quote][key]{20}",
  ),
];

function pattern(id: string, scope: ThreatScope, shape: string): ThreatPattern {
  return { id, scope, shape };
}
