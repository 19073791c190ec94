// `hermes completion`: a script for bash, zsh or fish, made from the table of commands and those of the active provider. Completing a word
// starts no process.
import type { CommandBody, CommandSpec, FlagSpec, Group } from "../command.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

export const completion: CommandBody = async ({ args }, { groups, home, io }) => {
  const shell = args.shell as keyof typeof SCRIPTS; // the parser refuses any other word
  const specs = (await Promise.all(groups.map((group) => group.load()))).flat();
  const { ownCommandSpecs } = await import("../provider-commands.ts");
  const own = await ownCommandSpecs(home.home, io);
  const isTaken = (name: string): boolean => groups.some((group) => name.split(" ")[0] === group.name);
  const tree = commandTree([...specs, ...own.filter(({ name }) => !isTaken(name))], groups);
  const script = SCRIPTS[shell](tree);
  return { json: { shell, script }, lines: [script] };
};

// The table of commands as a tree: what may follow the words typed so far

export type Node = {
  /** Words typed so far, without the program: `memory archive`. Empty at the top. */
  readonly path: string;
  readonly children: readonly { readonly name: string; readonly summary: string }[];
  readonly flags: readonly Flag[];
  /** The words offered for each argument; empty when any text may be given. */
  readonly argumentChoices: readonly (readonly string[])[];
};

export type CompletedCommand = Omit<CommandSpec, "load">;

export type Flag = {
  /** As typed: `--target`, `-t`. */
  readonly spellings: readonly string[];
  readonly summary: string;
  readonly value: "none" | "choice" | "file" | "text";
  readonly choices: readonly string[];
};

const HELP: Flag = plain(["--help", "-h"], "display help for command");
const JSON_FLAG: Flag = plain(["--json"], "print the result as JSON");
const VERSION: Flag = plain(["--version", "-V"], "print the version");
/** Allowed anywhere on the line, so every node has a flag that takes a value. */
const PROFILE: Flag = {
  ...plain(["--profile", "-p"], "work in this profile instead of the active one"),
  value: "text",
};

/** The top comes first, then every group and command in the order of the table. */
export function commandTree(
  specs: readonly CompletedCommand[],
  groups: readonly Pick<Group, "name" | "summary">[],
): Node[] {
  const visible = specs.filter(({ isHidden }) => !isHidden);
  const paths = new Set(visible.flatMap(({ name }) => prefixesOf(name)));
  const childrenOf = (path: string): string[] => [...paths].filter((each) => parentOf(each) === path);
  const summaryOf = (path: string): string =>
    visible.find(({ name }) => name === path)?.summary ??
    groups.find(({ name }) => name === path)?.summary ??
    childrenOf(path).map(lastWord).join(", ");
  return ["", ...paths].map((path) => {
    const spec = visible.find(({ name }) => name === path);
    const children = childrenOf(path).map((each) => ({ name: lastWord(each), summary: summaryOf(each) }));
    const own = Object.entries(spec?.flags ?? {}).map(([name, flag]) => toFlag(name, flag));
    return {
      path,
      children,
      flags: [...own, ...(spec ? [JSON_FLAG] : []), PROFILE, ...(path === "" ? [VERSION] : []), HELP],
      argumentChoices: (spec?.arguments ?? []).map(({ choices, offers }) => choices ?? offers ?? []),
    };
  });
}

function toFlag(name: string, { kind, summary, short, choices, placeholder }: FlagSpec): Flag {
  const value = kind === "boolean" ? "none" : choices ? "choice" : placeholder === "path" ? "file" : "text";
  return {
    spellings: [`--${name}`, ...(short ? [`-${short}`] : [])],
    summary,
    value,
    choices: choices ?? [],
  };
}

function plain(spellings: readonly string[], summary: string): Flag {
  return { spellings, summary, value: "none", choices: [] };
}

function prefixesOf(name: string): string[] {
  const words = name.split(" ");
  return words.map((_word, index) => words.slice(0, index + 1).join(" "));
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(" ")));
}

function lastWord(path: string): string {
  return path.slice(path.lastIndexOf(" ") + 1);
}

// bash, from version 3.2 (macOS) on: no associative arrays, no helper package

export function bashScript(nodes: readonly Node[]): string {
  return `# bash completion for hermes. Load it with: eval "$(hermes completion bash)"
_hermes() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path="" given=0 flag="" word="" i=1
  COMPREPLY=()
  # Find out which command this is, how many arguments it has, and which flag waits for its value.
  while ((i < COMP_CWORD)); do
    word="\${COMP_WORDS[i]}"
    ((i += 1))
    if [[ -n $flag ]]; then
      if [[ $word != "=" ]]; then flag=""; fi
      continue
    fi
    case "$path:$word" in
${valueFlagBranches(nodes)}
      (*:-*) ;;
${subcommandBranches(nodes, "path")}
      (*) ((given += 1)) ;;
    esac
  done
  if [[ -n $flag ]]; then
    if [[ $cur == "=" ]]; then cur=""; fi
    case "$path:$flag" in
${flagValueBranches(nodes, { words: bashWords, files: "compopt -o default 2>/dev/null" })}
    esac
    return 0
  fi
  if [[ $cur == -* ]]; then
    case "$path" in
${nodes.map(({ path, flags }) => branch([path], bashWords(longSpellings(flags)))).join("\n")}
    esac
    return 0
  fi
  case "$path:$given" in
${nextWordBranches(nodes, { commands: (children) => bashWords(children.map(({ name }) => name)), words: bashWords })}
  esac
  return 0
}

_hermes_words() {
  local word
  for word in "$@"; do
    if [[ $word == "$cur"* ]]; then COMPREPLY+=("$word"); fi
  done
}

complete -F _hermes hermes`;
}

function bashWords(words: readonly string[]): string {
  return `_hermes_words ${words.map(shellWord).join(" ")}`;
}

function longSpellings(flags: readonly Flag[]): string[] {
  return flags.flatMap(({ spellings }) => spellings).filter((spelling) => spelling.startsWith("--"));
}

// zsh: works from a file in $fpath and when sourced after compinit

export function zshScript(nodes: readonly Node[]): string {
  return `#compdef hermes
# zsh completion for hermes. Load it with: eval "$(hermes completion zsh)"
_hermes() {
  local path_="" flag="" word="" prefix="$words[CURRENT]"
  local -i i=2 given=0
  local -a next
  # Find out which command this is, how many arguments it has, and which flag waits for its value.
  while ((i < CURRENT)); do
    word="$words[i]"
    ((i += 1))
    if [[ -n $flag ]]; then flag=""; continue; fi
    case "$path_:$word" in
${valueFlagBranches(nodes)}
      (*:-*) ;;
${subcommandBranches(nodes, "path_")}
      (*) ((given += 1)) ;;
    esac
  done
  if [[ -z $flag && $prefix == --*=* ]]; then
    flag="\${prefix%%=*}"
    compset -P '*='
  fi
  if [[ -n $flag ]]; then
    case "$path_:$flag" in
${flagValueBranches(nodes, { words: (list) => `compadd -- ${list.map(shellWord).join(" ")}`, files: "_files" })}
    esac
    return
  fi
  if [[ $prefix == -* ]]; then
    case "$path_" in
${nodes.map(({ path, flags }) => branch([path], zshOptions(flags))).join("\n")}
    esac
    _describe -o 'option' next
    return
  fi
  case "$path_:$given" in
${nextWordBranches(nodes, {
  commands: (children) =>
    `next=(${children.map(({ name, summary }) => zshDescribed(name, summary)).join(" ")})`,
  words: (list) => `next=(${list.map(shellWord).join(" ")})`,
})}
  esac
  ((\${#next})) && _describe 'command' next
}

if [[ $funcstack[1] == _hermes ]]; then
  _hermes "$@"
elif (( $+functions[compdef] )); then
  compdef _hermes hermes
fi`;
}

function zshOptions(flags: readonly Flag[]): string {
  return `next=(${flags.map((flag) => zshDescribed(longOf(flag), flag.summary)).join(" ")})`;
}

function longOf({ spellings }: Flag): string {
  return spellings.find((spelling) => spelling.startsWith("--")) ?? spellings[0] ?? "";
}

/** `name:summary`, the form that _describe takes. */
function zshDescribed(name: string, summary: string): string {
  return shellWord(`${name.replaceAll(":", "\\:")}:${summary}`);
}

// Branches of the `case` statements that bash and zsh share. A pattern is a path, or a path with a word: `memory add:--target`.

function branch(patterns: readonly string[], commands: string): string {
  return `    (${patterns.map(shellWord).join("|")}) ${commands} ;;`;
}

function valueFlagBranches(nodes: readonly Node[]): string {
  const branches = nodes.map(({ path, flags }) => {
    const waiting = flags.filter(({ value }) => value !== "none").flatMap(({ spellings }) => spellings);
    return branch(
      waiting.map((spelling) => `${path}:${spelling}`),
      'flag="$word"',
    );
  });
  return branches.join("\n");
}

/** Any other word is an argument: `hermes memory add show` adds the text "show". */
function subcommandBranches(nodes: readonly Node[], variable: string): string {
  const branches = nodes.flatMap(({ path, children }) =>
    children.map(({ name }) => {
      const below = path === "" ? name : `${path} ${name}`;
      return branch([`${path}:${name}`], `${variable}=${shellWord(below)}`);
    }),
  );
  return branches.join("\n");
}

function flagValueBranches(
  nodes: readonly Node[],
  { words, files }: { readonly words: (list: readonly string[]) => string; readonly files: string },
): string {
  const branches = nodes.flatMap(({ path, flags }) =>
    flags.flatMap(({ spellings, value, choices }) => {
      const patterns = spellings.map((spelling) => `${path}:${spelling}`);
      if (value === "choice") return [branch(patterns, words(choices))];
      return value === "file" ? [branch(patterns, files)] : [];
    }),
  );
  return branches.join("\n");
}

/** Subcommands, or the words that an argument accepts. */
function nextWordBranches(
  nodes: readonly Node[],
  {
    commands,
    words,
  }: {
    readonly commands: (children: Node["children"]) => string;
    readonly words: (list: readonly string[]) => string;
  },
): string {
  const branches = nodes.flatMap(({ path, children, argumentChoices }) => {
    if (children.length > 0) return [branch([`${path}:0`], commands(children))];
    return argumentChoices.flatMap((choices, index) =>
      choices.length === 0 ? [] : [branch([`${path}:${index}`], words(choices))],
    );
  });
  return branches.join("\n");
}

// fish: one `complete` line per word, with the condition under which it fits

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
${nodes.flatMap(fishValueFlag).join("\n")}
            case '*:-*'
${nodes.flatMap(fishSubcommand).join("\n")}
            case '*'
                set given (math $given + 1)
        end
    end
    test "$path" = "$argv[1]"; and begin
        test (count $argv) -lt 2; or test $given = $argv[2]
    end
end

complete -c hermes -f
${nodes.flatMap(fishCompletions).join("\n")}`;
}

function fishValueFlag({ path, flags }: Node): string[] {
  const waiting = flags.filter(({ value }) => value !== "none").flatMap(({ spellings }) => spellings);
  const patterns = waiting.map((spelling) => fishWord(`${path}:${spelling}`));
  return [`            case ${patterns.join(" ")}`, "                set flag 1"];
}

function fishSubcommand({ path, children }: Node): string[] {
  return children.flatMap(({ name }) => {
    const below = path === "" ? name : `${path} ${name}`;
    return [`            case ${fishWord(`${path}:${name}`)}`, `                set path ${fishWord(below)}`];
  });
}

function fishCompletions({ path, children, flags, argumentChoices }: Node): string[] {
  const words = children.map(
    ({ name, summary }) =>
      `complete -c hermes -n ${fishAt(path, 0)} -a ${fishWord(name)} -d ${fishWord(summary)}`,
  );
  const choices = argumentChoices.flatMap((each, index) =>
    each.length === 0 ? [] : [`complete -c hermes -n ${fishAt(path, index)} -a ${fishWord(each.join(" "))}`],
  );
  return [
    ...words,
    ...choices,
    ...flags.map((flag) => `complete -c hermes -n ${fishAt(path)} ${fishFlagOptions(flag)}`),
  ];
}

function fishFlagOptions({ spellings, summary, value, choices }: Flag): string {
  const names = spellings.map((each) =>
    each.startsWith("--") ? `-l ${each.slice(2)}` : `-s ${each.slice(1)}`,
  );
  const values = { none: "", choice: ` -x -a ${fishWord(choices.join(" "))}`, file: " -r -F", text: " -x" };
  return `${names.join(" ")}${values[value]} -d ${fishWord(summary)}`;
}

function fishAt(path: string, given?: number): string {
  return fishWord(`__hermes_at ${fishWord(path)}${given === undefined ? "" : ` ${given}`}`);
}

// Quoting

/** One word for bash and zsh. */
function shellWord(text: string): string {
  return /^[\w.,/+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** One word for fish, where a backslash escapes inside single quotes. */
function fishWord(text: string): string {
  return /^[\w.,/+-]+$/.test(text) ? text : `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
}
