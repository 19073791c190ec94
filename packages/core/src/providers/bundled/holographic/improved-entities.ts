// Which names a text mentions under `scoring: structural`. Against the original's rules: an apostrophe is no quote, and
// `X aka Y` gives one thing with two names instead of two things, of which the second runs to the end of the clause.
import { CAPITALISED, DOUBLE_QUOTED, distinctNames, type Mentions } from "./entities.ts";
import { SPACE, WORD } from "./words.ts";

/** A quote opens where no word ends and closes where no word goes on; inside a word it is an apostrophe. */
const QUOTED_INNER = `(?:[^'\\n]|(?<=[${WORD}])'(?=[${WORD}]))+?`;
const SINGLE_QUOTED = new RegExp(
  `(?<![${WORD}])'(?![${SPACE}])(${QUOTED_INNER})(?<![${SPACE}])'(?![${WORD}])`,
  "gu",
);

const AKA = new RegExp(`(?<![${WORD}])(?:aka|also[${SPACE}]+known[${SPACE}]+as)(?![${WORD}])`, "giu");
const CAPITAL_WORDS = `\\p{Lu}[${WORD}-]*(?:[${SPACE}]+\\p{Lu}[${WORD}-]*)*`;
const NAME_BEFORE = new RegExp(`(?:"([^"]+)"|(${CAPITAL_WORDS})|([${WORD}-]+))[${SPACE},(]+$`, "u");
const NAME_AFTER = new RegExp(
  `^[${SPACE}]+(?:"([^"]+)"|(?:(?:the|a|an)[${SPACE}]+)?(${CAPITAL_WORDS})|(?!(?:the|a|an)[${SPACE}])([${WORD}-]+))`,
  "u",
);
/** No name is longer; it bounds what is looked at around each keyword. */
const REACH = 120;

export function improvedMentions(text: string): Mentions {
  const found = akaNames(text);
  const aliases = found.flatMap(({ name, alias }) => (alias === undefined ? [] : [{ name, alias }]));
  const isAlias = new Set(aliases.map(({ alias }) => alias.toLowerCase()));
  const names = distinctNames([
    ...[...text.matchAll(CAPITALISED)].map(([phrase]) => phrase),
    ...[...text.matchAll(DOUBLE_QUOTED)].map(([, inner = ""]) => inner),
    ...[...text.matchAll(SINGLE_QUOTED)].map(([, inner = ""]) => inner),
    ...found.map(({ name }) => name),
  ]);
  return { names: names.filter((name) => !isAlias.has(name.toLowerCase())), aliases };
}

type AkaNames = { readonly name: string; readonly alias: string | undefined };

function akaNames(text: string): AkaNames[] {
  const mainName = new Map<string, string>();
  return [...text.matchAll(AKA)].flatMap((keyword): AkaNames[] => {
    const end = keyword.index + keyword[0].length;
    const before = firstGroup(
      NAME_BEFORE.exec(text.slice(Math.max(0, keyword.index - REACH), keyword.index)),
    );
    const alias = usableAlias(firstGroup(NAME_AFTER.exec(text.slice(end, end + REACH))));
    if (before === undefined) return [];
    // `A aka B aka C`: B is a name of A already, so C has to be one of A's too.
    const name = mainName.get(before.toLowerCase()) ?? before;
    if (alias === undefined || alias.toLowerCase() === name.toLowerCase())
      return [{ name, alias: undefined }];
    mainName.set(alias.toLowerCase(), name);
    return [{ name, alias }];
  });
}

/** Aliases are kept as one text with commas between them. */
function usableAlias(alias: string | undefined): string | undefined {
  return alias?.includes(",") ? undefined : alias;
}

function firstGroup(match: RegExpExecArray | null): string | undefined {
  return distinctNames(match?.slice(1).filter((group) => group !== undefined) ?? [])[0];
}
