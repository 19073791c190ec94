// One JSONL file with the records of records.ts, and the session that it was forked from.
import { basename } from "node:path";
import type { Said } from "../../declare.ts";
import { jsonLines } from "../../kit/json-lines.ts";
import { type Json, textOf } from "../../kit/values.ts";
import type { Reading, SessionFacts } from "../../reader.ts";
import { PiRecords, type PiRules, piHeader } from "./records.ts";

export type PiFile = PiRules & {
  readonly path: string;
  /** `id` is that of the header, else the name of the file. */
  readonly nativeIdOf: (id: string) => string;
  /** Facts from outside the file. */
  readonly facts?: Partial<SessionFacts>;
};

export async function* readPiFile(file: PiFile, reading: Reading): AsyncGenerator<Said> {
  let records: PiRecords | undefined;
  for await (const { value, line } of jsonLines(file.path, reading)) {
    if (records !== undefined) {
      yield* records.take(value, line);
      continue;
    }
    const header = piHeader(value);
    if (header === undefined) return reading.malformed(line, "the file does not begin with a session header");
    const { id = stemOf(file.path), ...facts } = header;
    const nativeId = file.nativeIdOf(id);
    const forkedFrom = await forkedFromOf(value, reading);
    yield {
      ...facts,
      ...(forkedFrom && { continues: { how: "fork", session: file.nativeIdOf(forkedFrom) } }),
      ...file.facts,
      nativeId,
    };
    records = new PiRecords(nativeId, reading, file);
  }
  if (records !== undefined) yield* records.end();
}

export function stemOf(path: string): string {
  return basename(path).replace(/\.jsonl.*$/, "");
}

/** The header names the file; where that is gone, its name ends in the id. */
async function forkedFromOf(header: Json, reading: Reading): Promise<string | undefined> {
  const path = textOf(header.parentSession) ?? textOf(header.branchedFrom);
  if (path === undefined) return undefined;
  if (!path.endsWith(".jsonl")) return path;
  const quiet = { signal: reading.signal, malformed: () => {}, advanced: () => {} };
  try {
    for await (const { value } of jsonLines(path, quiet)) {
      const id = piHeader(value)?.id;
      if (id !== undefined) return id;
      if (value.type === "message") break;
    }
  } catch {
    // Deleted, or from another machine.
    reading.signal.throwIfAborted();
  }
  return (
    path
      .split(/[\\/]/)
      .at(-1)
      ?.replace(/\.jsonl$/, "")
      .replace(/^.*_/, "") || undefined
  );
}
