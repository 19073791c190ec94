// The outcome of an edit of a client's config text, and offsets in that text.

export type EditAction = "added" | "updated" | "unchanged" | "removed" | "absent";

export type ConfigEdit = { readonly text: string; readonly action: EditAction };

export type EditFailure =
  | { readonly kind: "syntax"; readonly line: number; readonly column: number; readonly reason: string }
  /** Valid JSON or TOML, but without the structure that can be edited. */
  | { readonly kind: "shape"; readonly reason: string }
  /** The name belongs to another server. */
  | { readonly kind: "foreign" };

export type TextRange = { readonly start: number; readonly end: number };

/** The offsets of an entry's command and arguments. */
export type WordRanges = {
  readonly command: TextRange;
  /** The `args` with their brackets. */
  readonly list: TextRange;
  readonly items: readonly TextRange[];
};

/** The words of an entry to replace. */
export type WordChange = {
  readonly command?: string;
  /** One word of `args`. `isNew` inserts it before the one at `at`. */
  readonly arg?: { readonly at: number; readonly word: string; readonly isNew: boolean };
};

/** A position in the numbers an editor shows: both start at 1. */
export type SyntaxProblem = { readonly line: number; readonly column: number; readonly reason: string };

export class DocumentSyntaxError extends Error {
  readonly offset: number;

  constructor(reason: string, offset: number) {
    super(reason);
    this.name = "DocumentSyntaxError";
    this.offset = offset;
  }

  in(text: string): SyntaxProblem {
    const before = text.slice(0, this.offset);
    const line = before.split("\n").length;
    return { line, column: this.offset - before.lastIndexOf("\n"), reason: this.message };
  }
}
