// Where in a text something is wrong, in the numbers an editor shows.

export type Misplaced = { readonly line: number; readonly column: number; readonly reason: string };

export class SyntaxMistake extends Error {
  readonly offset: number;

  constructor(reason: string, offset: number) {
    super(reason);
    this.name = "SyntaxMistake";
    this.offset = offset;
  }

  in(text: string): Misplaced {
    const before = text.slice(0, this.offset);
    const line = before.split("\n").length;
    return { line, column: this.offset - before.lastIndexOf("\n"), reason: this.message };
  }
}
