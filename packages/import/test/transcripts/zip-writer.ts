// Fixtures of archives are kept as folders.
import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { buffer } from "node:stream/consumers";
import { ZipFile } from "yazl";

/** The files below a folder as one archive. */
export async function zipped(folder: string): Promise<Buffer> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const zip = new ZipFile();
  for (const file of files.sort())
    zip.addBuffer(await readFile(file), relative(folder, file).replaceAll(sep, "/"));
  zip.end();
  return await buffer(zip.outputStream);
}
