// Facts that other memory tools keep: Letta's memory blocks, mem0's facts, claude-mem's observations and summaries.
import { join } from "node:path";
import type { MemoryTarget } from "@hermes-memory/core/internal/curated";
import { markdownEntries } from "../transcripts/kit/markdown.ts";
import { joined } from "../transcripts/kit/parts.ts";
import type { SourceDatabase } from "../transcripts/kit/sqlite-source.ts";
import { type Json, jsonOf, listOf, numberOf, recordOf, textOf } from "../transcripts/kit/values.ts";
import type { FoundNotes, Note, NoteFormat } from "./note-format.ts";

// ---- Letta ----

export const letta: NoteFormat = {
  name: "letta",
  title: "Letta agent file",
  places: () => [],
  text: {
    recognises: ({ text }) => blocksIn(jsonOf(text)) !== undefined,
    read: ({ text }) => lettaNotes(jsonOf(text)),
  },
};

/** An agent file has `blocks`; the older shape has `core_memory`, and a single agent's export `memory.blocks`. */
function blocksIn(value: unknown): readonly unknown[] | undefined {
  const file = recordOf(value);
  const found = [file?.blocks, file?.core_memory, recordOf(file?.memory)?.blocks].find(
    (list) => Array.isArray(list) && list.some((one) => recordOf(one)?.label !== undefined),
  );
  return found === undefined ? undefined : listOf(found);
}

/** The block `human` is about the user, the others are the agent's. Its first use is a template, which holds no fact. */
function lettaNotes(value: unknown): FoundNotes {
  const blocks = blocksIn(value);
  if (blocks === undefined) throw new Error("it has no memory blocks");
  const remarks: string[] = [];
  const notes = blocks.flatMap((one, at): Note[] => {
    const block = recordOf(one);
    const label = textOf(block?.label) ?? "";
    const text = textOf(block?.value);
    if (text === undefined) {
      remarks.push(`Block ${at + 1} (${label || "without a label"}) is empty.`);
      return [];
    }
    const target: MemoryTarget = label === "human" ? "user" : "memory";
    const prefix = label === "human" || label === "persona" || label === "" ? "" : `${label}: `;
    return markdownEntries(text, "smart").map((entry) => ({
      ...entry,
      text: prefix + entry.text,
      target,
      place: `block ${label || at + 1}`,
    }));
  });
  return { notes, remarks };
}

// ---- mem0 ----

export const mem0: NoteFormat = {
  name: "mem0",
  title: "mem0 export or history database",
  isExperimental: true,
  places: ({ home, env }) => [join(textOf(env.MEM0_DIR) ?? join(home, ".mem0"), "history.db")],
  text: {
    recognises: ({ text }) => factsIn(jsonOf(text)) !== undefined,
    read: ({ text }) => exportedFacts(jsonOf(text)),
  },
  database: { tables: ["history"], read: historyNotes },
};

/** A list of facts, or an object that holds one as `results` or `memories`. */
function factsIn(value: unknown): readonly unknown[] | undefined {
  const file = recordOf(value);
  return [value, file?.results, file?.memories].find(
    (list): list is unknown[] => Array.isArray(list) && list.some((one) => factOf(one) !== undefined),
  );
}

function factOf(value: unknown): string | undefined {
  const fact = recordOf(value);
  return textOf(fact?.memory) ?? (fact?.user_id === undefined ? undefined : textOf(fact.text));
}

function exportedFacts(value: unknown): FoundNotes {
  const facts = factsIn(value);
  if (facts === undefined) throw new Error("it holds no list of facts");
  const notes = facts.flatMap((one, at): Note[] => {
    const text = factOf(one);
    return text === undefined ? [] : [{ text, target: "user", place: `fact ${at + 1}` }];
  });
  const rest = facts.length - notes.length;
  return { notes, remarks: rest === 0 ? [] : [`${rest} of ${facts.length} records hold no fact.`] };
}

/** The last event of each fact decides: its text, or that it was deleted. */
function historyNotes(db: SourceDatabase): FoundNotes {
  const columns = db.columnsOf("history");
  for (const name of ["memory_id", "new_memory", "event"])
    if (!columns.has(name)) throw new Error(`its table 'history' has no column '${name}'`);
  const order = columns.has("created_at") ? "created_at, rowid" : "rowid";
  const facts = new Map<string, string>();
  for (const row of db.each(`SELECT * FROM history ORDER BY ${order}`)) {
    const id = String(row.memory_id);
    const text = textOf(row.new_memory);
    const isGone = row.event === "DELETE" || numberOf(row.is_deleted) === 1;
    if (isGone) facts.delete(id);
    else if (text !== undefined) facts.set(id, text);
  }
  return {
    notes: [...facts].map(([id, text]) => ({ text, target: "user", place: `fact ${id}` })),
    remarks: ["Only facts in mem0's history were read, not its vector store."],
  };
}

// ---- claude-mem ----

export const claudeMem: NoteFormat = {
  name: "claude-mem",
  title: "claude-mem database",
  places: ({ home, env }) => [
    join(textOf(env.CLAUDE_MEM_DATA_DIR) ?? join(home, ".claude-mem"), "claude-mem.db"),
  ],
  database: {
    tables: ["observations", "session_summaries"],
    read: (db) => ({
      notes: [...observations(db), ...summaries(db)],
      remarks: ["Conversations are not in it: 'hermes sessions import --from claude-code' reads those."],
    }),
  },
};

function observations(db: SourceDatabase): Note[] {
  return newest(db, "observations", (row) => {
    const title = textOf(row.title);
    const facts = listOf(jsonOf(textOf(row.facts))).flatMap((fact) => textOf(fact) ?? []);
    const body = facts.length > 0 ? facts.join("; ") : (textOf(row.narrative) ?? textOf(row.subtitle));
    const text = labelled(title, body);
    return { text, key: title ?? text, place: `observation ${String(row.id ?? row.rowid)}` };
  });
}

function summaries(db: SourceDatabase): Note[] {
  return newest(db, "session_summaries", (row) => {
    const learned = joined([textOf(row.learned), textOf(row.completed)]).replaceAll("\n\n", " ");
    const request = textOf(row.request);
    const text = learned === "" ? undefined : labelled(request, learned);
    return { text, key: request, place: `summary ${String(row.id ?? row.rowid)}`, priority: -1 };
  });
}

type Keyed = Omit<Note, "text"> & { readonly text: string | undefined; readonly key: string | undefined };

/** Newest first, each key once per session: claude-mem notes the same thing again as a session goes on. */
function newest(db: SourceDatabase, table: string, noteOf: (row: Json) => Keyed): Note[] {
  const columns = db.columnsOf(table);
  if (columns.size === 0) return [];
  const order = columns.has("created_at_epoch") ? "created_at_epoch DESC, rowid DESC" : "rowid DESC";
  const seen = new Set<string>();
  return db.all(`SELECT rowid, * FROM ${table} ORDER BY ${order}`).flatMap((row): Note[] => {
    const session = row.content_session_id ?? row.memory_session_id ?? row.sdk_session_id ?? null;
    const { text, key, ...note } = noteOf(row);
    const place = JSON.stringify([session, key]);
    if (text === undefined || seen.has(place)) return [];
    seen.add(place);
    return [{ text, ...note }];
  });
}

function labelled(label: string | undefined, text: string | undefined): string | undefined {
  if (label === undefined || text === undefined) return label ?? text;
  return text.startsWith(label) ? text : `${label}: ${text}`;
}
