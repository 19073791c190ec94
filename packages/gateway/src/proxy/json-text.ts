// Finds places in a JSON text and changes it there, without writing the rest anew: `JSON.stringify(JSON.parse(text))` would change
// numbers beyond 2^53, `1.0`, keys that look like numbers, repeated keys and the spelling of escapes. The text has been parsed before, so
// it is valid JSON. Nothing in this file recurses.

/** A value in a text: from its first character to behind its last one. */
export type Span = { readonly start: number; readonly end: number };

/** Replaces a span; `start === end` inserts. Edits at the same place are applied in their order. */
export type Edit = Span & { readonly text: string };

export function applyEdits(text: string, edits: readonly Edit[]): string {
  const sorted = edits.toSorted((one, other) => one.start - other.start || one.end - other.end);
  const pieces: string[] = [];
  let at = 0;
  for (const { start, end, text: replacement } of sorted) {
    if (start < at) throw new Error("Two edits of a JSON text overlap.");
    pieces.push(text.slice(at, start), replacement);
    at = end;
  }
  return pieces.join("") + text.slice(at);
}

export function rootOf(text: string): Span {
  const start = skipSpace(text, 0);
  return { start, end: valueEnd(text, start) };
}

/** Of an object; no members for another value. A key that occurs twice has its last value, as for `JSON.parse`. */
export function membersOf(text: string, { start }: Span): ReadonlyMap<string, Span> {
  const members = new Map<string, Span>();
  if (text[start] !== "{") return members;
  let at = skipSpace(text, start + 1);
  while (text[at] === '"') {
    const keyEnd = valueEnd(text, at);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    const from = skipSpace(text, skipSpace(text, keyEnd) + 1); // behind the colon
    const value = { start: from, end: valueEnd(text, from) };
    members.set(key, value);
    at = skipSpace(text, value.end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return members;
}

export function memberOf(text: string, object: Span, key: string): Span | undefined {
  return membersOf(text, object).get(key);
}

/** Of an array; none for another value. */
export function itemsOf(text: string, { start }: Span): readonly Span[] {
  if (text[start] !== "[") return [];
  const items: Span[] = [];
  let at = skipSpace(text, start + 1);
  while (at < text.length && text[at] !== "]") {
    const end = valueEnd(text, at);
    items.push({ start: at, end });
    at = skipSpace(text, end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return items;
}

const KINDS: Readonly<Record<string, "array" | "string" | "null">> = {
  "[": "array",
  '"': "string",
  n: "null",
};

/** Undefined for objects, numbers and booleans. */
export function kindAt(text: string, { start }: Span): "array" | "string" | "null" | undefined {
  return KINDS[text[start] ?? ""];
}

export function valueAt(text: string, { start, end }: Span): unknown {
  return JSON.parse(text.slice(start, end));
}

// ---- Edits ----

/** A new member, in front of the others. */
export function addMember(text: string, object: Span, key: string, value: string): Edit {
  const at = object.start + 1;
  const isEmpty = membersOf(text, object).size === 0;
  return { start: at, end: at, text: `${JSON.stringify(key)}:${value}${isEmpty ? "" : ","}` };
}

/** New items at the end of an array. */
export function appendItems(text: string, array: Span, values: readonly string[]): Edit {
  return insertItems(text, array, itemsOf(text, array).length, values);
}

/** New items in front of the item with this index. */
export function insertItems(text: string, array: Span, index: number, values: readonly string[]): Edit {
  const items = itemsOf(text, array);
  const joined = values.join(",");
  const next = items[index];
  if (values.length === 0) return { start: array.start, end: array.start, text: "" };
  if (next !== undefined) return { start: next.start, end: next.start, text: `${joined},` };
  const last = items.at(-1);
  const at = last?.end ?? array.start + 1;
  return { start: at, end: at, text: last === undefined ? joined : `,${joined}` };
}

/** Text at the end of a JSON string. */
export function appendToString(string: Span, addition: string): Edit {
  const at = string.end - 1;
  return { start: at, end: at, text: JSON.stringify(addition).slice(1, -1) };
}

// ---- Scanning ----

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && " \t\n\r".includes(text.charAt(at))) at += 1;
  return at;
}

function valueEnd(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return stringEnd(text, start);
  if (first !== "{" && first !== "[") {
    let at = start;
    while (at < text.length && !" \t\n\r,]}".includes(text.charAt(at))) at += 1;
    return at;
  }
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const unit = text[at];
    if (unit === '"') at = stringEnd(text, at) - 1;
    else if (unit === "{" || unit === "[") depth += 1;
    else if (unit === "}" || unit === "]") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let slashes = 0;
    while (text[quote - 1 - slashes] === "\\") slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
    at = quote;
  }
  return text.length;
}
