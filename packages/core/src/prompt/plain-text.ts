// Text as it may stand in a prompt.
import { pyStrip } from "../lib/index.ts";

/** Half a surrogate pair would come back from the database, and reach some model servers, as something else. */
export function clean(text: string | undefined): string {
  return pyStrip((text ?? "").toWellFormed());
}

/** A value that has a line to itself, such as the model's name: what follows it must not look like another line. */
export function singleLine(text: string | undefined): string {
  return clean((text ?? "").replace(/[\p{Cc}\u2028\u2029]+/gu, " "));
}
