// Whether a text that is in no index answers a query, and where. For texts that are few, such as summaries.
import { type Expression, type Phrase, parseQuery } from "./query.ts";
import { makeSnippet, makeSubstringSnippet } from "./snippet.ts";
import { indexTerms, isStopWord, isUnspacedTerm, phraseTerms, stem } from "./words.ts";

export type TextMatch = {
  /** 1 when everything asked for is there, less when only some of a plain query's words are. */
  readonly score: number;
  readonly snippet: string;
};

/** So much of a plain query has to be in a text at least. */
const LEAST_SHARE = 0.5;

/** Made once per query; undefined for a query that asks for nothing. */
export function textMatcher(query: string): ((text: string) => TextMatch | undefined) | undefined {
  const parsed = parseQuery(query);
  switch (parsed.kind) {
    case "blank":
      return undefined;
    case "explicit": {
      const { expression } = parsed;
      const asked = phrasesOf(expression);
      return (text) => {
        const has = finderIn(text, (word) => word);
        return holds(expression, has) ? { score: 1, snippet: drawn(text, asked, (word) => word) } : undefined;
      };
    }
    case "plain": {
      const terms = parsed.terms.map(({ words }): Phrase => ({ op: "phrase", words, isPrefix: false }));
      const telling = terms.filter(({ words }) => words.length > 1 || !isStopWord(words[0] ?? ""));
      const asked = telling.length === 0 ? terms : telling;
      return (text) => {
        const has = finderIn(text, stem);
        const score = asked.filter(has).length / asked.length;
        return score >= LEAST_SHARE ? { score, snippet: drawn(text, asked, stem) } : undefined;
      };
    }
    default:
      return parsed satisfies never;
  }
}

type Find = (phrase: Phrase) => boolean;
/** What two words have in common that count as the same. */
type Root = (word: string) => string;

/** Looks for phrases the way the index does: words by word, runs without blanks by their pairs of characters. */
function finderIn(text: string, root: Root): Find {
  const terms = indexTerms(text).map(root);
  const places = new Map<string, number[]>();
  for (const [at, term] of terms.entries()) {
    const known = places.get(term);
    if (known) known.push(at);
    else places.set(term, [at]);
  }
  return ({ words, isPrefix: isStarred }) => {
    const { terms: given, isPrefix } = phraseTerms(words, isStarred);
    const [first = "", ...others] = given;
    if (others.length === 0 && isPrefix) return terms.some((term) => term.startsWith(first));
    const last = others.length - 1;
    return (places.get(root(first)) ?? []).some((at) =>
      others.every((term, index) => {
        const found = terms[at + 1 + index];
        return isPrefix && index === last ? found?.startsWith(term) : found === root(term);
      }),
    );
  };
}

function holds(expression: Expression, has: Find): boolean {
  switch (expression.op) {
    case "phrase":
      return has(expression);
    case "and":
      return expression.parts.every((part) => holds(part, has));
    case "or":
      return expression.parts.some((part) => holds(part, has));
    case "not":
      return holds(expression.left, has) && !holds(expression.right, has);
    default:
      return expression satisfies never;
  }
}

/** What was asked for, without what was excluded. */
function phrasesOf(expression: Expression): readonly Phrase[] {
  switch (expression.op) {
    case "phrase":
      return [expression];
    case "and":
    case "or":
      return expression.parts.flatMap(phrasesOf);
    case "not":
      return phrasesOf(expression.left);
    default:
      return expression satisfies never;
  }
}

function drawn(text: string, asked: readonly Phrase[], root: Root): string {
  const needles = asked.flatMap(({ words }) => words).filter(isUnspacedTerm);
  if (needles.length > 0) return makeSubstringSnippet(text, needles);
  const single = asked.filter(({ words }) => words.length === 1);
  const exact = new Set(single.map(({ words }) => root(words[0] ?? "")));
  const beginnings = single.filter(({ isPrefix }) => isPrefix).map(({ words }) => words[0] ?? "");
  const isMatch = (word: string): boolean =>
    exact.has(root(word)) || beginnings.some((start) => word.startsWith(start));
  const phrases = asked.filter(({ words }) => words.length > 1).map(({ words }) => words);
  return makeSnippet(text, isMatch, phrases);
}
