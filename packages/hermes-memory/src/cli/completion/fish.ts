// Completion for fish: one `complete` line per word, each with the place where it fits.
import { fishWord } from "./shell-word.ts";
import type { Flag, Node } from "./tree.ts";

export function fishScript(nodes: readonly Node[]): string {
  return `# fish completion for hermes. Save it as ~/.config/fish/completions/hermes.fish
function __hermes_at
    # True when the words before the cursor lead to this command, with this many arguments given (any, when left out).
    set -l path ''
    set -l given 0
    set -l flag 0
    for word in (commandline -opc)[2..-1]
        if test $flag = 1
            set flag 0
            continue
        end
        switch "$path:$word"
${nodes.flatMap(valueFlag).join("\n")}
            case '*:-*'
${nodes.flatMap(subcommand).join("\n")}
            case '*'
                set given (math $given + 1)
        end
    end
    test "$path" = "$argv[1]"; and begin
        test (count $argv) -lt 2; or test $given = $argv[2]
    end
end

complete -c hermes -f
${nodes.flatMap(completions).join("\n")}`;
}

function valueFlag({ path, flags }: Node): string[] {
  const waiting = flags.filter(({ value }) => value !== "none").flatMap(({ spellings }) => spellings);
  const patterns = waiting.map((spelling) => fishWord(`${path}:${spelling}`));
  return [`            case ${patterns.join(" ")}`, "                set flag 1"];
}

function subcommand({ path, children }: Node): string[] {
  return children.flatMap(({ name }) => {
    const below = path === "" ? name : `${path} ${name}`;
    return [`            case ${fishWord(`${path}:${name}`)}`, `                set path ${fishWord(below)}`];
  });
}

function completions({ path, children, flags, argumentChoices }: Node): string[] {
  const words = children.map(
    ({ name, summary }) =>
      `complete -c hermes -n ${at(path, 0)} -a ${fishWord(name)} -d ${fishWord(summary)}`,
  );
  const choices = argumentChoices.flatMap((each, index) =>
    each.length === 0 ? [] : [`complete -c hermes -n ${at(path, index)} -a ${fishWord(each.join(" "))}`],
  );
  return [
    ...words,
    ...choices,
    ...flags.map((flag) => `complete -c hermes -n ${at(path)} ${flagOptions(flag)}`),
  ];
}

function flagOptions({ spellings, summary, value, choices }: Flag): string {
  const names = spellings.map((each) =>
    each.startsWith("--") ? `-l ${each.slice(2)}` : `-s ${each.slice(1)}`,
  );
  const values = { none: "", choice: ` -x -a ${fishWord(choices.join(" "))}`, file: " -r -F", text: " -x" };
  return `${names.join(" ")}${values[value]} -d ${fishWord(summary)}`;
}

function at(path: string, given?: number): string {
  return fishWord(`__hermes_at ${fishWord(path)}${given === undefined ? "" : ` ${given}`}`);
}
