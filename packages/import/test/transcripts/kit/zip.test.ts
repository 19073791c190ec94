// Archives from elsewhere: what is wrong with one is an error with a reason.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import { openZip } from "../../../src/transcripts/kit/zip.ts";
import { zipped } from "../zip-writer.ts";

const TEXT = "a line of text\n".repeat(200);

async function archive(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const folder = tempDirectory();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return zipped(folder);
}

async function unpacked(bytes: Uint8Array): Promise<Record<string, string>> {
  const path = join(tempDirectory(), "a.zip");
  writeFileSync(path, bytes);
  await using zip = await openZip(path);
  const found: Record<string, string> = {};
  for (const name of zip.names) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of zip.read(name)) chunks.push(chunk);
    found[name] = Buffer.concat(chunks).toString();
  }
  return found;
}

/** Writes to each entry of the directory at the archive's end. */
function changed(bytes: Buffer, write: (entry: Buffer) => void): Buffer {
  for (let at = bytes.indexOf("PK\x01\x02"); at >= 0; at = bytes.indexOf("PK\x01\x02", at + 4))
    write(bytes.subarray(at));
  return bytes;
}

it("gives the files of an archive, with names that are only names", async () => {
  const bytes = await archive({ "folder/a.json": TEXT, "xx/xx/etc/evil": TEXT, "empty?[2J": "" });
  const renamed = bytes.toString("latin1").replaceAll("xx/xx", "../..").replaceAll("?", "\x1b");
  expect(await unpacked(Buffer.from(renamed, "latin1"))).toEqual({
    "folder/a.json": TEXT,
    "../../etc/evil": TEXT,
    "empty\uFFFD[2J": "",
  });
});

it("takes the later of two entries with one name", async () => {
  const bytes = await archive({ a: "one", b: "two" });
  expect(await unpacked(changed(bytes, (entry) => entry.write("a", 46)))).toEqual({ a: "two" });
});

describe("an archive is refused", () => {
  it.each([
    ["with an encrypted entry", (entry: Buffer) => entry.writeUInt16LE(1, 8), /'a' is encrypted/],
    ["with an unknown method", (entry: Buffer) => entry.writeUInt16LE(12, 10), /compression method: 12/],
    ["with a wrong checksum", (entry: Buffer) => entry.writeUInt32LE(1, 16), /'a' is damaged/],
    [
      "that unpacks to more than it declares",
      (entry: Buffer) => entry.writeUInt32LE(10, 24),
      /too many bytes/,
    ],
    ["that declares more than 20 GiB", (entry: Buffer) => entry.writeUInt32LE(0xfffffff0, 24), /20 GiB/],
    ["with an entry past the end", (entry: Buffer) => entry.writeUInt32LE(1e6, 42), /'a' cannot be read/],
  ])("%s", async (_, write, reason) => {
    const bytes = await archive(Object.fromEntries([..."abcdef"].map((name) => [name, TEXT])));
    await expect(unpacked(changed(bytes, write))).rejects.toThrow(reason);
  });

  it("when its end is missing or it is something else", async () => {
    const whole = await archive({ a: TEXT });
    for (const bytes of [whole.subarray(0, -30), Buffer.from("{}"), Buffer.alloc(0)])
      await expect(unpacked(bytes)).rejects.toThrow(/not a zip file/);
  });

  it("with an error and never with a hang, whatever bytes are wrong", async () => {
    const whole = await archive({ a: TEXT, b: TEXT });
    const place = fc.nat({ max: whole.length - 1 });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(place, fc.nat(255)), { maxLength: 4 }), async (changes) => {
        const bytes = Buffer.from(whole);
        for (const [at, value] of changes) bytes[at] = value;
        await unpacked(bytes).catch((cause: unknown) => expect(cause).toBeInstanceOf(Error));
      }),
      { numRuns: 50 },
    );
  });
});
