// The source of a session, which is not part of a corpus.

/** Derived from the id, so that every run over the same corpus gets the same sources. */
export function sourceOf(sessionId: string): string {
  if (sessionId.startsWith("cron_")) return "cron";
  let hash = 0;
  for (let i = 0; i < sessionId.length; i += 1)
    hash = Math.imul(hash ^ sessionId.charCodeAt(i), 0x01000193) >>> 0;
  return SOURCES[(hash >>> 8) % SOURCES.length] ?? "cli";
}

/** One in seven is a subagent or a tool. Cron runs are recognised by their ids. */
const SOURCES = [
  ...["cli", "cli", "cli", "cli", "cli", "cli", "cli", "tui", "tui", "acp"],
  ...["telegram", "telegram", "telegram", "telegram", "discord", "discord", "slack", "whatsapp"],
  ...["subagent", "subagent", "tool"],
];
