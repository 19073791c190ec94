// Text as one word of a shell script.

/** For bash and zsh. */
export function shellWord(text: string): string {
  return /^[\w.,/+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** For fish, where a backslash inside single quotes escapes. */
export function fishWord(text: string): string {
  return /^[\w.,/+-]+$/.test(text) ? text : `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
}
