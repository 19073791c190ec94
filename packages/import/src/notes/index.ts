// Notes of other agents and memory tools as curated entries: read, planned, stored.
export { applyNotes, keepOverflow, overflowOf } from "./apply-notes.ts";
export type { NoteFormat } from "./note-format.ts";
export { type NoteStatus, type PlannedNote, planNotes } from "./plan-notes.ts";
export { NOTE_FORMATS, type NoteSource, notesHere, readNotes } from "./read-notes.ts";
