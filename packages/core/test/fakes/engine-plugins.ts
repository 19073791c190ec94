// Context engines as people drop them into a home's plugins folder.
import { writePlugin } from "./plugins.ts";

/** The body of a class that is a context engine. */
export function engineMembers(name: string, more = ""): string {
  return `
    name = ${JSON.stringify(name)};
    lastPromptTokens = 0; lastCompletionTokens = 0; lastTotalTokens = 0;
    thresholdTokens = 0; contextLength = 0; compressionCount = 0;
    updateFromResponse() {}
    shouldCompress() { return false; }
    async compress(messages) {
      return { kind: "unchanged", messages, leftOut: [], prunedResults: 0, tokensBefore: 0, tokensAfter: 0, notices: [] };
    }
    getStatus() {
      return { last_prompt_tokens: 0, threshold_tokens: this.thresholdTokens, context_length: this.contextLength, usage_percent: 0, compression_count: 0 };
    }
    ${more}
  `;
}

/** JavaScript that is TypeScript too. */
export function engineClass(className: string, name: string, more = ""): string {
  return `class ${className} {${engineMembers(name, more)}}\n`;
}

export const UPDATE_MODEL =
  "updateModel({ contextLength }) { this.contextLength = contextLength; this.thresholdTokens = contextLength / 2; }";

export function writeEngine(
  home: string,
  name: string,
  source: string,
  options: { readonly manifest?: string; readonly file?: string } = {},
): string {
  const manifest =
    options.manifest ?? `name: ${name}\nkind: context_engine\ndescription: "Keeps what matters"\n`;
  return writePlugin(home, name, { "plugin.yaml": manifest, [options.file ?? "index.mjs"]: source });
}

/** An engine that registers itself the way the documentation shows. */
export function registering(name: string, more = UPDATE_MODEL): string {
  return `${engineClass("Sample", name, more)}
export function register(ctx) { ctx.registerContextEngine(new Sample()); }
`;
}
