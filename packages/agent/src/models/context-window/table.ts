// Windows of well-known models, in tokens. The longest key that the model's name holds counts; a name that is only a part
// of a key does not.

/** For a model that nobody knows anything about. */
export const DEFAULT_WINDOW = 256_000;

const MILLION = 1_000_000;

const WINDOWS: Readonly<Record<string, number>> = {
  claude: 200_000,
  ...each(["claude-opus-4-6", "claude-opus-4.6", "claude-sonnet-4-6", "claude-sonnet-4.6"], MILLION),
  ...each(["claude-opus-4-7", "claude-opus-4.7", "claude-opus-4-8", "claude-opus-4.8"], MILLION),
  "gpt-5": 400_000,
  ...each(["gpt-5.4", "gpt-5.5"], 1_050_000),
  ...each(["gpt-5.4-mini", "gpt-5.4-nano"], 400_000),
  "gpt-4.1": 1_047_576,
  "gpt-4": 128_000,
  gemini: 1_048_576,
  deepseek: 128_000,
  ...each(["deepseek-v4", "deepseek-chat", "deepseek-reasoner"], MILLION),
  ...each(["llama", "qwen", "nemotron"], 131_072),
  glm: 202_752,
  kimi: 262_144,
  minimax: 204_800,
  "minimax-m3": MILLION,
  "grok-4": 256_000,
  "grok-4.3": MILLION,
};

const LONGEST_FIRST = Object.keys(WINDOWS).sort((one, other) => other.length - one.length);

export function windowFromTable(model: string): number | undefined {
  const name = model.toLowerCase();
  const key = LONGEST_FIRST.find((candidate) => name.includes(candidate));
  return key === undefined ? undefined : WINDOWS[key];
}

function each(keys: readonly string[], tokens: number): Record<string, number> {
  return Object.fromEntries(keys.map((key) => [key, tokens]));
}
