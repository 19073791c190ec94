#!/usr/bin/env python3
"""Replays, with Python's own SQLite, what a current Hermes (schema 30, FTS storage 3) does to a session database, so that an
engineer without it can check that both programs can share one file. Written from facts (docs/formats/database.md), not from its code.

    reference_replay_v30.py create DB               a new file as upstream makes it, with a few rows
    reference_replay_v30.py replay DB [--keep]      open, append, search, update, compact in place, rewind, rotate, delete; both
                                                    indexes at rank 1 after every step. On a copy unless --keep
    reference_replay_v30.py fingerprint DB          JSON: what another program must not change
    reference_replay_v30.py check DB BEFORE.json    compares with a fingerprint taken earlier
    reference_replay_v30.py future DB               makes the file look like a later version (31: uids, an insert trigger, a column)

For files of version 11 and later. Prints one JSON object; exit 0 when everything held. `interference` lists what upstream would have to repair on open.
"""
import hashlib
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time

VERSION, STORAGE, TOOL_PREFIX = 30, 3, 8192
FTS_TRIGGERS = [f"messages_{t}_{op}" for t in ("fts", "fts_trigram") for op in ("insert", "delete", "update")]
DISPLAY_TRIGGERS = ["messages_display_" + n for n in ("order_insert", "visibility_update", "identity_update", "identity_delete")]
CJK_TRIGGERS = ["messages_fts_cjk_" + op for op in ("insert", "delete", "update")]
PENDING = ("fts_rebuild_high_water", "fts_rebuild_progress")

T, I, R, Z, N0, N1 = "TEXT", "INTEGER", "REAL", "INTEGER DEFAULT 0", "INTEGER NOT NULL DEFAULT 0", "INTEGER NOT NULL DEFAULT 1"
TABLES = {
    "schema_version": [("version", "INTEGER NOT NULL")],
    "system_prompts": [("hash", "TEXT PRIMARY KEY"), ("prompt", "TEXT NOT NULL")],
    "sessions": [("id", "TEXT PRIMARY KEY"), ("source", "TEXT NOT NULL"), *((c, T) for c in (
        "created_source user_id session_key chat_id chat_type thread_id display_name origin_json").split()), ("expiry_finalized", Z),
        *((c, T) for c in "model model_config system_prompt".split()), ("system_prompt_hash", "TEXT REFERENCES system_prompts(hash)"), ("parent_session_id", "TEXT REFERENCES sessions(id)"),
        ("started_at", "REAL NOT NULL"), ("ended_at", R), ("end_reason", T), *((c, Z) for c in (
            "message_count tool_call_count input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens").split()),
        ("cwd", T), ("git_branch", T), ("git_repo_root", T), ("git_metadata_generation", N0), ("billing_provider", T), ("billing_base_url", T), ("billing_mode", T),
        ("estimated_cost_usd", R), ("actual_cost_usd", R), ("cost_status", T), ("cost_source", T), ("pricing_version", T), ("title", T), ("title_source", T),
        ("last_activity_at", R), ("last_activity_description", T), ("last_activity_provenance", T), ("api_call_count", Z), ("handoff_state", T),
        ("handoff_platform", T), ("handoff_error", T), ("compression_failure_cooldown_until", R), ("compression_failure_error", T), ("compression_fallback_streak", N0),
        ("compression_ineffective_count", N0), ("compression_recovery_deadline", R), ("compression_overload_streak", N0), ("profile_name", T), ("transport_profile", T),
        ("rewind_count", N0), ("archived", N0), ("pinned", N0), ("hidden", N0), ("last_read_at", R), ("tool_names", T)],
    "messages": [("id", "INTEGER PRIMARY KEY AUTOINCREMENT"), ("session_id", "TEXT NOT NULL REFERENCES sessions(id)"), ("role", "TEXT NOT NULL"), ("content", T), ("tool_call_id", T),
                 ("tool_calls", T), ("tool_name", T), ("effect_disposition", T), ("timestamp", "REAL NOT NULL"), ("token_count", I), *((c, T) for c in (
                     "finish_reason reasoning reasoning_content reasoning_details codex_reasoning_items codex_message_items platform_message_id").split()),
                 ("observed", Z), ("_compressed_summary", N0), ("active", N1), ("compacted", N0), ("api_content", T), ("display_kind", T), ("display_metadata", T), ("display_identity", "BLOB"), ("display_order", I)],
    "state_meta": [("key", "TEXT PRIMARY KEY"), ("value", T)],
    "compression_locks": [("session_id", "TEXT PRIMARY KEY"), ("holder", "TEXT NOT NULL"), ("acquired_at", "REAL NOT NULL"), ("expires_at", "REAL NOT NULL")],
    "session_turn_leases": [("conversation_id", "TEXT PRIMARY KEY"), ("holder", "TEXT NOT NULL"), ("acquired_at", "REAL NOT NULL"), ("expires_at", "REAL NOT NULL")],
    "gateway_heartbeats": [("backend_id", "TEXT PRIMARY KEY"), ("pid", "INTEGER NOT NULL"), ("started_at", "REAL NOT NULL"), ("last_heartbeat", "REAL NOT NULL"), ("profile", "TEXT NOT NULL DEFAULT ''"), ("host", "TEXT NOT NULL DEFAULT ''")],
}
WITH_KEY = {"conversation_generations": "source TEXT NOT NULL, session_key TEXT NOT NULL, generation INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (source, session_key)",
            "gateway_routing": "scope TEXT NOT NULL DEFAULT '', session_key TEXT NOT NULL, entry_json TEXT NOT NULL, updated_at REAL NOT NULL, PRIMARY KEY (scope, session_key)"}
INDEXES = {"idx_messages_session": "messages(session_id, timestamp)", "idx_messages_session_id": "messages(session_id, id)", "idx_messages_session_active": "messages(session_id, active, timestamp)",
           "idx_messages_display_page": "messages(session_id, display_order, active DESC, id DESC) WHERE active = 1 OR compacted = 1", "idx_sessions_parent": "sessions(parent_session_id)", "idx_sessions_source": "sessions(source)",
           "idx_sessions_system_prompt_hash": "sessions(system_prompt_hash)", "idx_sessions_effective_activity": "sessions(COALESCE(last_activity_at, started_at) DESC, started_at DESC)"}
SHOWN = "(active = 1 OR compacted = 1)"
SAME = "session_id = {r}.session_id AND display_identity = {r}.display_identity AND " + SHOWN
FIRST = "(SELECT MIN(p.id) FROM messages AS p WHERE p.session_id = old.session_id AND (p.active = 1 OR p.compacted = 1) AND p.display_identity = old.display_identity)"
PEER = f"(SELECT display_order FROM messages WHERE {SAME.format(r='new')} AND id <> new.id AND display_order IS NOT NULL ORDER BY display_order LIMIT 1)"
KEYCOLS = "role content timestamp tool_call_id tool_calls tool_name display_kind".split()
NOW, WAS = "(new.active = 1 OR new.compacted = 1)", "(old.active = 1 OR old.compacted = 1)"
DISPLAY = {
    DISPLAY_TRIGGERS[0]: f"AFTER INSERT ON messages WHEN new.display_order IS NULL BEGIN UPDATE messages SET display_order = COALESCE({PEER}, new.id) WHERE id = new.id; END",
    DISPLAY_TRIGGERS[1]: f"AFTER UPDATE OF active, compacted ON messages WHEN {NOW} <> {WAS} BEGIN UPDATE messages SET display_order = MIN(new.id, COALESCE({PEER}, new.id)) WHERE id = new.id AND {NOW}; "
                         f"UPDATE messages SET display_order = (SELECT display_order FROM messages WHERE id = new.id) WHERE {SAME.format(r='new')} AND id <> new.id AND {NOW}; "
                         f"UPDATE messages SET display_order = {FIRST} WHERE {SAME.format(r='old')} AND NOT {NOW}; END",
    DISPLAY_TRIGGERS[2]: f"AFTER UPDATE OF {', '.join(KEYCOLS)} ON messages WHEN {' OR '.join(f'new.{c} IS NOT old.{c}' for c in KEYCOLS)} BEGIN UPDATE messages SET display_identity = NULL, display_order = NULL WHERE id = new.id OR ({SAME.format(r='old')}); END",
    DISPLAY_TRIGGERS[3]: f"AFTER DELETE ON messages WHEN {WAS} BEGIN UPDATE messages SET display_order = {FIRST} WHERE {SAME.format(r='old')}; END",
}


def gate(row):
    """Rows between progress and high water are not in the index while a conversion runs."""
    value = "COALESCE((SELECT CAST(value AS INTEGER) FROM state_meta WHERE key = '%s'), -1)"
    return f"({row}.id > {value % PENDING[0]} OR {row}.id <= {value % PENDING[1]})"


def indexed(row):
    return f"CASE WHEN {row}.role = 'tool' THEN substr(COALESCE({row}.content, ''), 1, {TOOL_PREFIX}) ELSE {row}.content END"


def trigrams_of(alias):
    config = f"{alias}model_config"
    return f"{alias}source NOT IN ('cron', 'subagent') AND json_extract(CASE WHEN json_valid({config}) THEN {config} ELSE '{{}}' END, '$._delegate_from') IS NULL"


def fts_objects():
    def triggers(table, columns, values, old_when, new_when, watched):
        into, cols = f"INSERT INTO {table}(rowid, {columns})", f"INSERT INTO {table}({table}, rowid, {columns})"
        add = f"{into} SELECT new.id, {values('new')} WHERE {new_when};"
        remove = f"{cols} SELECT 'delete', old.id, {values('old')} WHERE {old_when};"
        changed = " OR ".join(f"old.{c} IS NOT new.{c}" for c in watched)
        return {f"{table}_insert": f"AFTER INSERT ON messages WHEN {gate('new')} BEGIN {add} END", f"{table}_delete": f"AFTER DELETE ON messages WHEN {gate('old')} BEGIN {remove} END",
                f"{table}_update": f"AFTER UPDATE OF {', '.join(watched)} ON messages WHEN ({changed}) AND {gate('old')} BEGIN {remove} {add} END"}
    inside = lambda r: f"{r}.role <> 'tool' AND EXISTS (SELECT 1 FROM sessions WHERE id = {r}.session_id AND {trigrams_of('')})"  # noqa: E731
    return {
        "views": {"messages_fts_src": f"SELECT id, {indexed('messages')} AS content, tool_name, tool_calls FROM messages",
                  "messages_fts_trigram_src": f"SELECT m.id, m.role, m.content, m.tool_name FROM messages AS m JOIN sessions AS s ON s.id = m.session_id WHERE m.role <> 'tool' AND {trigrams_of('s.')}"},
        "tables": {"messages_fts": "fts5(content, tool_name, tool_calls, content='messages_fts_src', content_rowid='id')",
                   "messages_fts_trigram": "fts5(content, tool_name, content='messages_fts_trigram_src', content_rowid='id', tokenize='trigram')"},
        "triggers": {**triggers("messages_fts", "content, tool_name, tool_calls", lambda r: f"{indexed(r)}, {r}.tool_name, {r}.tool_calls", "1", "1", ["content", "tool_name", "tool_calls", "role"]),
                     **triggers("messages_fts_trigram", "content, tool_name", lambda r: f"{r}.content, {r}.tool_name", inside("old"), inside("new"), ["content", "tool_name", "role"])},
    }


FTS = fts_objects()


def schema(con):
    return {name: (kind, sql or "") for kind, name, sql in con.execute("SELECT type, name, sql FROM sqlite_master")}


def meta(con, key):
    row = con.execute("SELECT value FROM state_meta WHERE key = ?", (key,)).fetchone()
    return row and row[0]


def set_meta(con, key, value):
    con.execute("INSERT INTO state_meta (key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value", (key, value))


def vulnerable():
    v = tuple(int(x) for x in sqlite3.sqlite_version.split("."))
    return not (v >= (3, 51, 3) or (3, 50, 7) <= v < (3, 51, 0) or (3, 44, 6) <= v < (3, 45, 0))


def open_as_upstream(path, notes):
    """The writable open, in upstream's order. Appends to `notes` what it had to mend or change."""
    con = sqlite3.connect(path, timeout=1.0, isolation_level=None)
    con.row_factory = sqlite3.Row
    mode = con.execute("PRAGMA journal_mode").fetchone()[0]
    if mode != "wal" and not vulnerable():
        con.execute("PRAGMA journal_mode=WAL")
    con.execute("PRAGMA foreign_keys=ON")
    born = "schema_version" not in schema(con)
    for name, columns in TABLES.items():
        con.execute(f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(f'{c} {t}' for c, t in columns)})")
    for name, body in WITH_KEY.items():
        con.execute(f"CREATE TABLE IF NOT EXISTS {name} ({body})")
    for name, columns in TABLES.items():
        live = {r[1] for r in con.execute(f"PRAGMA table_info({name})")}
        for c, t in columns:
            if c not in live:
                con.execute(f"ALTER TABLE {name} ADD COLUMN {c} {t.replace(' PRIMARY KEY', '')}")
    for name, on in INDEXES.items():
        con.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {on}")
    found = schema(con)
    for name, body in DISPLAY.items():
        if name not in found:
            con.execute(f"CREATE TRIGGER {name} {body}")
            if not born and meta(con, "store_instance_id"):
                notes.append(f"{name} was missing")
    con.execute("UPDATE messages SET active = 1 WHERE active IS NULL")
    if meta(con, "fts_stale"):
        notes.append("fts_stale is set: triggers dropped, search by LIKE")
        for t in FTS_TRIGGERS + CJK_TRIGGERS:
            con.execute(f"DROP TRIGGER IF EXISTS {t}")
    live_cjk = [t for t in CJK_TRIGGERS if t in found]
    if live_cjk:  # this process has no such tokenizer
        set_meta(con, "fts_cjk_stale", "1")
        for t in live_cjk:
            con.execute(f"DROP TRIGGER {t}")
    legacy = "messages_fts" in found and "tool_name" not in found["messages_fts"][1]
    old_trigram = "tool_calls" in found.get("messages_fts_trigram", ("", ""))[1]
    row = con.execute("SELECT version FROM schema_version LIMIT 1").fetchone()
    if row is None:
        con.execute("INSERT INTO schema_version (version) VALUES (?)", (VERSION,))
        for key, value in (("store_instance_id", os.urandom(16).hex()), ("store_created_at_utc", time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()))):
            con.execute("INSERT OR IGNORE INTO state_meta (key, value) VALUES (?, ?)", (key, value))
    elif row[0] < VERSION:
        if row[0] < 23 and (legacy or old_trigram):
            set_meta(con, "fts_optimize_available", "1")
        if row[0] < 25:
            for sid, prompt in con.execute("SELECT id, system_prompt FROM sessions WHERE system_prompt IS NOT NULL").fetchall():
                con.execute("UPDATE sessions SET system_prompt_hash = ?, system_prompt = NULL WHERE id = ?", (store_prompt(con, prompt), sid))
        if not legacy and not old_trigram and "messages_fts_trigram" in found:
            for t in FTS_TRIGGERS[3:]:
                con.execute(f"DROP TRIGGER IF EXISTS {t}")
            con.execute("DROP VIEW IF EXISTS messages_fts_trigram_src")
            ensure_fts(con)
            con.execute("INSERT INTO messages_fts_trigram(messages_fts_trigram) VALUES('rebuild')")
        con.execute("UPDATE schema_version SET version = ?", (VERSION,))
    con.execute("CREATE UNIQUE INDEX IF NOT EXISTS idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL")
    settled = row is not None and row[0] >= VERSION  # otherwise a change is an upgrade, not a repair
    converted = meta(con, "fts_storage_version") is not None or (meta(con, "store_instance_id") is not None and not born)
    if legacy:
        for t in FTS["tables"]:  # a broad update trigger would fire for every change of display_order, and break inserts
            if "AFTER UPDATE ON" in " ".join(schema(con).get(f"{t}_update", ("", ""))[1].split()).upper():
                con.execute(f"DROP TRIGGER {t}_update")
                con.execute(f"CREATE TRIGGER {t}_update AFTER UPDATE OF content, tool_name, tool_calls, role ON messages BEGIN DELETE FROM {t} WHERE rowid = old.id; "
                            f"INSERT INTO {t}(rowid, content) VALUES (new.id, COALESCE({indexed('new')}, '') || ' ' || COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, '')); END")
                if settled:
                    notes.append(f"{t}_update was broad: narrowed")
        if converted:
            notes.append("messages_fts has another shape than upstream made it: taken for legacy, optimize-storage will throw it away")
        missing = [t for t in FTS_TRIGGERS if t not in found]
        if missing:
            notes.append(f"legacy index without {missing}: emptied and filled again")
        return con, {"legacy": True, "old_trigram": old_trigram, "journal": mode}
    if not meta(con, "fts_stale"):
        if "messages_fts" in found and "messages_fts_src" not in found["messages_fts"][1]:
            if settled:
                notes.append("messages_fts is not over messages_fts_src: dropped, made anew and rebuilt")
            for t in FTS_TRIGGERS[:3]:
                con.execute(f"DROP TRIGGER IF EXISTS {t}")
            con.execute("DROP TABLE messages_fts")
            ensure_fts(con)
            con.execute("INSERT INTO messages_fts(messages_fts) VALUES('rebuild')")
            set_meta(con, "fts_storage_version", str(STORAGE))
        missing = [t for t in FTS_TRIGGERS if t not in schema(con)]
        ensure_fts(con)
        if missing and not born:
            notes.append(f"without {missing}: rebuilt")
        if missing:
            for t in FTS["tables"]:
                con.execute(f"INSERT INTO {t}({t}) VALUES('rebuild')")
        if not old_trigram and not any(meta(con, k) for k in PENDING) and not born:
            set_meta(con, "fts_storage_version", str(STORAGE))
    return con, {"legacy": False, "old_trigram": old_trigram, "journal": mode}


def ensure_fts(con):
    for name, body in FTS["views"].items():
        con.execute(f"CREATE VIEW IF NOT EXISTS {name} AS {body}")
    for name, body in FTS["tables"].items():
        con.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING {body}")
    for name, body in FTS["triggers"].items():
        con.execute(f"CREATE TRIGGER IF NOT EXISTS {name} {body}")


def store_prompt(con, prompt):
    digest = hashlib.sha256(prompt.encode()).hexdigest()
    con.execute("INSERT OR IGNORE INTO system_prompts (hash, prompt) VALUES (?, ?)", (digest, prompt))
    return digest


def identity(role, content, when, call_id=None, calls=None, tool=None):
    return hashlib.sha256(repr((role, content, when, call_id, calls, tool)).encode("utf-8", "surrogatepass")).digest()


class Session:
    """Upstream's writes, one transaction each."""

    def __init__(self, con, sid):
        self.con, self.sid = con, sid

    def create(self, source="cli", parent=None, config=None, prompt=None):
        self.con.execute("BEGIN IMMEDIATE")
        self.con.execute("INSERT INTO sessions (id, source, model_config, system_prompt_hash, parent_session_id, profile_name, started_at) VALUES (?,?,?,?,?,'default',?) ON CONFLICT(id) DO NOTHING",
                         (self.sid, source, config and json.dumps(config), prompt and store_prompt(self.con, prompt), parent, time.time()))
        self.con.execute("COMMIT")
        return self

    def insert(self, role, content, calls=None, tool=None, summary=0, when=None):
        when = when or time.time()
        return self.con.execute("INSERT INTO messages (session_id, role, content, tool_calls, tool_name, timestamp, _compressed_summary, active, display_identity) VALUES (?,?,?,?,?,?,?,1,?)",
                                (self.sid, role, content, calls, tool, when, summary, identity(role, content, when, None, calls, tool))).lastrowid

    def append(self, role, content, calls=None, tool=None):
        self.con.execute("BEGIN IMMEDIATE")
        try:
            ended = self.con.execute("SELECT end_reason FROM sessions WHERE id = ? AND ended_at IS NOT NULL", (self.sid,)).fetchone()
            if ended and ended[0] == "compression":
                raise RuntimeError("session closed by compression")
            row = self.insert(role, content, calls, tool)
            self.con.execute("UPDATE sessions SET message_count = message_count + 1 WHERE id = ?", (self.sid,))
        except BaseException:
            self.con.execute("ROLLBACK")
            raise
        self.con.execute("COMMIT")
        return row

    def compact(self, summary, tail):
        """Archives the active rows, but `tail` of them, which are repeated behind the summary."""
        con = self.con
        con.execute("BEGIN IMMEDIATE")
        kept = con.execute("SELECT * FROM messages WHERE session_id = ? AND active = 1 ORDER BY id DESC LIMIT ?", (self.sid, tail)).fetchall()[::-1]
        marks = ",".join("?" * len(kept)) or "NULL"
        con.execute(f"UPDATE messages SET active = 0, compacted = 0 WHERE id IN ({marks})", [r["id"] for r in kept])
        con.execute("UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ? AND active = 1", (self.sid,))
        new = [self.insert("user", summary, summary=1)] + [self.insert(r["role"], r["content"], r["tool_calls"], r["tool_name"], when=r["timestamp"]) for r in kept]
        con.execute("UPDATE sessions SET message_count = ? WHERE id = ?", (len(new), self.sid))
        con.execute("COMMIT")
        return new

    def rotate(self, child):
        """Child first, then the parent's end, in one transaction."""
        con = self.con
        con.execute("BEGIN IMMEDIATE")
        con.execute("INSERT INTO sessions (id, source, parent_session_id, profile_name, started_at) SELECT ?, source, id, profile_name, ? FROM sessions WHERE id = ?", (child, time.time(), self.sid))
        Session(con, child).insert("user", "[CONTEXT SUMMARY]: handed over")
        con.execute("UPDATE sessions SET message_count = 1 WHERE id = ?", (child,))
        con.execute("UPDATE sessions SET ended_at = ?, end_reason = 'compression' WHERE id = ? AND ended_at IS NULL", (time.time(), self.sid))
        con.execute("COMMIT")
        return Session(con, child)

    def delete(self):
        con = self.con
        con.execute("BEGIN IMMEDIATE")
        con.execute("UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?", (self.sid,))
        con.execute("DELETE FROM messages WHERE session_id = ?", (self.sid,))
        con.execute("DELETE FROM sessions WHERE id = ?", (self.sid,))
        con.execute("DELETE FROM system_prompts WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE system_prompt_hash = hash)")
        con.execute("COMMIT")


def found(con, table, query):
    return [r[0] for r in con.execute(f"SELECT m.id FROM {table} JOIN messages m ON m.id = {table}.rowid JOIN sessions s ON s.id = m.session_id WHERE {table} MATCH ? "
                                      "AND (m.active = 1 OR m.compacted = 1) AND COALESCE(m.display_kind, '') <> 'hidden' ORDER BY rank LIMIT 300", (query,))]


def replay(path, keep, report):
    steps, notes = report["steps"], report["interference"]

    def step(name, ok, **more):
        steps.append({"step": name, "ok": bool(ok), **more})
        report["ok"] = report["ok"] and bool(ok)

    def rank1(when):
        for t in FTS["tables"]:
            try:
                con.execute(f"INSERT INTO {t}({t}, rank) VALUES('integrity-check', 1)")
                step(f"{t} at rank 1, {when}", True)
            except sqlite3.DatabaseError as error:
                step(f"{t} at rank 1, {when}", False, error=str(error))

    con, how = open_as_upstream(path, notes)
    report.update(how)
    step("upstream opens without mending anything", not notes, notes=list(notes))
    before = con.execute("SELECT COUNT(*), COALESCE(MAX(id), 0) FROM messages").fetchone()
    rank1("as opened")
    stamp = time.strftime("%Y%m%d_%H%M%S_") + os.urandom(3).hex()
    s = Session(con, stamp).create(prompt="You are replayed.")
    plain = s.append("user", "the quartzwharf crane turns slowly")
    listed = s.append("user", "\x00json:" + json.dumps([{"type": "text", "text": "velvetanchor in a list"}]))
    long_tool = s.append("tool", "opalhinge " + "filler " * 3000 + "farbeyond", tool="terminal")
    chinese = s.append("assistant", "\u6628\u5929\u8ba8\u8bba\u4e86\u7425\u73c0\u706f\u5854\u7684\u90e8\u7f72\u65b9\u6848")
    calls = s.append("assistant", "", json.dumps([{"id": "c1", "type": "function", "function": {"name": "grep", "arguments": "{\"q\": \"mossbridge\"}"}}]))
    child = Session(con, stamp + "d").create("subagent", stamp, {"_delegate_from": stamp})
    sub = child.append("user", "delegated \u7425\u73c0\u706f\u5854 quartzwharf")
    rank1("after appends")
    for table, query, wanted in (("messages_fts", "quartzwharf", plain), ("messages_fts", "velvetanchor", listed), ("messages_fts", "opalhinge", long_tool), ("messages_fts", "mossbridge", calls),
                                 ("messages_fts", "quartzwharf", sub), ("messages_fts_trigram", '"\u7425\u73c0\u706f\u5854"', chinese)):
        hits = found(con, table, query)
        step(f"{table} finds {query!r}", wanted in hits, hits=len(hits))
    if not report["legacy"]:
        step("tool text behind the prefix is not indexed", long_tool not in found(con, "messages_fts", "farbeyond"))
    if not report["legacy"] and not report["old_trigram"]:
        step("delegates are not in the trigram index", sub not in found(con, "messages_fts_trigram", '"\u7425\u73c0\u706f\u5854"'))
    con.execute("UPDATE messages SET content = ? WHERE id = ?", ("the heronloft crane turns slowly", plain))
    step("changed text is found", plain in found(con, "messages_fts", "heronloft"))
    step("the former text is not", plain not in found(con, "messages_fts", "quartzwharf"))
    rank1("after an update")
    new = s.compact("[CONTEXT SUMMARY]: replayed", 1)
    step("archived rows are found", plain in found(con, "messages_fts", "heronloft"))
    step("a carried row is found once", [i for i in found(con, "messages_fts", "mossbridge") if i in (calls, *new)] == new[1:])
    rank1("after compaction")
    undo = s.append("user", "take brambleway back")
    con.execute("UPDATE messages SET active = 0 WHERE session_id = ? AND active = 1 AND id >= ?", (stamp, undo))
    step("a rewound row is not found", undo not in found(con, "messages_fts", "brambleway"))
    tip = s.rotate(stamp + "r")
    tip.append("user", "after rotation tidalfern")
    try:
        s.append("user", "too late")
        step("a closed session takes no rows", False)
    except RuntimeError:
        step("a closed session takes no rows", True)
    rank1("after rotation")
    if not keep:
        for session in (child, tip, s):
            session.delete()
        left = con.execute("SELECT COUNT(*) FROM messages_fts WHERE messages_fts MATCH 'heronloft OR mossbridge OR tidalfern OR velvetanchor' AND rowid > ?", (before[1],)).fetchone()[0]
        step("deleted rows are not found", left == 0, left=left)
        rank1("after deletes")
        after = con.execute("SELECT COUNT(*), COALESCE(MAX(id), 0) FROM messages").fetchone()
        step("as many rows as before", after[0] == before[0], before=before[0], after=after[0])
    orphans = con.execute("PRAGMA foreign_key_check").fetchall()
    step("foreign keys", not orphans, broken=len(orphans))
    check = con.execute("PRAGMA integrity_check").fetchone()[0]
    step("integrity_check", check == "ok", result=check)
    con.close()


def fingerprint(path):
    alone = "" if os.path.exists(path + "-wal") else "&immutable=1"
    con = sqlite3.connect(f"file:{path}?mode=ro{alone}", uri=True)
    objects = {n: hashlib.sha256(f"{k} {s}".encode()).hexdigest()[:16] for n, (k, s) in schema(con).items()
               if n.startswith(("messages", "sessions", "idx_", "fts_", "system_prompts", "schema_version", "state_meta", "gateway", "conversation_", "compression_locks", "session_", "async_"))}
    out = {"objects": objects, "version": [r[0] for r in con.execute("SELECT version FROM schema_version")], "journal": "wal" if open(path, "rb").read(19)[18] == 2 else "delete",
           "meta": {k: v for k, v in con.execute("SELECT key, value FROM state_meta WHERE key LIKE 'fts%' OR key LIKE 'store%'")},
           "archived": con.execute("SELECT COUNT(*), COALESCE(SUM(id), 0) FROM messages WHERE compacted = 1").fetchone() if "compacted" in {r[1] for r in con.execute("PRAGMA table_info(messages)")} else None,
           "leases": con.execute("SELECT COUNT(*) FROM session_turn_leases").fetchone()[0] if "session_turn_leases" in schema(con) else None,
           "prompts": con.execute("SELECT COUNT(*) FROM system_prompts").fetchone()[0] if "system_prompts" in schema(con) else None}
    con.close()
    return out


def check(path, before, report):
    now = fingerprint(path)
    gone = sorted(n for n in before["objects"] if n not in now["objects"])
    changed = sorted(n for n in before["objects"] if now["objects"].get(n, "") not in ("", before["objects"][n]))
    added = sorted(n for n in now["objects"] if n not in before["objects"])
    for name, bad in (("objects gone", gone), ("objects changed", changed), ("objects added under foreign names", added)):
        report["steps"].append({"step": "no " + name, "ok": not bad, "names": bad})
    for key in ("version", "journal", "meta"):
        report["steps"].append({"step": f"{key} unchanged", "ok": now[key] == before[key], "before": before[key], "now": now[key]})
    fewer = before["archived"] is not None and now["archived"][0] < before["archived"][0]
    report["steps"].append({"step": "no archived rows lost", "ok": not fewer, "before": before["archived"], "now": now["archived"]})
    report["ok"] = all(s["ok"] for s in report["steps"])


def future(path):
    con = sqlite3.connect(path, isolation_level=None)
    for c in ("message_uid", "absorbed_message_uids", "tool_call_uids", "tool_call_uid"):
        con.execute(f"ALTER TABLE messages ADD COLUMN {c} TEXT")
    con.execute("ALTER TABLE sessions ADD COLUMN auto_archived INTEGER NOT NULL DEFAULT 0")
    con.execute("UPDATE messages SET message_uid = lower(hex(randomblob(16)))")
    con.execute("CREATE TRIGGER messages_future_uid_insert AFTER INSERT ON messages WHEN new.message_uid IS NULL BEGIN UPDATE messages SET message_uid = lower(hex(randomblob(16))) WHERE id = new.id; END")
    con.execute("UPDATE schema_version SET version = 31")
    con.close()


def main():
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    report = {"sqlite": sqlite3.sqlite_version, "steps": [], "interference": [], "ok": True}
    if len(args) == 2 and args[0] == "fingerprint":
        print(json.dumps(fingerprint(args[1]), indent=1, sort_keys=True))
        return 0
    if len(args) == 2 and args[0] == "future":
        future(args[1])
    elif len(args) == 2 and args[0] == "create":
        con, _ = open_as_upstream(args[1], report["interference"])
        s = Session(con, time.strftime("%Y%m%d_%H%M%S_") + os.urandom(3).hex()).create(prompt="You are new.")
        for role, text in (("user", "a first pinegrove question"), ("assistant", "its answer"), ("user", "\u7425\u73c0\u706f\u5854\u7684\u95ee\u9898")):
            s.append(role, text)
        s.compact("[CONTEXT SUMMARY]: new", 1)
        con.close()
    elif len(args) == 3 and args[0] == "check":
        check(args[1], json.load(open(args[2])), report)
    elif len(args) == 2 and args[0] == "replay":
        path, keep = args[1], "--keep" in sys.argv
        if not keep:
            folder = tempfile.mkdtemp(prefix="replay-")
            copy = os.path.join(folder, "state.db")
            for end in ("", "-wal"):  # files are copied, not opened: even a read-only open leaves files beside a WAL database
                if os.path.exists(path + end):
                    shutil.copyfile(path + end, copy + end)
            path = copy
        replay(path, keep, report)
        if not keep:
            shutil.rmtree(folder, True)
    else:
        print(__doc__)
        return 2
    print(json.dumps(report, ensure_ascii=False, indent=1))
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
