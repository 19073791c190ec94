// ZIP archives, read entry by entry. Nothing is ever unpacked to disk, so the names of entries are only names.
import { crc32 } from "node:zlib";
import { describeCause } from "@hermes-memory/core/internal/lib";
import { type Entry, openPromise, type ZipFile } from "yauzl";
import type { Reading } from "../reader.ts";
import { MAX_UNPACKED_BYTES } from "./chunks.ts";

const MAX_ENTRIES = 1_000_000;

type Told = Partial<Pick<Reading, "signal" | "advanced">>;

/** Opens an archive. Throws when it is damaged, split over several files, or made to unpack to more than 20 GiB. */
export async function openZip(path: string, told: Told = {}) {
  const file = await openPromise(path, { autoClose: false, decodeStrings: false });
  file.on("error", () => {}); // whoever reads gets it too
  try {
    if (file.entryCount > MAX_ENTRIES) throw new Error(`it has more than ${MAX_ENTRIES} entries`);
    // Of two entries with one name the later counts, as when unzip writes one over the other.
    const byName = new Map<string, Entry>();
    let total = 0;
    for await (const entry of file.eachEntry()) {
      told.signal?.throwIfAborted();
      total += entry.uncompressedSize;
      if (total > MAX_UNPACKED_BYTES) throw new Error("it unpacks to more than 20 GiB");
      const name = nameOf(entry.fileNameRaw);
      if (!name.endsWith("/")) byName.set(name, entry);
    }
    return {
      /** Of the files, without folders, in the order of the directory; with `/` between folders. Not paths to open or write. */
      names: [...byName.keys()],
      /** The unpacked bytes. Throws for an encrypted or damaged entry, at the latest when its last byte was given. */
      read: (name: string) => bytesOf(name, byName.get(name), file, told),
      [Symbol.asyncDispose]: async () => file.close(),
    };
  } catch (cause) {
    file.close();
    told.signal?.throwIfAborted();
    throw new Error(`the ZIP archive cannot be read: ${describeCause(cause)}`, { cause });
  }
}

async function* bytesOf(
  name: string,
  entry: Entry | undefined,
  file: ZipFile,
  { signal, advanced }: Told,
): AsyncGenerator<Uint8Array> {
  if (entry === undefined) throw new Error(`the archive has no entry '${name}'`);
  if (entry.isEncrypted()) throw new Error(`entry '${name}' is encrypted`);
  let size = 0;
  let crc = 0;
  let told = 0;
  try {
    // The stream fails when it has more or fewer bytes than the entry declares.
    for await (const chunk of await file.openReadStreamPromise(entry)) {
      signal?.throwIfAborted();
      size += chunk.length;
      crc = crc32(chunk, crc);
      const packed = Math.round((size / entry.uncompressedSize) * entry.compressedSize);
      advanced?.(packed - told);
      told = packed;
      yield chunk;
    }
  } catch (cause) {
    signal?.throwIfAborted();
    throw new Error(`entry '${name}' cannot be read: ${describeCause(cause)}`, { cause });
  }
  if (crc !== entry.crc32) throw new Error(`entry '${name}' is damaged`);
}

/** Without control characters, because names appear in reports on a terminal. Many archives do not mark their UTF-8 names as such. */
function nameOf(bytes: Buffer): string {
  return bytes.toString("utf8").replaceAll(/\p{Cc}/gu, "\uFFFD");
}
