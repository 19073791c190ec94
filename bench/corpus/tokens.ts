// The tokens of generated texts: frequent words, names, paths and numbers.
import { hex, pick, type Random, zipf } from "../../packages/core/test/fakes/random.ts";
import { CHINESE, ENGLISH } from "./words.ts";

export type Tokens = ReturnType<typeof tokensFrom>;

export function tokensFrom(random: Random) {
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

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
