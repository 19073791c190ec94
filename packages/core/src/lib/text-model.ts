// The one port through which summaries, titles and query expansion reach a language model.

export interface TextModel {
  complete(request: {
    system?: string;
    prompt: string;
    maxOutputTokens?: number;
    signal?: AbortSignal;
  }): Promise<string>;
}
