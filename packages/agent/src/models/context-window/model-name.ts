// `anthropic:claude-sonnet-4` names a provider and a model; `deepseek:7b` is one name with Ollama's tag.

const PROVIDERS = [
  "alibaba",
  "anthropic",
  "azure",
  "bedrock",
  "copilot",
  "custom",
  "deepseek",
  "gemini",
  "github",
  "google",
  "groq",
  "huggingface",
  "kimi",
  "lmstudio",
  "local",
  "minimax",
  "mistral",
  "moonshot",
  "nous",
  "novita",
  "nvidia",
  "ollama",
  "openai",
  "openai-codex",
  "opencode",
  "openrouter",
  "qwen",
  "together",
  "vllm",
  "x-ai",
  "xai",
  "xiaomi",
  "z-ai",
  "zai",
];

/** Sizes, quantisations and the like, as they stand behind the colon of an Ollama name. */
const TAG =
  /^(?:latest|stable|cloud|\d+(?:\.\d+)?[bmk]|[qf]p?\d|e\d+b|instruct|chat|coder|vision|text|mini|small)/;

export function withoutProvider(model: string): string {
  const colon = model.indexOf(":");
  if (colon < 0) return model;
  const rest = model.slice(colon + 1);
  const isProvider = PROVIDERS.includes(model.slice(0, colon).trim().toLowerCase());
  return isProvider && rest.trim() !== "" && !TAG.test(rest.trim().toLowerCase()) ? rest.trim() : model;
}
