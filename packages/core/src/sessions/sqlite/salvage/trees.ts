// The b-trees of a damaged file: the pages reachable from a root, the ranges of rowids that are missing, and the leaf pages that
// a lost page above them made unreachable. Those are found by checking every page of the file.
import { isWholePage, type Page, type PageFile, textOf, type Value } from "../../../lib/sqlite-pages.ts";
import type { SchemaRow } from "./table-classes.ts";

/** Rowids greater than `above`, up to and including `upTo`. */
export type Gap = { readonly above: bigint; readonly upTo: bigint };

export type Row = { readonly rowid: bigint; readonly values: readonly Value[] };

export type Tree = {
  /** Pages with rows; in the tree of a table, in order of rowid. */
  readonly pages: number[];
  /** Unreadable parts. In the tree of an index, one entry without a range for each page or cell. */
  readonly gaps: Gap[];
};

export const EVERY_ROWID: Gap = { above: -(2n ** 63n) - 1n, upTo: 2n ** 63n - 1n };

const SCHEMA_TYPES: ReadonlySet<string> = new Set(["table", "index", "view", "trigger"]);

export class Forest {
  readonly #file: PageFile;
  readonly #claimed = new Set<number>();
  readonly #free: ReadonlySet<number>;

  constructor(file: PageFile) {
    this.#file = file;
    this.#free = file.freePages();
  }

  /** Claims every page it reaches. A page that another tree has claimed is a gap in this one. */
  table(root: number): Tree {
    const tree: Tree = { pages: [], gaps: [] };
    this.#descend(root, EVERY_ROWID, tree, 0);
    return tree;
  }

  index(root: number): Tree {
    const tree: Tree = { pages: [], gaps: [] };
    this.#descend(root, undefined, tree, 0);
    return tree;
  }

  /** The rows of a leaf page. A row that cannot be read becomes a gap of the tree. */
  *rows(tree: Tree, number: number): Generator<Row> {
    const page = this.#file.page(number);
    if (page === undefined) return;
    let last: bigint | undefined;
    let isAfterLost = false;
    for (const offset of page.cells) {
      const cell = this.#file.cell(page, offset);
      if (cell === undefined) {
        isAfterLost = true;
        continue;
      }
      if (isAfterLost) tree.gaps.push({ above: last ?? cell.rowid - 2n, upTo: cell.rowid - 1n });
      isAfterLost = false;
      last = cell.rowid;
      const values = this.#file.record(cell);
      if (values === undefined) tree.gaps.push({ above: cell.rowid - 1n, upTo: cell.rowid });
      else yield { rowid: cell.rowid, values };
    }
    if (isAfterLost) tree.gaps.push({ above: last ?? EVERY_ROWID.above, upTo: (last ?? 0n) + 1n });
  }

  /** The entries of an index, or the rows of a table without rowids. */
  *entries(tree: Tree): Generator<readonly Value[]> {
    for (const number of tree.pages) {
      const page = this.#file.page(number);
      for (const offset of page?.cells ?? []) {
        const cell = page && this.#file.cell(page, offset);
        const values = cell && this.#file.record(cell);
        if (values === undefined) tree.gaps.push(EVERY_ROWID);
        else yield values;
      }
    }
  }

  /** The schema rows, including those recognised by their shape. `isWhole` is false when rows are missing. */
  schema(): { readonly rows: SchemaRow[]; readonly isWhole: boolean } {
    const tree = this.table(1);
    const found = tree.pages.flatMap((number) => [...this.rows(tree, number)]);
    const isWhole = tree.gaps.length === 0;
    if (!isWhole) {
      for (let number = 2; number <= this.#file.pageCount; number += 1) {
        const rows = this.#wholeLeaf(number);
        if (rows === undefined || !rows.every((row) => this.#schemaRow(row) !== undefined)) continue;
        this.#claimed.add(number);
        found.push(...rows);
      }
    }
    return { rows: found.flatMap((row) => this.#schemaRow(row) ?? []), isWhole };
  }

  /** Leaf pages of tables that are neither in a tree nor on the free list. Call this after all trees have been walked. */
  *unreachableLeaves(): Generator<{ readonly number: number; readonly rows: readonly Row[] }> {
    for (let number = 2; number <= this.#file.pageCount; number += 1) {
      const rows = this.#wholeLeaf(number);
      if (rows !== undefined) yield { number, rows };
    }
  }

  claim(number: number): void {
    this.#claimed.add(number);
  }

  /** Undefined for a page that is claimed or free, is not a leaf of a table, or has a cell that is not a record. */
  #wholeLeaf(number: number): Row[] | undefined {
    if (this.#claimed.has(number) || this.#free.has(number)) return undefined;
    const page = this.#file.page(number);
    if (page?.kind !== "table-leaf" || !isWholePage(page, this.#file.header.usable)) return undefined;
    const rows: Row[] = [];
    let isRecords = true;
    for (const offset of page.cells) {
      const cell = this.#file.cell(page, offset);
      const last = rows.at(-1);
      if (cell === undefined || (last !== undefined && cell.rowid <= last.rowid)) return undefined;
      const values = this.#file.record(cell);
      // A row that continues on a lost page does not disqualify the others.
      if (values !== undefined) rows.push({ rowid: cell.rowid, values });
      else isRecords &&= cell.overflow !== 0;
    }
    return isRecords && rows.length > 0 ? rows : undefined;
  }

  /** `range` is undefined in an index, whose inner pages have entries too. */
  #descend(number: number, range: Gap | undefined, tree: Tree, depth: number): void {
    const page = this.#take(number, depth);
    const [tableOrIndex, place] = page?.kind.split("-") ?? [];
    if (page === undefined || tableOrIndex !== (range === undefined ? "index" : "table")) {
      if (page !== undefined) this.#claimed.delete(number);
      tree.gaps.push(range ?? EVERY_ROWID);
      return;
    }
    if (place === "leaf" && range !== undefined && !this.#isWithin(page, range)) {
      this.#claimed.delete(number);
      tree.gaps.push(range);
      return;
    }
    if (place === "leaf" || range === undefined) tree.pages.push(number);
    if (place === "leaf") return;
    let below = range;
    for (const offset of page.cells) {
      const cell = this.#file.cell(page, offset);
      if (
        cell === undefined ||
        (below !== undefined && (cell.rowid < below.above || cell.rowid > below.upTo))
      ) {
        tree.gaps.push(below ?? EVERY_ROWID); // its child is lost; the children after it are found again and close the gap
        continue;
      }
      this.#descend(cell.leftChild, below && { ...below, upTo: cell.rowid }, tree, depth + 1);
      below &&= { ...below, above: cell.rowid };
    }
    this.#descend(page.rightChild, below, tree, depth + 1);
  }

  /** Undefined for a page that cannot be read or is claimed already. No tree is deeper than 20. */
  #take(number: number, depth: number): Page | undefined {
    if (depth > 20 || this.#claimed.has(number)) return undefined;
    const page = this.#file.page(number);
    if (page !== undefined) this.#claimed.add(number);
    return page;
  }

  /** A page in the wrong place has rowids outside the range of the keys above it. */
  #isWithin(page: Page, { above, upTo }: Gap): boolean {
    const cells = page.cells.flatMap((offset) => this.#file.cell(page, offset) ?? []);
    if (cells.length === 0) return page.cells.length === 0;
    return cells.every(({ rowid }) => rowid > above && rowid <= upTo);
  }

  #schemaRow({ values }: Row): SchemaRow | undefined {
    const [type, name, table, root, sql] = values;
    const { encoding } = this.#file.header;
    const texts = [type, name, table].map((value) => textOf(value, encoding));
    const [kind = "", called = "", of = ""] = texts;
    if (values.length !== 5 || texts.includes(undefined) || !SCHEMA_TYPES.has(kind)) return undefined;
    return {
      type: kind,
      name: called,
      table: of,
      root: typeof root === "bigint" ? Number(root) : 0,
      sql: textOf(sql, encoding) ?? null,
    };
  }
}
