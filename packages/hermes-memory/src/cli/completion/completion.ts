// `hermes completion`: a script for bash, zsh or fish, made from the table of commands and those of the active provider. Completing a word
// starts no process.
import type { CommandBody, CommandSpec } from "../command.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

export const completion: CommandBody = async ({ args }, { groups, home, io }) => {
  const shell = args.shell as keyof typeof SCRIPTS; // the parser refuses any other word
  const specs = (await Promise.all(groups.map((group) => group.load()))).flat();
  const { ownCommandSpecs } = await import("../provider-commands.ts");
  const own = await ownCommandSpecs(home.home, io);
  const isTaken = (name: string): boolean => groups.some((group) => name.split(" ")[0] === group.name);
  const script = SCRIPTS[shell](wordTable([...specs, ...own.filter(({ name }) => !isTaken(name))]));
  return { json: { shell, script }, lines: [script] };
};

export type CompletedCommand = Omit<CommandSpec, "load">;

/**
 * The words that may follow, by place: `memory add:0` is the first argument of that command (or the commands below a group), `memory add:-`
 * its flags, `memory add:--target` the value of a flag. A flag without a place of its own takes no value.
 */
export type WordTable = ReadonlyMap<string, readonly string[]>;

/** Others would have to be quoted, for three shells. */
const PLAIN = /^[\w.,/+: -]*$/;

export function wordTable(specs: readonly CompletedCommand[]): WordTable {
  const table = new Map<string, string[]>();
  const offer = (place: string, words: readonly string[]): void => {
    const plain = words.filter((word) => PLAIN.test(word));
    if (PLAIN.test(place)) table.set(place, [...new Set([...(table.get(place) ?? []), ...plain])]);
  };
  const makePlace = (path: string): void => {
    offer(`${path}:-`, ["--profile", "--help"]); // both are allowed anywhere on the line
    for (const flag of ["--profile", "-p"]) offer(`${path}:${flag}`, []);
  };
  makePlace("");
  offer(":-", ["--version"]);
  for (const { name, flags = {}, arguments: given = [] } of specs.filter(({ isHidden }) => !isHidden)) {
    const words = name.split(" ");
    for (const [depth, word] of words.entries()) {
      offer(`${words.slice(0, depth).join(" ")}:0`, [word]);
      makePlace(words.slice(0, depth + 1).join(" "));
    }
    for (const [at, { choices, offers = [] }] of given.entries()) offer(`${name}:${at}`, choices ?? offers);
    offer(`${name}:-`, [...Object.keys(flags).map((flag) => `--${flag}`), "--json"]);
    for (const [flag, { kind, short, choices = [] }] of Object.entries(flags)) {
      const spellings = kind === "boolean" ? [] : [`--${flag}`, ...(short ? [`-${short}`] : [])];
      for (const spelling of spellings) offer(`${name}:${spelling}`, choices);
    }
  }
  return table;
}

/** For bash from version 3.2 (macOS) on: no associative arrays, no helper package. Where nothing is known, it offers files. */
export function bashScript(table: WordTable): string {
  return `# bash completion for hermes. Load it with: eval "$(hermes completion bash)"
_hermes_words() {
  case "$1" in
${[...table].map(([place, words]) => `    ('${place}') echo '${words.join(" ")}' ;;`).join("\n")}
    (*) return 1 ;;
  esac
}

_hermes() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" at="" given=0 flag="" word i
  # Find out which command this is, how many arguments it has, and which flag waits for its value.
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if [[ -n $flag ]]; then
      if [[ $word != "=" ]]; then flag=""; fi
    elif [[ $word == -* ]]; then
      if _hermes_words "\${at}:$word" >/dev/null; then flag="$word"; fi
    elif _hermes_words "\${at:+$at }\${word}:-" >/dev/null; then
      at="\${at:+$at }$word"
    else
      ((given += 1))
    fi
  done
  if [[ -n $flag ]]; then
    if [[ $cur == "=" ]]; then cur=""; fi
    given="$flag"
  elif [[ $cur == -* ]]; then
    given="-"
  fi
  COMPREPLY=($(compgen -W "$(_hermes_words "\${at}:$given")" -- "$cur"))
}

complete -o default -F _hermes hermes`;
}

/** The same by zsh's own emulation of bash's completion. */
function zshScript(table: WordTable): string {
  return `# zsh completion for hermes. Load it after compinit with: eval "$(hermes completion zsh)"
autoload -U +X bashcompinit && bashcompinit
${bashScript(table)}`;
}

export function fishScript(table: WordTable): string {
  return `# fish completion for hermes. Save it as ~/.config/fish/completions/hermes.fish
function __hermes_words
    switch $argv[1]
${[...table].map(([place, words]) => `        case '${place}'\n            string split -n ' ' -- '${words.join(" ")}'; or true`).join("\n")}
        case '*'
            return 1
    end
end

function __hermes_complete
    set -l at ''
    set -l place 0
    set -l flag ''
    for word in (commandline -opc)[2..-1]
        set -l below (string trim -- "$at $word")
        if test -n "$flag"
            set flag ''
        else if string match -q -- '-*' $word
            __hermes_words "$at:$word" >/dev/null; and set flag $word
        else if __hermes_words "$below:-" >/dev/null
            set at $below
        else
            set place (math $place + 1)
        end
    end
    if test -n "$flag"
        set place $flag
    else if string match -q -- '-*' (commandline -ct)
        set place -
    end
    __hermes_words "$at:$place"
end

complete -c hermes -f -a '(__hermes_complete)'`;
}
