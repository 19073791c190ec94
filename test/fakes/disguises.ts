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
  "tag characters": tags,
  "tags behind a flag": (text) => `\u{1f3f4}${tags(text)}\u{e007f}`,
};
