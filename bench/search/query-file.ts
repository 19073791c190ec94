// Reads a file of queries: `{"queries": {"<kind>": ["..."]}}`.
import { z } from "zod";
import { readJsonFile } from "./json-file.ts";

/** By kind. */
export type Queries = Readonly<Record<string, readonly string[]>>;

export function readQueries(file: string): Queries {
  return readJsonFile(file, queryFile, 'It holds {"queries": {"<kind>": ["..."]}}.').queries;
}

const queryFile = z.object({ queries: z.record(z.string().min(1), z.array(z.string()).min(1)) });
