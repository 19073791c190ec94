// A refused write of curated memory as the error that the door throws: what happened, and the next step with the door's own members.
import { entryIds, type MemoryErrorFields, type MemoryTarget } from "../curated/index.ts";
import { codePointLength, groupThousands, HermesError } from "../lib/index.ts";
import { areSecretIds } from "../security/index.ts";

/** `code`: `memory-` and the kind with dashes, such as `memory-over-limit`. `problem` has the details, typed by its `kind`. */
export class MemoryFailure extends HermesError {
  readonly problem: MemoryErrorFields;

  /** `target`: the file that was to be written, so that the hint can name its entries by id. */
  constructor(problem: MemoryErrorFields, target?: MemoryTarget) {
    super(`memory-${problem.kind.replaceAll("_", "-")}`, messageOf(problem), {
      hint: hintOf(problem, target),
    });
    this.problem = problem;
  }
}

function messageOf(problem: MemoryErrorFields): string {
  switch (problem.kind) {
    case "over_limit": {
      const { usedChars, charLimit, currentEntries } = problem;
      const entries = currentEntries.length === 1 ? "1 entry" : `${currentEntries.length} entries`;
      return `The write does not fit: ${groupThousands(usedChars)} of ${groupThousands(charLimit)} characters are used by ${entries}. Nothing was changed.`;
    }
    case "empty":
      return "The text is empty.";
    case "missing_arg":
      return "No text was given.";
    default:
      return withoutCommands(problem.message);
  }
}

/** The store's messages also name commands for a user at a terminal. A program gets the hint instead. */
function withoutCommands(message: string): string {
  return message
    .replace(/; 'hermes [^']+'[^.;]*(?=\.)/g, "")
    .replace(/(?<=\.) (?:[A-Z][^.']*)?'hermes [^']+'[^.]*\./g, "");
}

function hintOf(problem: MemoryErrorFields, target: MemoryTarget | undefined): string {
  switch (problem.kind) {
    case "over_limit":
      return `Remove or shorten one with me.update(id, ...)${longest(problem.currentEntries, target)}, or set memory.overflow: archive in config.yaml.`;
    case "blocked":
      return areSecretIds(problem.ids)
        ? "Store where the credential is kept instead of the credential, or set memory.allow_secrets: true in config.yaml."
        : `Say it in other words, or, if the text is harmless, put ${problem.ids.join(", ")} into memory.scan_allow in config.yaml.`;
    case "drift":
      return `Compare the file with ${problem.backup}, bring it back to plain entries separated by lines that hold only '§', and add what is then missing with me.add(text).`;
    case "ambiguous":
      return "Pass more characters of the id: me.list() gives ids that differ.";
    case "no_match":
      return "me.list() gives the entries with their ids, me.history() the changes.";
    case "empty":
    case "missing_arg":
      return "Pass a text; me.remove(id) deletes an entry.";
    case "invalid_content":
      return "Pass plain text, one fact for each call of me.add(text).";
    case "bad_target":
    case "bad_action":
      return "The target is 'memory' or 'user'.";
    case "denied":
      return "me.history() shows who changed the entry, me.explain(text) whether it is pinned.";
    case "io":
      return "Check that the disk has room and that this process may read and write the home, then call again.";
    case "locked":
      return "Call again; memory.lock_timeout_seconds in config.yaml sets how long a write waits.";
    case "disabled":
      return "Set memory.memory_enabled (target 'memory') or memory.user_profile_enabled (target 'user') to true in config.yaml.";
    default:
      return problem satisfies never;
  }
}

const MOST_NAMED = 3;

/** `: 1f0c9a2b (412 characters), ...`: the entries that would make the most room. */
function longest(entries: readonly string[], target: MemoryTarget | undefined): string {
  if (target === undefined || entries.length === 0) return "";
  const ids = entryIds(target, entries);
  const sized = entries.map((text, index) => ({ id: ids[index], chars: codePointLength(text) }));
  const named = sized.sort((a, b) => b.chars - a.chars).slice(0, MOST_NAMED);
  const list = named.map(({ id, chars }) => `${id} (${groupThousands(chars)} characters)`).join(", ");
  return named.length < entries.length ? `: the longest are ${list}` : `: ${list}`;
}
