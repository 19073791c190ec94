// Prints a completion script. It is made from the command table and stands alone: completing starts no process.
import type { CommandBody } from "../command.ts";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { commandTree } from "./tree.ts";
import { zshScript } from "./zsh.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

export const completion: CommandBody = async ({ args }, { groups }) => {
  const shell = args.shell as keyof typeof SCRIPTS; // one of the choices, or the parser would have refused it
  const specs = (await Promise.all(groups.map((group) => group.load()))).flat();
  const script = SCRIPTS[shell](commandTree(specs, groups));
  return { json: { shell, script }, lines: [script] };
};
