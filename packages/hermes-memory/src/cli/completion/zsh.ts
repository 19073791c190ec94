// Completion for zsh. Works from a file in $fpath and when sourced after compinit.
import { shellWord } from "./shell-word.ts";
import type { Flag, Node } from "./tree.ts";

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
${lines(nodes, valueFlag)}
      (*:-*) ;;
${lines(nodes, subcommand)}
      (*) ((given += 1)) ;;
    esac
  done
  if [[ -z $flag && $prefix == --*=* ]]; then
    flag="\${prefix%%=*}"
    compset -P '*='
  fi
  if [[ -n $flag ]]; then
    case "$path_:$flag" in
${lines(nodes, flagValue)}
    esac
    return
  fi
  if [[ $prefix == -* ]]; then
    case "$path_" in
${lines(nodes, flagList)}
    esac
    _describe -o 'option' next
    return
  fi
  case "$path_:$given" in
${lines(nodes, nextWord)}
  esac
  ((\${#next})) && _describe 'command' next
}

if [[ $funcstack[1] == _hermes ]]; then
  _hermes "$@"
elif (( $+functions[compdef] )); then
  compdef _hermes hermes
fi`;
}

function lines(nodes: readonly Node[], toLines: (node: Node) => readonly string[]): string {
  return nodes.flatMap(toLines).join("\n");
}

function valueFlag({ path, flags }: Node): string[] {
  const waiting = flags.filter(({ value }) => value !== "none").flatMap(({ spellings }) => spellings);
  return [`      (${waiting.map((spelling) => shellWord(`${path}:${spelling}`)).join("|")}) flag="$word" ;;`];
}

function subcommand({ path, children }: Node): string[] {
  return children.map(({ name }) => {
    const below = path === "" ? name : `${path} ${name}`;
    return `      (${shellWord(`${path}:${name}`)}) path_=${shellWord(below)} ;;`;
  });
}

function flagValue({ path, flags }: Node): string[] {
  return flags.flatMap(({ spellings, value, choices }) => {
    const pattern = spellings.map((spelling) => shellWord(`${path}:${spelling}`)).join("|");
    if (value === "choice") return [`      (${pattern}) compadd -- ${choices.map(shellWord).join(" ")} ;;`];
    return value === "file" ? [`      (${pattern}) _files ;;`] : [];
  });
}

function flagList({ path, flags }: Node): string[] {
  return [
    `      (${shellWord(path)}) next=(${flags.map((flag) => described(longOf(flag), flag.summary)).join(" ")}) ;;`,
  ];
}

function nextWord({ path, children, argumentChoices }: Node): string[] {
  if (children.length > 0) {
    const words = children.map(({ name, summary }) => described(name, summary)).join(" ");
    return [`    (${shellWord(`${path}:0`)}) next=(${words}) ;;`];
  }
  return argumentChoices.flatMap((choices, index) =>
    choices.length === 0
      ? []
      : [`    (${shellWord(`${path}:${index}`)}) next=(${choices.map(shellWord).join(" ")}) ;;`],
  );
}

function longOf({ spellings }: Flag): string {
  return spellings.find((spelling) => spelling.startsWith("--")) ?? spellings[0] ?? "";
}

/** `name:summary`, the form _describe takes. */
function described(name: string, summary: string): string {
  return shellWord(`${name.replaceAll(":", "\\:")}:${summary}`);
}
