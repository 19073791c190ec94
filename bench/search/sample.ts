// A sample of some thousand messages, spread over a database.
import type { DatabaseSync } from "node:sqlite";

export type Sample = readonly { readonly role: string; readonly text: string }[];

const SAMPLED = 6_000;

export function sampleMessages(db: DatabaseSync): Sample {
  const last = (db.prepare("SELECT COALESCE(MAX(id), 0) AS id FROM messages").get() as { id: number }).id;
  const next = db.prepare("SELECT id, role, content FROM messages WHERE id >= ? ORDER BY id LIMIT 1");
  const found = new Map<number, Sample[number]>();
  for (let i = 0; i < Math.min(SAMPLED, last); i += 1) {
    const row = next.get(1 + Math.floor((i * last) / Math.min(SAMPLED, last))) as Row | undefined;
    if (typeof row?.content === "string") found.set(row.id, { role: row.role, text: row.content });
  }
  return [...found.values()];
}

type Row = { readonly id: number; readonly role: string; readonly content: unknown };
