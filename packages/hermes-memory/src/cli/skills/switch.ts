// disable, enable: lists of names in config.yaml.
import { setConfigValue } from "@hermes-memory/core/config";
import { usable } from "@hermes-memory/core/memory";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  unwrap,
} from "../command.ts";
import { printable } from "../printing.ts";
import { openSkills, skillFailure } from "./open.ts";

export const disable: CommandBody = async (input, context) => {
  const store = await openSkills(context);
  // Under the name lists and lookups use, whichever way it was asked for.
  const { name } = unwrap(await store.find(input.args.name ?? ""), skillFailure);
  return change(input, context, { name, isOff: true, names: [name] });
};

/** Also for a skill that is gone: its name may still be in the list. */
export const enable: CommandBody = async (input, context) => {
  const store = await openSkills(context);
  const asked = input.args.name ?? "";
  const found = await store.find(asked);
  const names = found.ok ? [found.value.name, found.value.directoryName, asked] : [asked];
  return change(input, context, { name: found.ok ? found.value.name : asked, isOff: false, names });
};

type Wanted = { readonly name: string; readonly isOff: boolean; readonly names: readonly string[] };

async function change(
  { flags }: CommandInput,
  { memory }: CommandContext,
  { name, isOff, names }: Wanted,
): Promise<CommandOutcome> {
  const platform = typeof flags.platform === "string" ? flags.platform : undefined;
  if (platform !== undefined && !/^[\w-]+$/.test(platform))
    throw new CommandFailure(`'${platform}' is not the name of a platform.`, { exitCode: 2 });
  const { skills } = await memory.config();
  const key = platform === undefined ? "skills.disabled" : `skills.platform_disabled.${platform}`;
  const before = platform === undefined ? skills.disabled : (skills.platformDisabled[platform] ?? []);
  const rest = before.filter((each) => !names.includes(each));
  const after = isOff ? [...rest, name] : rest;
  const isChanged = isOff ? !before.includes(name) : rest.length < before.length;
  if (isChanged) usable(await setConfigValue(memory.home, key, JSON.stringify(after)));
  const where = platform === undefined ? "" : ` on ${platform}`;
  const state = isOff ? "switched off" : "switched on";
  return {
    json: {
      success: true,
      name,
      disabled: isOff,
      key,
      value: isChanged ? after : before,
      changed: isChanged,
    },
    lines: [printable(`The skill '${name}' is ${isChanged ? "now" : "already"} ${state}${where}.`)],
    notes: isChanged ? ["Running sessions keep the list they started with."] : [],
  };
}
