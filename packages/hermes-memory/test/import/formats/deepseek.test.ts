import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, expect, it } from "vitest";
import { deepseek } from "../../../src/import/formats/deepseek.ts";
import { readHome } from "../read-fixture.ts";

let home = "";
let folder = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-deepseek-"));
  folder = join(home, ".dsh", "sessions", "home-ana-api", "session-1");
  await mkdir(folder, { recursive: true });
});
afterEach(() => rm(home, { recursive: true, force: true }));

function line(record: object): string {
  return `${JSON.stringify(record)}\n`;
}
function said(seq: number, text: string): string {
  const data = { id: `m${seq}`, source: { kind: "user" }, content: [{ type: "text", text }] };
  return line({ type: "user/message", seq, time: 1_788_400_000_000 + seq, data });
}
const HEADER = line({ type: "session", version: 4, id: "session-1", createdAt: 1_788_400_000_000 });

it("reads all frames of a compressed journal, without the one that is being written", async () => {
  const frames = [HEADER, said(1, "one"), said(2, "two"), said(3, "three")].map((text) =>
    zstdCompressSync(Buffer.from(text)),
  );
  const torn = zstdCompressSync(Buffer.from(said(4, "four"))).subarray(0, 20);
  await writeFile(join(folder, "session.jsonl.zstd"), Buffer.concat([...frames, torn]));
  const { sessions, malformed } = await readHome(deepseek, home);
  expect(sessions[0]?.messages.map(({ text }) => text)).toEqual(["one", "two", "three"]);
  expect(malformed).toEqual([]);
});

it("reads the newest version of a journal", async () => {
  await writeFile(join(folder, "session.jsonl.zstd"), zstdCompressSync(Buffer.from(HEADER)));
  await writeFile(
    join(folder, "session.v4.jsonl.zstd"),
    zstdCompressSync(Buffer.from(HEADER + said(1, "new"))),
  );
  const { sessions } = await readHome(deepseek, home);
  expect(sessions.map(({ messages }) => messages.map(({ text }) => text))).toEqual([["new"]]);
});
