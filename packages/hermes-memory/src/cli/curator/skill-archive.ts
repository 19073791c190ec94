// `hermes curator pin`, `unpin`, `archive`, `restore` and `list-archived`: skills, by hand.
import { listArchivedSkills, restoreArchivedSkill } from "@hermes-memory/agent/internal/curator";
import { provenanceOf, readOrigins, setPinned, skillManageTool } from "@hermes-memory/core/internal/skills";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  unwrap,
} from "../command.ts";
import { printable } from "../printing.ts";
import { openSkills, skillFailure } from "../skills/skill-command.ts";

export const pin: CommandBody = (input, context) => setPin(input, context, true);
export const unpin: CommandBody = (input, context) => setPin(input, context, false);

async function setPin(input: CommandInput, context: CommandContext, isPinned: boolean) {
  const store = await openSkills(context);
  const skill = unwrap(await store.find(input.args.skill ?? ""), skillFailure);
  const origin = provenanceOf(skill, readOrigins(store));
  if (origin !== "agent")
    throw new CommandFailure(
      `The skill '${printable(skill.name)}' does not belong to this home, and is never archived.`,
      {
        details: { kind: "protected", provenance: origin },
      },
    );
  unwrap(await setPinned(store, skill.relativePath, isPinned), skillFailure);
  return { json: { success: true, skill: skill.directoryName, pinned: isPinned } };
}

/** By the rules of the curator: no pinned skills, and none that come from elsewhere. */
export const archive: CommandBody = async (input, context) => {
  const store = await openSkills(context);
  const { name } = unwrap(await store.find(input.args.skill ?? ""), skillFailure);
  const answer = await skillManageTool(store, { action: "delete", name }, { origin: "curator" });
  const { success, error, change_id } = answer as Readonly<Record<string, unknown>>;
  if (success !== true)
    throw new CommandFailure(printable(String(error ?? "The skill was not archived.")), {
      details: { kind: "refused" },
    });
  const message = `The skill is in the archive. 'hermes curator restore ${name}' brings it back.`;
  return { json: { success: true, message, skill: name, change_id } };
};

export const restore: CommandBody = async (input, context) => {
  const store = await openSkills(context);
  const path = unwrap(await restoreArchivedSkill(store, input.args.skill ?? ""), skillFailure);
  return { json: { success: true, path } };
};

export const listArchived: CommandBody = async (_input, context) => ({
  json: {
    skills: listArchivedSkills(await openSkills(context)).map(({ name, archivedAt, absorbedInto }) => ({
      name,
      archived_at: archivedAt,
      absorbed_into: absorbedInto,
    })),
  },
});
