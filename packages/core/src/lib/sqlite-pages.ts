// Reads a database file page by page without SQLite, which stops at the first bad page of a table. Covers only what is needed:
// header, b-tree pages, cells, overflow chains, records (https://www.sqlite.org/fileformat2.html). Functions return undefined for
// bytes that cannot be what was asked for; nothing throws on damage.
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** A stored value. Text stays bytes, because it may be invalid Unicode and must be written back unchanged. */
export type Value = null | bigint | number | Text | Uint8Array;
type Text = { readonly text: Uint8Array };

export type FileHeader = {
  readonly pageSize: number;
  /** Bytes of a page that can hold content. */
  readonly usable: number;
  readonly encoding: "UTF-8" | "UTF-16le" | "UTF-16be";
  readonly isWal: boolean;
  readonly autoVacuum: number;
  readonly firstFreePage: number;
  readonly userVersion: number;
  readonly applicationId: number;
  readonly schemaCookie: number;
};

type PageKind = "table-leaf" | "table-interior" | "index-leaf" | "index-interior";

export type Page = {
  readonly number: number;
  readonly kind: PageKind;
  readonly bytes: Buffer;
  /** Where each cell starts; undefined for a pointer that leads out of the page. Its cell is lost, the others are not. */
  readonly cells: readonly (number | undefined)[];
  readonly rightChild: number;
};

export type Cell = {
  readonly rowid: bigint;
  readonly leftChild: number;
  readonly payloadSize: number;
  readonly local: Buffer;
  readonly overflow: number;
};

const KINDS: Readonly<Record<number, PageKind>> = {
  2: "index-interior",
  5: "table-interior",
  10: "index-leaf",
  13: "table-leaf",
};
const MAGIC = "SQLite format 3\0";
const PAGE_SIZES = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];
const ENCODINGS = ["UTF-8", "UTF-8", "UTF-16le", "UTF-16be"] as const;

export class PageFile implements Disposable {
  readonly header: FileHeader;
  readonly pageCount: number;
  readonly #fd: number;

  /** The file must not be open in SQLite in this process: closing it here would drop SQLite's locks. */
  constructor(path: string) {
    this.#fd = openSync(path, "r");
    const { size } = fstatSync(this.#fd);
    const first = Buffer.alloc(100);
    readSync(this.#fd, first, 0, 100, 0);
    this.header = readHeader(first) ?? USUAL_HEADER;
    this.pageCount = Math.ceil(size / this.header.pageSize);
  }

  /** Undefined past the end. An incomplete last page is padded with zeros. */
  bytes(number: number): Buffer | undefined {
    if (!Number.isInteger(number) || number < 1 || number > this.pageCount) return undefined;
    const { pageSize } = this.header;
    const bytes = Buffer.alloc(pageSize);
    readSync(this.#fd, bytes, 0, pageSize, (number - 1) * pageSize);
    return bytes;
  }

  /** Undefined when the bytes are not a b-tree page. */
  page(number: number): Page | undefined {
    const bytes = this.bytes(number);
    return bytes && parsePage(bytes, number, this.header.usable);
  }

  /** The cell at an offset of a page, with the part of its payload that is on the page. */
  cell(page: Page, offset: number | undefined): Cell | undefined {
    return offset === undefined ? undefined : parseCell(page, offset, this.header.usable);
  }

  /** The whole payload of a cell; undefined when its chain of overflow pages is broken. */
  payload(cell: Cell): Buffer | undefined {
    if (cell.overflow === 0) return cell.local;
    const parts = [cell.local];
    let left = cell.payloadSize - cell.local.length;
    let next = cell.overflow;
    while (left > 0) {
      const bytes = next > 1 ? this.bytes(next) : undefined;
      if (bytes === undefined) return undefined;
      next = bytes.readUInt32BE(0);
      const part = bytes.subarray(4, Math.min(4 + left, this.header.usable));
      left -= part.length;
      parts.push(part);
    }
    return next === 0 ? Buffer.concat(parts) : undefined;
  }

  record(cell: Cell): Value[] | undefined {
    const payload = this.payload(cell);
    return payload && parseRecord(payload);
  }

  /** Pages on the free list, as far as it can be followed. They contain deleted rows. */
  freePages(): Set<number> {
    const found = new Set<number>();
    for (let trunk = this.header.firstFreePage; trunk > 1 && !found.has(trunk); ) {
      const bytes = this.bytes(trunk);
      if (bytes === undefined) break;
      found.add(trunk);
      const count = Math.min(bytes.readUInt32BE(4), this.header.usable / 4 - 2);
      for (let at = 0; at < count; at += 1) found.add(bytes.readUInt32BE(8 + at * 4));
      trunk = bytes.readUInt32BE(0);
    }
    return found;
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

function readHeader(first: Buffer): FileHeader | undefined {
  const size = first.readUInt16BE(16);
  const pageSize = size === 1 ? 65_536 : size;
  if (first.toString("latin1", 0, 16) !== MAGIC || !PAGE_SIZES.includes(pageSize)) return undefined;
  return {
    pageSize,
    usable: pageSize - (first[20] ?? 0),
    encoding: ENCODINGS[first.readUInt32BE(56)] ?? "UTF-8",
    isWal: first[18] === 2,
    autoVacuum: first.readUInt32BE(52) === 0 ? 0 : first.readUInt32BE(64) === 0 ? 1 : 2,
    firstFreePage: first.readUInt32BE(32),
    userVersion: first.readInt32BE(60),
    applicationId: first.readInt32BE(68),
    schemaCookie: first.readUInt32BE(40),
  };
}

/** What new files have. */
const USUAL_HEADER: FileHeader = {
  pageSize: 4096,
  usable: 4096,
  encoding: "UTF-8",
  isWal: false,
  autoVacuum: 0,
  firstFreePage: 0,
  userVersion: 0,
  applicationId: 0,
  schemaCookie: 0,
};

function parsePage(bytes: Buffer, number: number, usable: number): Page | undefined {
  const at = number === 1 ? 100 : 0;
  const kind = KINDS[bytes[at] ?? 0];
  if (kind === undefined) return undefined;
  const isInterior = kind === "table-interior" || kind === "index-interior";
  const count = bytes.readUInt16BE(at + 3);
  const firstPointer = at + (isInterior ? 12 : 8);
  const end = firstPointer + count * 2;
  if (end > usable) return undefined;
  const cells: (number | undefined)[] = [];
  for (let pointer = firstPointer; pointer < end; pointer += 2) {
    const offset = bytes.readUInt16BE(pointer);
    cells.push(offset >= end && offset <= usable - 4 ? offset : undefined);
  }
  return { number, kind, bytes, cells, rightChild: isInterior ? bytes.readUInt32BE(at + 8) : 0 };
}

/** True when every pointer leads to a cell. Required of pages that are recognised by their shape alone. */
export function isWholePage(page: Page | undefined, usable: number): page is Page {
  if (page === undefined || page.cells.length === 0) return false;
  return page.cells.every((offset) => offset !== undefined && parseCell(page, offset, usable) !== undefined);
}

function parseCell(page: Page, offset: number, usable: number): Cell | undefined {
  const { kind, bytes } = page;
  let at = offset;
  let leftChild = 0;
  if (kind === "table-interior" || kind === "index-interior") {
    if (at + 4 > usable) return undefined;
    leftChild = bytes.readUInt32BE(at);
    at += 4;
  }
  const none = { payloadSize: 0, local: bytes.subarray(0, 0), overflow: 0 };
  const first = varint(bytes, at);
  if (first === undefined) return undefined;
  if (kind === "table-interior") return { rowid: BigInt.asIntN(64, first.value), leftChild, ...none };
  at = first.end;
  if (first.value > 0x7fffffffn) return undefined;
  const payloadSize = Number(first.value);
  let rowid = 0n;
  if (kind === "table-leaf") {
    const second = varint(bytes, at);
    if (second === undefined) return undefined;
    rowid = BigInt.asIntN(64, second.value);
    at = second.end;
  }
  const most = kind === "table-leaf" ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const fitting = least + ((payloadSize - least) % (usable - 4));
  const localSize = payloadSize <= most ? payloadSize : fitting <= most ? fitting : least;
  const hasOverflow = payloadSize > localSize;
  if (at + localSize + (hasOverflow ? 4 : 0) > usable) return undefined;
  const local = bytes.subarray(at, at + localSize);
  return {
    rowid,
    leftChild,
    payloadSize,
    local,
    overflow: hasOverflow ? bytes.readUInt32BE(at + localSize) : 0,
  };
}

const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8];

/** Undefined unless header and values have exactly the length of the payload. */
function parseRecord(payload: Buffer): Value[] | undefined {
  const size = varint(payload, 0);
  if (size === undefined || size.value > BigInt(payload.length) || size.value < 1n) return undefined;
  const headerEnd = Number(size.value);
  const values: Value[] = [];
  let at = headerEnd;
  for (let header = size.end; header < headerEnd; ) {
    const type = varint(payload, header);
    if (type === undefined || type.end > headerEnd || type.value > 0x7fffffffn) return undefined;
    header = type.end;
    const serial = Number(type.value);
    const length = valueBytes(serial);
    if (length === undefined || at + length > payload.length) return undefined;
    values.push(decoded(payload.subarray(at, at + length), serial));
    at += length;
  }
  return at === payload.length ? values : undefined;
}

function valueBytes(serial: number): number | undefined {
  if (serial >= 12) return Math.floor((serial - 12) / 2);
  if (serial <= 6) return INTEGER_BYTES[serial];
  if (serial === 7) return 8;
  return serial <= 9 ? 0 : undefined; // 10 and 11 are not used in files
}

function decoded(bytes: Buffer, serial: number): Value {
  if (serial === 0) return null;
  if (serial === 8 || serial === 9) return BigInt(serial - 8);
  if (serial === 7) return bytes.readDoubleBE(0);
  if (serial >= 12) return serial % 2 === 0 ? bytes : { text: bytes };
  return bytes.length === 8 ? bytes.readBigInt64BE(0) : BigInt(bytes.readIntBE(0, bytes.length));
}

function varint(bytes: Buffer, from: number): { value: bigint; end: number } | undefined {
  // Almost all values fit into a number; BigInt is needed only from the eighth byte on.
  let small = 0;
  for (let at = from; at < from + 7; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) return undefined;
    small = small * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value: BigInt(small), end: at + 1 };
  }
  const eighth = bytes[from + 7];
  if (eighth === undefined) return undefined;
  const value = (BigInt(small) << 7n) | BigInt(eighth & 0x7f);
  if (eighth < 0x80) return { value, end: from + 8 };
  const ninth = bytes[from + 8];
  return ninth === undefined ? undefined : { value: (value << 8n) | BigInt(ninth), end: from + 9 };
}

/** Text of a value in the encoding of the file; undefined for other values. */
export function textOf(value: Value | undefined, encoding: FileHeader["encoding"]): string | undefined {
  if (typeof value !== "object" || value === null || !("text" in value)) return undefined;
  if (encoding === "UTF-8") return Buffer.from(value.text).toString("utf8");
  return new TextDecoder(encoding === "UTF-16le" ? "utf-16le" : "utf-16be").decode(value.text);
}
