// `<home>/sessions/session_<id>.json`: the conversation as one file, for people who want it beside the database. Off unless
// `sessions.write_json_snapshots` is on; secrets are masked.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sessionFiles } from "@hermes-memory/core/home";
import { describeCause, writeFileAtomic } from "@hermes-memory/core/lib";
import { STORED_SNAPSHOT } from "@hermes-memory/core/sessions";
import type { AgentCore } from "../core.ts";
import { masked } from "../masked.ts";
import { shownRow } from "../shown-message.ts";

export function writeJsonSnapshot(core: AgentCore): void {
  const { config, home, transcript, platform, prompt, log, clock } = core.parts;
  if (!config.sessions.writeJsonSnapshots || transcript.messages.length === 0) return;
  const directory = sessionFiles(home).sessionsDir;
  const path = join(directory, `session_${core.sessionId}.json`);
  const { model, baseUrl } = core.model.identity;
  const count = transcript.messages.length;
  try {
    // A shorter list, after an undo or from an older process, must not take the place of a longer one.
    if (storedCount(path) > count) return;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const snapshot = {
      ...(core.hasRow ? STORED_SNAPSHOT : {}),
      session_id: core.sessionId,
      model,
      base_url: baseUrl,
      platform,
      session_start: isoTime(transcript.messages[0]?.meta.atSeconds ?? 0),
      last_updated: clock.now().toISOString(),
      system_prompt: prompt.text ?? "",
      tools: core.table.definitions().map((schema) => ({ type: "function", function: schema })),
      message_count: count,
      messages: transcript.messages.map(shownRow),
    };
    writeFileAtomic(path, `${JSON.stringify(masked(snapshot), null, 2)}\n`, { mode: 0o600 });
  } catch (cause) {
    log.warn(`The JSON snapshot of the session was not written: ${describeCause(cause)}`);
  }
}

function storedCount(path: string): number {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    const count =
      typeof value === "object" && value !== null && "message_count" in value ? value.message_count : 0;
    return typeof count === "number" ? count : 0;
  } catch {
    return 0; // none yet, or not one of ours
  }
}

function isoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
