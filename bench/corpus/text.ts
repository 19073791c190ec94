// Generated texts of a given length: prose in English or Chinese, answers, code, commands and the output of tools.
import { hex, pick, type Random } from "../../packages/core/test/fakes/random.ts";
import { capital, type Tokens, tokensFrom } from "./tokens.ts";

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
