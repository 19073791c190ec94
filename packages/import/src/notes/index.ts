// Notes of other agents and memory tools as curated entries: read, planned, stored.
export type { NoteFormat } from "./note-format.ts";
export {
  applyNotes,
  keepOverflow,
  type NoteStatus,
  overflowOf,
  type PlannedNote,
  planNotes,
} from "./plan-notes.ts";
export { NOTE_FORMATS, type NoteSource, notesHere, readNotes } from "./read-notes.ts";
