// A tar archive for tests, of the simplest form: short names, and no entry that tar itself would refuse to make.
const BLOCK = 512;

type Entry = { readonly path: string; readonly data?: string; readonly link?: string };

export function tarOf(...entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ path, data = "", link = "" }) => {
    const header = Buffer.alloc(BLOCK);
    header.write(path);
    header.write("0000644\0", 100);
    header.write(Buffer.byteLength(data).toString(8).padStart(11, "0"), 124);
    header.write(`        ${link === "" ? "0" : "2"}${link}`, 148);
    header.write("ustar\u000000", 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    const body = Buffer.alloc(Math.ceil(Buffer.byteLength(data) / BLOCK) * BLOCK);
    body.write(data);
    return [header, body];
  });
  return Buffer.concat([...blocks, Buffer.alloc(BLOCK * 2)]);
}
