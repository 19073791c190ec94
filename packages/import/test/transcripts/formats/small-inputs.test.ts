// Rules of single formats, each with the smallest input that shows it.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { DEFAULT_PREPARE } from "../../../src/internal.ts";
import { amp } from "../../../src/transcripts/formats/amp.ts";
import type { ReadOptions, TranscriptReader } from "../../../src/transcripts/reader.ts";
import { temporaryFolder } from "../import-suite.ts";
import { type Found, readHome } from "../read-fixture.ts";

async function found(
  reader: TranscriptReader,
  files: Readonly<Record<string, string>>,
  options: ReadOptions = DEFAULT_PREPARE,
): Promise<Found> {
  await using folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, name)), { recursive: true });
    await writeFile(join(folder.path, name), text);
  }
  const [only = ""] = Object.keys(files);
  return await readHome(reader, folder.path, { path: join(folder.path, only), options }); // before the folder is removed
}

it("amp: a result names its call toolUseID, also where it has the content of the API", async () => {
  const result = { type: "tool_result", toolUseID: "t1", content: "42 lines" };
  const text = JSON.stringify({ id: "T-1", messages: [{ role: "user", messageId: 0, content: [result] }] });
  const { sessions } = await found(amp, { "T-1.json": text });
  expect(sessions[0]?.messages).toMatchObject([{ role: "tool", text: "42 lines", toolCallId: "t1" }]);
});
