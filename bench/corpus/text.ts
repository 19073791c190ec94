// Generated texts of a given length: prose in English or Chinese, answers, code, commands and the output of tools.
import { hex, pick, type Random, randomNumbers, zipf } from "../../packages/core/test/fakes/random.ts";

export type TextWriter = ReturnType<typeof textWriter>;

export function textWriter(random: Random) {
  const tokens = tokensFrom(random);
  const { name, path } = tokens;
  const { sentence, hanSentence, codeLine, logLine, field, bullet } = piecesOf(tokens, random);
  const isChinese = () => random() < CHINESE_SHARE;
  return {
    path,
    code: (length: number) => fill(length, codeLine),
    command: () =>
      `${pick(["git log", "npm test", "rg -n", "ls -la", "python3 -m"], random)} ${name()} ${path()}`,
    prose: (length: number) => fill(length, isChinese() ? hanSentence : sentence),
    answer(length: number) {
      if (isChinese()) return fill(length, hanSentence);
      if (length < 400 || random() < 0.7) return fill(length, bullet);
      const code = `\n\`\`\`ts\n${fill(length / 3, codeLine)}\n\`\`\`\n`;
      return `${fill(length - code.length, bullet)}${code}`;
    },
    toolOutput: (length: number) =>
      fill(
        length,
        isChinese() ? hanSentence : pick([logLine, logLine, codeLine, codeLine, field, sentence], random),
      ),
  };
}

/** Gives a tenth of all messages in Chinese: messages that only call tools have no text. */
const CHINESE_SHARE = 0.11;

/** Exactly `length` characters. Every character used here is one UTF-16 unit, so a cut never splits one. */
function fill(length: number, piece: () => string): string {
  let out = "";
  while (out.length < length) out += piece();
  return out.slice(0, length);
}

/** Sentences and lines of random length. */
function piecesOf({ word, hanWord, number, path, name, rare, words }: Tokens, random: Random) {
  const sentence = () => {
    const list = words(5 + Math.floor(random() * 14));
    if (list.length > 11) list[5] = `${list[5]},`;
    return `${capital(list.join(" "))}${random() < 0.12 ? "?" : "."}${random() < 0.15 ? "\n\n" : " "}`;
  };
  const hanSentence = () => {
    let out = "";
    const count = 4 + Math.floor(random() * 12);
    for (let i = 0; i < count; i += 1) {
      if (i > 0 && random() < 0.12) out += "，";
      out += random() < 0.02 ? ` ${rare()} ` : hanWord();
    }
    return `${out}${random() < 0.12 ? "？" : "。"}${random() < 0.1 ? "\n" : ""}`;
  };
  const codeLine = () =>
    pick(
      [
        () => `const ${name()} = ${name()}(${word()}, ${number()});\n`,
        () => `  if (${word()}.${name()} === "${word()}") return ${name()};\n`,
        () => `  // ${words(7).join(" ")}\n`,
        () => `import { ${name()} } from "${path()}";\n`,
        () => `    self.${name()} = ${name()}[${number()}]\n`,
      ],
      random,
    )();
  const logLine = () =>
    pick(
      [
        () => `${path()}:${number()}: ${words(6).join(" ")}\n`,
        () => `[INFO] ${name()} ${words(5).join(" ")} took ${number()} ms\n`,
        () => `-rw-r--r-- 1 agent agent ${number()} ${path()}\n`,
        () => `commit ${hex(random, 40)} ${words(6).join(" ")}\n`,
      ],
      random,
    )();
  const field = () => `"${name()}": ${random() < 0.4 ? number() : `"${words(5).join(" ")}"`}, `;
  const bullet = () => (random() < 0.2 ? `- **${name()}**: ${sentence()}\n` : sentence());
  return { sentence, hanSentence, codeLine, logLine, field, bullet };
}

// The tokens of generated texts: frequent words, names, paths and numbers.

type Tokens = ReturnType<typeof tokensFrom>;

function tokensFrom(random: Random) {
  const word = zipf(ENGLISH, random);
  const hanWord = zipf(CHINESE, random);
  const number = () => String(Math.floor(10 ** (random() * 5)));
  const path = () =>
    `${pick(["src", "test", "docs", "~/projects", "/var/log", "/usr/lib"], random)}/${word()}/${word()}_${word()}.${pick(FILE_ENDINGS, random)}`;
  const name = () => {
    const second = word();
    return random() < 0.5 ? `${word()}_${second}` : `${word()}${capital(second)}`;
  };
  /** A token that occurs once or a few times. Users often search for these, and they fill an index. */
  const rare = () => {
    const kind = random();
    if (kind < 0.35) return name();
    if (kind < 0.55) return path();
    if (kind < 0.8) return number();
    if (kind < 0.9) return `v${number()}.${Math.floor(random() * 20)}`;
    return hex(random, 8);
  };
  const words = (count: number) => Array.from({ length: count }, () => (random() < 0.05 ? rare() : word()));
  return { word, hanWord, number, path, name, rare, words };
}

const FILE_ENDINGS = ["ts", "py", "md", "json", "log", "rs", "go", "yaml"];

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// The vocabulary of the generated messages, the most frequent words first.

const FUNCTION_WORDS = (
  "the to of and a in is it you that for on with this as be are we can not i have from or at by if an was will use " +
  "but all your what so when there then which do has should one my more no up out need file they about also just any " +
  "how its into now only some run see would get make set new could our time first like than other where after here " +
  "add does each same them next before want because check work over let error using these both change however still " +
  "try please already found below without while since done"
).split(" ");

export const ENGLISH = [...FUNCTION_WORDS, ...madeUpWords(7000)];
const CHINESE = chineseWords(6000);

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
