// Models for tests: they answer, fail or hang as told, and remember the prompts.
import type { TextModel } from "../../src/lib/index.ts";

export type AskedModel = TextModel & {
  readonly prompts: string[];
  readonly requests: Parameters<TextModel["complete"]>[0][];
};

/** The model throws what `answer` throws. */
export function modelThat(answer: (prompt: string, call: number) => string | Promise<string>): AskedModel {
  const requests: Parameters<TextModel["complete"]>[0][] = [];
  const prompts: string[] = [];
  return {
    prompts,
    requests,
    complete: async (request) => {
      requests.push(request);
      prompts.push(request.prompt);
      return answer(request.prompt, prompts.length);
    },
  };
}

export const answering = (text: string): AskedModel => modelThat(() => text);

export const failing = (cause: unknown = new Error("the model is gone")): AskedModel =>
  modelThat(() => {
    throw cause;
  });

/** Repeats every `fact-…` from the previous summary and the turns, as a good model would. */
export const remembering = (): AskedModel =>
  modelThat((prompt) => `## Goal\nGo on.\n\n## Critical Context\n${factsIn(prompt).join("\n")}`);

export function factsIn(text: string): string[] {
  return [...new Set(text.match(/fact-\w+/g) ?? [])];
}
