// Message content as Kimi's programs write it: text, or a list of typed parts.
import { blocksOf } from "../kit/blocks.ts";
import type { Signal } from "./kimi-turns.ts";

type Content = { readonly text: string; readonly reasoning: string };

export function contentOf(content: unknown, unknown: (type: string) => void): Content {
  const unknownPart = (type: string): void => unknown(type.replace("block", "part"));
  const { text, reasoning = "" } = blocksOf(content, unknownPart, (part) => {
    if (part.type === "think") return { type: "thinking", thinking: part.think, text: part.text };
    // Media are kept in files beside the log and never read.
    const medium = /^(audio|video)_url$/.exec(String(part.type))?.[1];
    return medium === undefined ? part : { type: "text", text: `[${medium}]` };
  });
  return { text, reasoning };
}

export function contentSignals({ text, reasoning }: Content): readonly Signal[] {
  return [
    ...(text === "" ? [] : [{ kind: "text", text } as const]),
    ...(reasoning === "" ? [] : [{ kind: "thought", text: reasoning } as const]),
  ];
}
