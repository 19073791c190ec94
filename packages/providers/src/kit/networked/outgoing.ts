// Texts on their way to a server.
import { pyStrip } from "@hermes-memory/core/internal/lib";
import { sanitizeContext } from "@hermes-memory/core/internal/security";

/** Without fences and blanks at the ends, without half characters, which no JSON body can carry, and without NUL, which databases refuse. */
export function outgoing(text: string): string {
  return pyStrip(sanitizeContext(text.toWellFormed().replaceAll("\0", "")));
}
