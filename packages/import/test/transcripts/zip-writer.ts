// A small writer of ZIP archives, so that fixtures can be kept as folders.
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";

/** The files below a folder as one archive. */
export async function zipped(folder: string): Promise<Buffer> {
  const local: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const name of await names(folder, "")) {
    const data = await readFile(join(folder, name));
    const packed = deflateRawSync(data);
    const title = Buffer.from(name);
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(0x800, 2); // names are UTF-8
    shared.writeUInt16LE(8, 4);
    shared.writeUInt32LE(crc32(data), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(data.length, 18);
    shared.writeUInt16LE(title.length, 22);
    const head = Buffer.concat([Buffer.from("PK\x03\x04"), shared, title]);
    local.push(head, packed);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), shared, rest, title]));
    offset += head.length + packed.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(central.length, 8);
  end.writeUInt16LE(central.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...local, directory, end]);
}

async function names(folder: string, before: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const path = join(folder, name);
    if ((await stat(path)).isDirectory()) found.push(...(await names(path, `${before}${name}/`)));
    else found.push(`${before}${name}`);
  }
  return found;
}
