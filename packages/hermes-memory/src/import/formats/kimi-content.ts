// Message content as Kimi's programs write it: text, or a list of typed parts.
import { joined, listOf, recordOf, textOf } from "../kit/values.ts";

export type Content = { readonly text: string; readonly reasoning: string };

/** Media are kept in files beside the log and never read. */
const MEDIA: Readonly<Record<string, string>> = {
  image_url: "[image]",
  audio_url: "[audio]",
  video_url: "[video]",
};

export function contentOf(content: unknown, unknown: (type: string) => void): Content {
  if (typeof content === "string") return { text: content, reasoning: "" };
  const texts: (string | undefined)[] = [];
  const thoughts: (string | undefined)[] = [];
  for (const item of listOf(content)) {
    const part = typeof item === "string" ? { type: "text", text: item } : recordOf(item);
    const type = textOf(part?.type) ?? "";
    if (type === "text") texts.push(textOf(part?.text));
    else if (type === "think") thoughts.push(textOf(part?.think) ?? textOf(part?.text));
    else if (MEDIA[type] !== undefined) texts.push(MEDIA[type]);
    else unknown(`part ${type || "without type"}`);
  }
  return { text: joined(texts), reasoning: joined(thoughts) };
}
