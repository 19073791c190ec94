// Splitting a command line as a shell would, without running one. Pure.
import { err, isWhitespaceUnit, ok, type Result } from "../../lib/index.ts";

/** Words in quotes stay together; variables, pipes and redirections mean nothing. */
export function splitCommandLine(line: string): Result<readonly string[], string> {
  const words: string[] = [];
  let word: string | undefined; // undefined between words; "" is a word when it was quoted
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const character = line.charAt(at);
    if (quote !== "") {
      if (character === quote) quote = "";
      else if (character === "\\" && quote === '"' && /["\\$`]/.test(line.charAt(at + 1))) {
        at += 1;
        word = (word ?? "") + line.charAt(at);
      } else word = (word ?? "") + character;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= "";
    } else if (character === "\\") {
      if (at + 1 >= line.length) return err("it ends with a backslash");
      at += 1;
      word = (word ?? "") + line.charAt(at);
    } else if (isWhitespaceUnit(line.charCodeAt(at))) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quote !== "") return err(`a ${quote} is never closed`);
  if (word !== undefined) words.push(word);
  return ok(words);
}
