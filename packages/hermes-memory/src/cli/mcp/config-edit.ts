// What changing a client's config comes to.

export type EditAction = "added" | "updated" | "unchanged" | "removed" | "absent";

export type ConfigEdit = { readonly text: string; readonly action: EditAction };

export type EditFailure =
  | { readonly kind: "syntax"; readonly line: number; readonly column: number; readonly reason: string }
  /** Well-formed, but not what such a file looks like. */
  | { readonly kind: "shape"; readonly reason: string }
  /** The name belongs to another server. */
  | { readonly kind: "foreign" };
