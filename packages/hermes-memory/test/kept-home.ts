// What a later version must keep of a home that an earlier one wrote.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { filesOf } from "../../../test/fixtures/fixture-home.ts";

/** Files that only grow: what was in them stays at their beginning. */
const APPENDED = /(^|\/)(\.history|\.archive)\/[^/]+\.jsonl$/;
/** Files that a write of these tests changes on purpose. */
const CHANGED =
  /(^|\/)(MEMORY\.md|USER\.md|(state|memory_store|memory_outbox)\.db.*|\.pins\.json|\.usage\.json|\.skills_prompt_snapshot\.json|[^/]+\.lock)$|^provider-health\/|^pending\//;

/** `changed`: further files that the test changes on purpose. */
export function expectNothingLost(
  home: string,
  before: ReadonlyMap<string, string>,
  changed = CHANGED,
): void {
  const after = filesOf(home);
  for (const [path, text] of before) {
    if (CHANGED.test(path) || changed.test(path)) continue;
    const now = after.get(path) ?? "(gone)";
    if (APPENDED.test(path)) expect(now.startsWith(text), `${path} keeps its lines`).toBe(true);
    else expect(now, path).toBe(text);
  }
}

type Rows = {
  readonly sessions: readonly Readonly<Record<string, unknown>>[];
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly schema: readonly string[];
};

export function rowsOf(home: string): Rows {
  const db = new DatabaseSync(join(home, "state.db"), { readOnly: true });
  try {
    return {
      sessions: db
        .prepare("SELECT id, source, user_id, title, parent_session_id FROM sessions ORDER BY id")
        .all(),
      messages: db
        .prepare("SELECT id, session_id, role, content, tool_calls, timestamp FROM messages ORDER BY id")
        .all(),
      schema: db
        .prepare(
          "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'hermes_memory%' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'messages_fts%' ORDER BY name",
        )
        .all()
        .map(({ name }) => String(name)),
    };
  } finally {
    db.close();
  }
}
