// Words written with digits and signs for letters (`1gn0re`, `in$tructi0ns`), and with letters that look the same (`lgnore`).
// Only words that then are a word of the threat table are read so; every other digit stays a digit.
import { THREAT_PATTERNS } from "../threats/patterns.ts";

const LOOKS = new Map([
  ["0", "o"],
  ["1", "l"],
  ["|", "l"],
  ["!", "l"],
  ["i", "l"],
  ["3", "e"],
  ["4", "a"],
  ["@", "a"],
  ["5", "s"],
  ["$", "s"],
  ["7", "t"],
]);
const FEWEST_LETTERS = 3;
const LONGEST = 24;

let words: ReadonlyMap<string, string> | undefined;

/** Of the same length as the text, so that every place stays where it is; undefined when no word is written so. */
export function readDigitsAsLetters(text: string): string | undefined {
  words ??= wordsOfThreats();
  const known = words;
  let isChanged = false;
  const read = text.replace(/[A-Za-z0-9|!@$]+/g, (run) => {
    const word = run.length <= LONGEST ? wordIn(run, known) : undefined;
    if (word === undefined) return run;
    isChanged = true;
    return word;
  });
  return isChanged ? read : undefined;
}

function wordIn(run: string, known: ReadonlyMap<string, string>): string | undefined {
  const small = run.toLowerCase();
  const whole = known.get(looksOf(small));
  if (whole !== undefined) return whole === small ? undefined : whole;
  const core = small.replace(/!+$/, ""); // the end of a sentence
  const word = known.get(looksOf(core));
  return word === undefined || word === core ? undefined : word + run.slice(core.length);
}

function looksOf(word: string): string {
  let looks = "";
  for (const letter of word) looks += LOOKS.get(letter) ?? letter;
  return looks;
}

/** By their looks. Patterns about commands and files are not told in such words. */
function wordsOfThreats(): ReadonlyMap<string, string> {
  const built = new Map<string, string>();
  for (const { shape, id } of THREAT_PATTERNS) {
    if (!SPOKEN.has(id)) continue;
    for (const [word] of shape.replace(/\[[a-z]+\]|\{[^}]*\}/g, " ").matchAll(/[a-z]+/g))
      if (word.length >= FEWEST_LETTERS) built.set(looksOf(word), word);
  }
  return built;
}

/** Patterns that are instructions in plain words. */
export const SPOKEN: ReadonlySet<string> = new Set([
  "prompt_injection",
  "sys_prompt_override",
  "disregard_rules",
  "bypass_restrictions",
  "deception_hide",
  "role_hijack",
  "role_pretend",
  "leak_system_prompt",
  "remove_filters",
  "fake_update",
  "identity_override",
]);
