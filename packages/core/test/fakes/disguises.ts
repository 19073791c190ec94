// Ways to write a sentence so that a person, or a model, reads it and a pattern for ASCII does not.

const shifted = (from: string, to: string, first: number) => (text: string) =>
  [...text]
    .map((letter) =>
      letter >= from && letter <= to
        ? String.fromCodePoint(first + (letter.codePointAt(0) ?? 0) - (from.codePointAt(0) ?? 0))
        : letter,
    )
    .join("");

const exchanged = (from: string, to: string) => (text: string) =>
  [...text].map((letter) => [...to][[...from].indexOf(letter)] ?? letter).join("");

/** Every visible ASCII character in its wide form. */
export const fullwidth = shifted("!", "~", 0xff01);

/** ASCII as tag characters, which show nothing. */
export function tags(text: string): string {
  return [...text].map((letter) => String.fromCodePoint(0xe0000 + (letter.codePointAt(0) ?? 0))).join("");
}

export const DISGUISES: Readonly<Record<string, (text: string) => string>> = {
  fullwidth,
  "mathematical bold": shifted("a", "z", 0x1d41a),
  "mathematical script": shifted("a", "z", 0x1d4ea),
  "mathematical sans": shifted("a", "z", 0x1d5ba),
  "mathematical monospace": shifted("a", "z", 0x1d68a),
  circled: shifted("a", "z", 0x24d0),
  "negative squared": (text) => shifted("A", "Z", 0x1f170)(text.toUpperCase()),
  "regional indicators": (text) => shifted("A", "Z", 0x1f1e6)(text.toUpperCase()),
  "Cyrillic look-alikes": exchanged("aceiopsxyjh", "асеіорѕхујһ"),
  "Greek look-alikes": exchanged("aenoptuvx", "αεηορτυνχ"),
  "Armenian look-alikes": exchanged("ghnouq", "ցհոօսզ"),
  "small capitals": exchanged("abcdefghijklmnoprstuvwyz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ"),
  "dotless and stroked letters": exchanged("iodlt", "ıøđłŧ"),
  accents: exchanged("aeiou", "áèïôü"),
  "struck out": (text) => [...text].map((letter) => `${letter}\u0336`).join(""),
  "soft hyphens": (text) => text.replace(/(\w)(?=\w)/g, "$1\u00ad"),
  "variation selectors": (text) => text.replace(/(\w)(?=\w)/g, "$1\ufe0e"),
  "invisible operators": (text) => text.replace(/(\w)(?=\w)/g, "$1\u2061"),
  "braille blanks": (text) => text.replaceAll(" ", "\u2800"),
  "Hangul fillers for blanks": (text) => text.replaceAll(" ", "\u3164"),
  ...Object.fromEntries(
    [
      0x3164, 0xffa0, 0x115f, 0x1160, 0xfff9, 0xfffa, 0xfffb, 0xfffc, 0x2800, 0xe000, 0xf8ff, 0xf0000,
      0x10fffd, 0xfdd0, 0xffff, 0x1ffff, 0x01, 0x08, 0x0b, 0x1c, 0x1f, 0x7f, 0x80, 0x85, 0x9f,
    ].map((codePoint) => [
      `letters held apart by U+${codePoint.toString(16)}`,
      (text: string) => text.replace(/(\w)(?=\w)/g, `$1${String.fromCodePoint(codePoint)}`),
    ]),
  ),
  emphasis: (text) => text.replace(/\w+/g, "**$&**"),
  "tags of HTML": (text) => text.replace(/\w+/g, '<b class="x">$&</b>'),
  "tags within words": (text) => text.replace(/(\w\w)(?=\w)/g, "$1<i></i>"),
  links: (text) => text.replace("all", "[all](https://a.example/b)"),
  entities: (text) => text.replaceAll("o", "&#111;").replaceAll("i", "&#x69;"),
  "lines of a quotation": (text) => text.replaceAll(" ", "\n> "),
  "cells of a table": (text) => text.replaceAll(" ", " | "),
  "hyphens for blanks": (text) => text.replaceAll(" ", "-"),
  "hyphens within words": (text) => text.replace(/(\w{3})(?=\w{3})/g, "$1-"),
  "spaced letters": (text) => [...text].join(" "),
  "letters with dots": (text) => text.replace(/\w(?=\w)/g, "$&."),
  "spaced letters without words": (text) => [...text.replaceAll(" ", "")].join(" "),
  "emphasised look-alikes": (text) =>
    `_${exchanged("aceiopsxyjh", "асеіорѕхујһ")(text).replace(/ /g, "_ _")}_`,
  "colour sequences": (text) => text.replace(/(\w)(?=\w)/g, "$1\u001b[1;31m"),
  "a terminal's title": (text) => text.replace(/(\w)(?=\w)/g, "$1\u001b]0;x\u0007"),
  "a sequence that ends in a letter": (text) => text.replaceAll("ig", "\u001b[i\uff47"),
  "supplementary selectors": (text) => text.replace(/\w/g, "$&\u{e0104}"),
  ...Object.fromEntries(
    [..."Ꮎ𐐬סهဝഠ०ⵔ〇○"].map((ring) => [`rings of ${ring}`, (text: string) => text.replaceAll("o", ring)]),
  ),
  "Cyrillic п and г": exchanged("nr", "пг"),
  "Cyrillic н for n": exchanged("n", "н"),
  insular: exchanged("grst", "ᵹꞃꞅꞇ"),
  turned: exchanged("geacrt", "ƃǝɐɔɹʇ"),
  parenthesised: shifted("a", "z", 0x249c),
  "digits for letters": exchanged("oies", "0135"),
  "signs for letters": exchanged("loas", "|0@$"),
  "l for i": exchanged("i", "l"),
  "digits in wide letters": (text) => fullwidth(exchanged("oies", "0135")(text)),
  "tag characters": tags,
  "tags behind a flag": (text) => `\u{1f3f4}${tags(text)}\u{e007f}`,
};
