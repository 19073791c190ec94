// What changing a client's config comes to.

export type EditAction = "added" | "updated" | "unchanged" | "removed" | "absent";

export type ConfigEdit = { readonly text: string; readonly action: EditAction };

export type EditFailure =
  | { readonly kind: "syntax"; readonly line: number; readonly column: number; readonly reason: string }
  /** Well-formed, but not what such a file looks like. */
  | { readonly kind: "shape"; readonly reason: string }
  /** The name belongs to another server. */
  | { readonly kind: "foreign" };

export type Place = { readonly start: number; readonly end: number };

/** Where the words that an entry starts stand in the text. */
export type WordPlaces = {
  readonly command: Place;
  /** The `args` with their brackets. */
  readonly list: Place;
  readonly items: readonly Place[];
};

/** Which words of an entry to replace. */
export type WordChange = {
  readonly command?: string;
  /** Of the `args`. `isNew` puts the word in front of the one at `at`. */
  readonly arg?: { readonly at: number; readonly word: string; readonly isNew: boolean };
};
