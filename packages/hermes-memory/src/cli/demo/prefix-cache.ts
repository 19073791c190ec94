// What a vendor's prompt cache would have served: what a request has in common, from its first byte on, with an earlier one. In
// blocks of 128 tokens from 1,024 on, as OpenAI counts it. A prompt that changed at its beginning therefore gets nothing.

/** No tokenizer: four characters count as one token, here as in the agent's own estimates. */
const CHARS_PER_TOKEN = 4;
const LEAST_TOKENS = 1_024;
const BLOCK_TOKENS = 128;
/** A cache forgets; a server that is left running must not remember for ever. */
const MOST_PROMPTS = 100;

export function tokensOf(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

export class PrefixCache {
  #seen: readonly string[] = [];

  /** How many tokens of this prompt the cache has; from now on it has all of them. */
  take(prompt: string): number {
    const shared = this.#seen.reduce((most, earlier) => Math.max(most, commonPrefix(earlier, prompt)), 0);
    this.#seen = [...this.#seen.slice(1 - MOST_PROMPTS), prompt];
    const tokens = Math.floor(shared / CHARS_PER_TOKEN);
    return tokens < LEAST_TOKENS ? 0 : tokens - (tokens % BLOCK_TOKENS);
  }
}

function commonPrefix(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}
