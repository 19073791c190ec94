// How many columns a text takes on a terminal: East Asian characters and emoji take two, marks on letters none.

const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });
const PLAIN = /^[\x20-\x7e]*$/;
const MARKS_ONLY = /^[\p{M}\p{Cf}\u200b]+$/u;
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u;
/** Blocks a terminal draws two columns wide (East Asian Width W and F). */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{20000}-\u{3fffd}]/u;

export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return graphemesOf(text).reduce((sum, grapheme) => sum + widthOf(grapheme), 0);
}

/** The text in at most `columns`, an ellipsis at its end when something had to go. Never cuts a character in two. */
export function cutToWidth(text: string, columns: number): string {
  if (columns <= 0) return "";
  if (PLAIN.test(text)) return text.length <= columns ? text : `${text.slice(0, columns - 1)}…`;
  let taken = "";
  let used = 0;
  let fits = ""; // what is left when the ellipsis needs a column
  for (const grapheme of graphemesOf(text)) {
    const width = widthOf(grapheme);
    if (used + width > columns) return `${fits}…`;
    taken += grapheme;
    used += width;
    if (used < columns) fits = taken;
  }
  return taken;
}

/** Cut and filled up to exactly `columns`. */
export function fitToWidth(text: string, columns: number): string {
  const cut = cutToWidth(text, columns);
  return cut + " ".repeat(Math.max(0, columns - displayWidth(cut)));
}

/** What one press of the backspace key leaves. */
export function withoutLastGrapheme(text: string): string {
  return graphemesOf(text).slice(0, -1).join("");
}

function graphemesOf(text: string): string[] {
  return Array.from(GRAPHEMES.segment(text), ({ segment }) => segment);
}

function widthOf(grapheme: string): 0 | 1 | 2 {
  if (MARKS_ONLY.test(grapheme)) return 0;
  return EMOJI.test(grapheme) || WIDE.test(grapheme) ? 2 : 1;
}
