// Data changes between the original's schema versions, oldest first. Columns and tables are not here: whatever is
// missing is added on every open. Append only.
import type { DatabaseSync } from "node:sqlite";
import { isBranch, isContinuation, mark } from "./lineage-sql.ts";

export type UpgradeStep = {
  /** Files below this version need it. */
  readonly version: number;
  readonly name: string;
  run(db: DatabaseSync): void;
};

export const UPGRADE_STEPS: readonly UpgradeStep[] = [
  {
    version: 12,
    name: "rows without an active flag are active",
    run: (db) => db.exec("UPDATE messages SET active = 1 WHERE active IS NULL"),
  },
  {
    version: 16,
    name: "children that are neither branch nor continuation are delegates",
    run: (db) => db.exec(TAG_DELEGATES),
  },
];

// The other half of the original's version 16, HIDE_ORPHANS below, also hides ordinary short conversations that used a
// tool. It is offered by `hermes sessions repair --hide-orphans`, and done by nobody unasked.
const TAG_DELEGATES = `
  UPDATE sessions
  SET model_config = json_set(COALESCE(model_config, '{}'), '$._delegate_from', parent_session_id)
  WHERE parent_session_id IS NOT NULL
    AND (model_config IS NULL OR json_valid(model_config))
    AND ${mark("sessions", "_delegate_from")} IS NULL
    AND EXISTS (
      SELECT 1 FROM sessions p WHERE p.id = sessions.parent_session_id
        AND NOT ${isBranch("sessions", "p")} AND NOT ${isContinuation("sessions", "p")}
    )
`;

export const HIDE_ORPHANS = `
  UPDATE sessions
  SET model_config = json_set(COALESCE(model_config, '{}'), '$._delegate_from', '__orphaned__')
  WHERE parent_session_id IS NULL
    AND title IS NULL
    AND (model_config IS NULL OR json_valid(model_config))
    AND ${mark("sessions", "_delegate_from")} IS NULL
    AND ${mark("sessions", "_branched_from")} IS NULL
    AND ${mark("sessions", "_compressed_from")} IS NULL
    AND message_count <= 25
    AND EXISTS (SELECT 1 FROM messages m WHERE m.session_id = sessions.id AND m.role = 'tool')
    AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.parent_session_id = sessions.id)
`;
