// The text of a stream that has to be visible, computed from the documented rule and the complete text. Deliberately slow and simple, and
// without code of the scrubber: the tests and the soak compare the two.

/** The visible text at the end of the stream. */
export function visibleText(text: string): string {
  return walk(text, { isOver: true });
}

/** The text that must have been shown after exactly this much of the stream, for every division into chunks. */
export function shownSoFar(text: string): string {
  return walk(text, { isOver: false });
}

const OPEN = "<memory-context>";
const CLOSE = "</memory-context>";
const BLANKS =
  "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a" +
  "\u2028\u2029\u202f\u205f\u3000";

function walk(text: string, { isOver }: { readonly isOver: boolean }): string {
  let shown = "";
  let isHidden = false;
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at);
    if (isHidden && startsWithTag(rest, CLOSE)) {
      isHidden = false;
      at += CLOSE.length;
    } else if (isHidden) {
      at += 1;
    } else if (startsWithTag(rest, OPEN) && isLineBreak(rest[OPEN.length]) && isOnBlankLine(shown)) {
      isHidden = true;
      at += OPEN.length;
    } else if (!isOver && mayBecomeOpenTag(rest, shown)) {
      break;
    } else {
      shown += rest[0];
      at += 1;
    }
  }
  return shown;
}

function startsWithTag(text: string, tag: string): boolean {
  return asciiLowerCase(text.slice(0, tag.length)) === tag;
}

function mayBecomeOpenTag(rest: string, shown: string): boolean {
  if (rest.length === OPEN.length) return startsWithTag(rest, OPEN) && isOnBlankLine(shown);
  return rest.length < OPEN.length && OPEN.startsWith(asciiLowerCase(rest));
}

/** Hidden text does not count, so only the shown text decides where a line begins. */
function isOnBlankLine(shown: string): boolean {
  const line = shown.slice(shown.lastIndexOf("\n") + 1);
  return line.split("").every((character) => BLANKS.includes(character));
}

function isLineBreak(character: string | undefined): boolean {
  return character === "\n" || character === "\r";
}

function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
