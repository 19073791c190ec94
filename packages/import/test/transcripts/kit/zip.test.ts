// ZIP archives: ordinary ones, and those made to do harm.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openZip } from "../../../src/transcripts/kit/zip.ts";
import { zipped } from "../zip-writer.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hermes-zip-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

type Made = {
  readonly name: string;
  readonly data: Buffer;
  readonly flags?: number;
  readonly method?: number;
  /** What the archive says, where it lies. */
  readonly size?: number;
  readonly offset?: number;
  readonly isZip64?: boolean;
  readonly crc?: number;
};

/** An archive with whatever headers a test needs. */
function archive(entries: readonly Made[], { isZip64 = false, comment = "" } = {}): Buffer {
  const local: Buffer[] = [];
  const central: Buffer[] = [];
  let at = 0;
  for (const { name, data, flags = 0, method = 8, size = data.length, offset = at, ...entry } of entries) {
    const packed = method === 8 ? deflateRawSync(data) : data;
    const title = Buffer.from(name);
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(flags, 2);
    shared.writeUInt16LE(method, 4);
    shared.writeUInt32LE(entry.crc ?? crc32(data), 10);
    shared.writeUInt32LE(entry.isZip64 ? 0xffffffff : packed.length, 14);
    shared.writeUInt32LE(entry.isZip64 ? 0xffffffff : size, 18);
    shared.writeUInt16LE(title.length, 22);
    const head = Buffer.concat([Buffer.from("PK\x03\x04"), shared, title]);
    local.push(head, packed);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(entry.isZip64 ? 0xffffffff : offset, 10);
    const field = Buffer.alloc(entry.isZip64 ? 32 : 0);
    if (entry.isZip64) {
      field.writeUInt16LE(9, 0); // another field comes first
      field.writeUInt16LE(0, 2);
      field.writeUInt16LE(1, 4);
      field.writeUInt16LE(24, 6);
      for (const [place, value] of [size, packed.length, offset].entries())
        field.writeBigUInt64LE(BigInt(value), 8 + place * 8);
      shared.writeUInt16LE(field.length, 24);
    }
    central.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), shared, rest, title, field]));
    at += head.length + packed.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(isZip64 ? 0xffff : central.length, 10);
  end.writeUInt32LE(isZip64 ? 0xffffffff : directory.length, 12);
  end.writeUInt32LE(isZip64 ? 0xffffffff : at, 16);
  end.writeUInt16LE(comment.length, 20);
  const end64 = Buffer.alloc(isZip64 ? 76 : 0);
  if (isZip64) {
    end64.write("PK\x06\x06", 0, "latin1");
    for (const [place, value] of [
      [32, central.length],
      [40, directory.length],
      [48, at],
      [64, at + directory.length],
    ] as const)
      end64.writeBigUInt64LE(BigInt(value), place);
    end64.write("PK\x06\x07", 56, "latin1");
  }
  return Buffer.concat([...local, directory, end64, end, Buffer.from(comment)]);
}

async function unpacked(bytes: Uint8Array): Promise<Record<string, string>> {
  const path = join(folder, "a.zip");
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

const text = Buffer.from("a line of text\n".repeat(200));
const DESCRIPTOR_FLAG = 8;

describe("an archive", () => {
  it("gives its files, stored or packed, with names that are only names", async () => {
    const files = [
      { name: "folder/", data: Buffer.alloc(0), method: 0 },
      { name: "folder/a.json", data: text, flags: DESCRIPTOR_FLAG },
      { name: "../../etc/évil", data: text, method: 0 },
      { name: "empty\x1b[2J", data: Buffer.alloc(0) },
    ];
    const expected = { "folder/a.json": `${text}`, "../../etc/évil": `${text}`, "empty\uFFFD[2J": "" };
    expect(await unpacked(archive(files))).toEqual(expected);
    expect(await unpacked(archive(files, { comment: "made by PK\x05\x06 nobody" }))).toEqual(expected);
  });

  it("as the fixtures are made is read", async () => {
    mkdirSync(join(folder, "x", "y"), { recursive: true });
    writeFileSync(join(folder, "x", "y", "z.json"), "{}");
    expect(await unpacked(await zipped(join(folder, "x")))).toEqual({ "y/z.json": "{}" });
  });
});

describe("an archive is refused", () => {
  const refused: readonly [string, Made[], RegExp][] = [
    ["with an encrypted entry", [{ name: "a", data: text, flags: 1 }], /'a' is encrypted/],
    ["with an unknown method", [{ name: "a", data: text, method: 12 }], /compression method: 12/],
    ["that unpacks to more than it declares", [{ name: "a", data: text, size: 10 }], /too many bytes/],
    ["that unpacks to less than it declares", [{ name: "a", data: text, size: 9999 }], /not enough bytes/],
    ["with a wrong checksum", [{ name: "a", data: text, crc: 1 }], /damaged/],
    [
      "that declares more than 20 GiB",
      Array.from({ length: 6 }, (_, number) => ({ name: `${number}`, data: text, size: 0xfffffff0 })),
      /20 GiB/,
    ],
    ["with an entry past the end", [{ name: "a", data: text, offset: 1e6 }], /'a' cannot be read/],
  ];
  it.each(refused)("%s", async (_, entries, reason) => {
    await expect(unpacked(archive(entries))).rejects.toThrow(reason);
  });

  it("when its end is missing or it is something else", async () => {
    const whole = archive([{ name: "a", data: text }]);
    await expect(unpacked(whole.subarray(0, -30))).rejects.toThrow(/not a zip file/);
    await expect(unpacked(Buffer.from("{}"))).rejects.toThrow(/not a zip file/);
    await expect(unpacked(Buffer.alloc(0))).rejects.toThrow(/not a zip file/);
    await expect(unpacked(whole.subarray(50))).rejects.toThrow(/cannot be read: (invalid|unexpected)/);
  });

  it("with an error and never with a hang, whatever bytes are wrong", async () => {
    const whole = archive([
      { name: "a", data: text },
      { name: "b", data: text, isZip64: true },
    ]);
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
