// history, undo.
import { type HistoryEntry, skillHistory, undoSkillChange } from "@hermes-memory/core/skills";
import type { CommandBody, CommandContext } from "../command.ts";
import { unwrap } from "../command.ts";
import { localTime, printable } from "../printing.ts";
import { openSkills, skillFailure } from "./open.ts";

const DEFAULT_LIMIT = 20;

export const history: CommandBody = async ({ flags }, context) => {
  const all = skillHistory(await openSkills(context));
  const lines = all.slice(0, typeof flags.limit === "number" ? flags.limit : DEFAULT_LIMIT);
  const more = `The newest ${lines.length} of ${all.length} changes; --limit ${all.length} lists them all.`;
  return {
    json: lines,
    lines: lines.length > 0 ? lines.map((line) => render(line, context)) : ["No changes recorded."],
    notes: all.length > lines.length ? [more] : [],
  };
};

export const undo: CommandBody = async ({ args }, context) => {
  const store = await openSkills(context);
  const { undone, changeId } = unwrap(await undoSkillChange(store, args.id, { origin: "cli" }), skillFailure);
  return {
    json: {
      success: true,
      undone: undone.id,
      change_id: changeId,
      skill: undone.skill,
      action: undone.action,
    },
    lines: [printable(`Took back ${undone.id}: ${what(undone)}.`)],
    notes: [`'hermes skills undo ${changeId}' makes the change again.`],
  };
};

function render(entry: HistoryEntry, { io }: CommandContext): string {
  const head = `${localTime(entry.time)}  ${entry.id}  ${entry.origin.padEnd(7)}  ${what(entry)}`;
  const mark =
    entry.undone_by === undefined ? "" : `  ${io.paint("yellow", `[undone by ${entry.undone_by}]`)}`;
  return printable(head) + mark;
}

function what({ action, undoes, path, file, moved, absorbed_into }: HistoryEntry): string {
  const verb = undoes === undefined ? action : `${action} of ${undoes}`;
  const place = file === null ? path : `${path}/${file}`;
  const target =
    moved?.to.startsWith(".archive/") && !moved.to.startsWith(".archive/.deleted/") ? ` -> ${moved.to}` : "";
  return `${verb} ${place}${target}${absorbed_into ? ` (absorbed into ${absorbed_into})` : ""}`;
}
