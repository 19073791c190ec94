// Beginnings of words, spelled out. FTS5 puts all messages of all words with a beginning together before it gives the
// first one; of words that are named it gives the newest ones at once.
import type { Expression, Phrase } from "../../search/query.ts";
import type { Connection } from "../connection.ts";
import { wordsWithBeginning } from "./vocabulary.ts";

export type Spelled = {
  readonly expression: Expression;
  /** False when there are more words than were spelled out: what is found is right, but not all. */
  readonly isComplete: boolean;
};

export function spellOut(connection: Connection, expression: Expression): Spelled {
  switch (expression.op) {
    case "phrase":
      return expression.isPrefix && expression.words.length === 1
        ? spellOutWord(connection, expression)
        : { expression, isComplete: true };
    case "and":
    case "or": {
      const parts = expression.parts.map((part) => spellOut(connection, part));
      const isComplete = parts.every((part) => part.isComplete);
      return { expression: { op: expression.op, parts: parts.map((part) => part.expression) }, isComplete };
    }
    case "not": {
      // What is to be left out must be left out whole.
      const left = spellOut(connection, expression.left);
      return { expression: { ...expression, left: left.expression }, isComplete: left.isComplete };
    }
    default:
      return expression satisfies never;
  }
}

function spellOutWord(connection: Connection, phrase: Phrase): Spelled {
  const { words, isComplete } = wordsWithBeginning(connection, phrase.words[0] ?? "");
  if (words.length === 0) return { expression: phrase, isComplete: true };
  const parts = words.map((word): Phrase => ({ op: "phrase", words: [word], isPrefix: false }));
  return { expression: { op: "or", parts }, isComplete };
}
