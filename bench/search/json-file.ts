// Reads a JSON file with a given schema, or throws an error that says what is wrong with it.
import { readFileSync } from "node:fs";
import { describeCause, HermesError } from "@hermes-memory/core/internal/lib";
import { z } from "zod";

export function readJsonFile<T>(file: string, shape: z.ZodType<T>, hint: string): T {
  const parsed = shape.safeParse(readJson(file, hint));
  if (parsed.success) return parsed.data;
  const wrong = z.prettifyError(parsed.error).replaceAll("\n", " ");
  throw new HermesError("usage", `${file} cannot be used: ${wrong}.`, { hint });
}

function readJson(file: string, hint: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw new HermesError("usage", `Cannot read ${file}: ${describeCause(cause)}.`, { hint, cause });
  }
}
