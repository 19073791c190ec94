// Cuts a Markdown text into what stands between the two `---` lines at its top and the rest. Pure.

export type SplitText =
  | { readonly kind: "closed"; readonly yaml: string; readonly body: string }
  /** It opens and never ends. */
  | { readonly kind: "open"; readonly yaml: string; readonly body: "" }
  | { readonly kind: "none"; readonly body: string };

/** Expects LF line ends. */
export function splitFrontmatter(text: string): SplitText {
  const opened = /^---[ \t]*(?:\n|$)/.exec(text);
  if (opened === null) return { kind: "none", body: text };
  const closing = /^---[ \t]*$/gm;
  closing.lastIndex = opened[0].length;
  const closed = closing.exec(text);
  if (closed === null) return { kind: "open", yaml: text.slice(opened[0].length), body: "" };
  return {
    kind: "closed",
    yaml: text.slice(opened[0].length, closed.index),
    body: text.slice(closed.index + closed[0].length + 1),
  };
}
