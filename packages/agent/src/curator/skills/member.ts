// A skill that may become part of another one, or already is.
import { pyStrip } from "@hermes-memory/core/lib";

/** A skill that may take part: written by an agent, not pinned, SKILL.md and nothing else. */
export type Member = {
  readonly name: string;
  readonly description: string;
  readonly text: string;
  readonly body: string;
};

/** A skill whose whole text another one holds word for word has been taken in. */
export function hasAbsorbed(host: Member, part: Member): boolean {
  const body = pyStrip(part.body);
  return host.name !== part.name && body.length >= LEAST_BODY && host.body.includes(body);
}

/** A sentence or two may well be in several skills. */
const LEAST_BODY = 80;
