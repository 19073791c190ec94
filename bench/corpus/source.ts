// The source of a session, which a corpus does not name.

/** Where a session came from. The id decides: the same for every run over the same corpus. */
export function sourceOf(sessionId: string): string {
  if (sessionId.startsWith("cron_")) return "cron";
  let hash = 0;
  for (let i = 0; i < sessionId.length; i += 1)
    hash = Math.imul(hash ^ sessionId.charCodeAt(i), 0x01000193) >>> 0;
  return SOURCES[(hash >>> 8) % SOURCES.length] ?? "cli";
}

/** Cron runs have ids of their own; in the rest, one in seven is the work of another agent or a tool. */
const SOURCES = [
  ...["cli", "cli", "cli", "cli", "cli", "cli", "cli", "tui", "tui", "acp"],
  ...["telegram", "telegram", "telegram", "telegram", "discord", "discord", "slack", "whatsapp"],
  ...["subagent", "subagent", "tool"],
];
