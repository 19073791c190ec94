// The keys about models and their windows. Those of one section stand together, as they are printed.
import { type ConfigKey, key } from "./config-key.ts";

export const CONTEXT_KEYS: readonly ConfigKey[] = [
  key(
    "auxiliary.compression.provider",
    "text",
    "auto",
    "Model provider for summaries; auto for the agent's own.",
  ),
  key("auxiliary.compression.model", "text", "", "Model for summaries; empty for the conversation's own."),
  key("auxiliary.compression.base_url", "text", "", "Address of a model server of your own."),
  key("auxiliary.compression.api_key", "text", "", "Its key; better kept in .env."),
  key("auxiliary.compression.api_mode", "text", "", "Its protocol, as model.api_mode."),
  key("auxiliary.compression.timeout", "number", 120, "Seconds for one summary."),
  key("auxiliary.compression.extra_body", "section", {}, "More fields for each request to the model."),
  key(
    "auxiliary.compression.context_length",
    "number",
    undefined,
    "How many tokens the summary model takes.",
  ),
  key("model.default", "text", "", "The model; 'model: <name>' is short for it."),
  key("model.provider", "text", "", "Who serves it, such as anthropic, openai or openrouter."),
  key("model.base_url", "text", "", "Address of its server, where it is not the provider's usual one."),
  key("model.api_key", "text", "", "Its key; better kept in .env."),
  key("model.api_mode", "text", "", "The server's protocol, such as anthropic_messages or chat_completions."),
  key(
    "model.context_length",
    "number",
    undefined,
    "How many tokens it takes; asked or looked up when absent.",
  ),
  key(
    "model.probe_remote",
    "boolean",
    false,
    "Also ask servers beyond this machine how many tokens their model takes.",
  ),
  key("models.prices.*", "section", undefined, "What a model costs, in US dollars per million tokens."),
  key(
    "custom_providers",
    "list",
    undefined,
    "Servers of your own; models.<model>.context_length of the one at model.base_url counts.",
  ),
  key("context.engine", "text", "compressor", "What keeps a conversation within the window."),
  key(
    "context.lcm.fresh_tail_ratio",
    "number",
    undefined,
    "Share of the threshold that stays word for word; as compression.target_ratio when absent.",
  ),
  key("context.lcm.leaf_tokens", "number", 6_000, "Tokens of conversation that become one summary."),
  key("context.lcm.leaf_summary_tokens", "number", 600, "Tokens of such a summary."),
  key("context.lcm.fanout", "number", 6, "Neighbouring summaries that become one of the next depth."),
  key("context.lcm.max_depth", "number", 8, "How deep summaries of summaries go."),
  key("compression.enabled", "boolean", true, "Compact long conversations without being asked."),
  key("compression.threshold", "number", 0.5, "Share of the window at which that happens."),
  key(
    "compression.target_ratio",
    "number",
    0.2,
    "Share of the threshold that stays word for word at the end.",
  ),
  key("compression.protect_first_n", "number", 3, "Messages at the beginning that stay word for word."),
  key("compression.protect_last_n", "number", 20, "Newest messages whose tool results are never shortened."),
  key(
    "compression.abort_on_summary_failure",
    "boolean",
    false,
    "Keep everything when no summary can be had, instead of a summary made without a model.",
  ),
  key(
    "compression.hygiene_threshold",
    "number",
    0.85,
    "Share of the window at which a gateway compacts first.",
  ),
  key(
    "compression.hygiene_hard_message_limit",
    "number",
    400,
    "Number of messages at which a gateway compacts whatever they cost.",
  ),
  key(
    "compression.codex_gpt55_autoraise",
    "unused",
    undefined,
    "Accepted because files of the original carry it; nothing reads it.",
  ),
  oldName("compression.summary_provider", "auxiliary.compression.provider"),
  oldName("compression.summary_model", "auxiliary.compression.model"),
  oldName("compression.summary_base_url", "auxiliary.compression.base_url"),
  key("prompt_caching.cache_ttl", "choice", "5m", "How long a model's server keeps a cached prompt."),
];

function oldName(old: string, name: string): ConfigKey {
  return key(old, "text", undefined, `Old name of ${name}; counts where that is not set.`);
}
