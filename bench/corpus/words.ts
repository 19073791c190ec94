// The vocabulary of the generated messages, the most frequent words first.
import { pick, randomNumbers, zipf } from "../../packages/core/test/fakes/random.ts";

const FUNCTION_WORDS = (
  "the to of and a in is it you that for on with this as be are we can not i have from or at by if an was will use " +
  "but all your what so when there then which do has should one my more no up out need file they about also just any " +
  "how its into now only some run see would get make set new could our time first like than other where after here " +
  "add does each same them next before want because check work over let error using these both change however still " +
  "try please already found below without while since done"
).split(" ");

export const ENGLISH = [...FUNCTION_WORDS, ...madeUpWords(7000)];
export const CHINESE = chineseWords(6000);

/** Invented words of English sound, short ones first: frequent words are short. */
function madeUpWords(count: number): string[] {
  const random = randomNumbers(11);
  const syllable = () =>
    pick(
      "b c d f g h l m n p r s t v w br ch cl cr dr fl gr pl pr qu sh sl st str th tr".split(" "),
      random,
    ) +
    pick("a e i o u a e i o ai ea ou".split(" "), random) +
    pick(["", "", "", "n", "r", "s", "l"], random);
  const words = new Set<string>();
  while (words.size < count) {
    const syllables = 1 + Math.floor((words.size / count) * 2 + random() * 1.5);
    words.add(Array.from({ length: syllables }, syllable).join(""));
  }
  return [...words];
}

/** Mostly two characters each. The decoder supplies the 3,755 common characters of GB 2312, level 1. */
function chineseWords(count: number): string[] {
  const random = randomNumbers(12);
  const bytes: number[] = [];
  for (let row = 0xb0; row <= 0xd7; row += 1)
    for (let cell = 0xa1; cell <= (row === 0xd7 ? 0xf9 : 0xfe); cell += 1) bytes.push(row, cell);
  const characters = [...new TextDecoder("gb18030").decode(Uint8Array.from(bytes))];
  for (let i = characters.length - 1; i > 0; i -= 1) {
    const other = Math.floor(random() * (i + 1));
    [characters[i], characters[other]] = [characters[other] ?? "", characters[i] ?? ""];
  }
  const character = zipf(characters, random);
  const words = new Set(characters.slice(0, 60));
  while (words.size < count) {
    const length = random() < 0.15 ? 1 : random() < 0.85 ? 2 : 3;
    words.add(Array.from({ length }, character).join(""));
  }
  return [...words];
}
