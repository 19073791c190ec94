// Completion for bash, from version 3.2 (macOS) on: no associative arrays, no helper package.
import { shellWord } from "./shell-word.ts";
import type { Flag, Node } from "./tree.ts";

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
${valueFlags(nodes)}
      *:-*) ;;
${subcommands(nodes)}
      *) ((given += 1)) ;;
    esac
  done
  if [[ -n $flag ]]; then
    if [[ $cur == "=" ]]; then cur=""; fi
    case "$path:$flag" in
${flagValues(nodes)}
    esac
    return 0
  fi
  if [[ $cur == -* ]]; then
    case "$path" in
${nodes.map(({ path, flags }) => `      ${shellWord(path)}) _hermes_words ${spellings(flags)} ;;`).join("\n")}
    esac
    return 0
  fi
  case "$path:$given" in
${nodes.flatMap(nextWords).join("\n")}
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

function valueFlags(nodes: readonly Node[]): string {
  const lines = nodes.map(({ path, flags }) => {
    const waiting = flags.filter(({ value }) => value !== "none").flatMap(({ spellings: all }) => all);
    return `      ${waiting.map((spelling) => shellWord(`${path}:${spelling}`)).join("|")}) flag="$word" ;;`;
  });
  return lines.join("\n");
}

/** A word that is no command here is an argument: `hermes memory add show` adds the text "show". */
function subcommands(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, children }) =>
    children.map(({ name }) => {
      const below = path === "" ? name : `${path} ${name}`;
      return `      ${shellWord(`${path}:${name}`)}) path=${shellWord(below)} ;;`;
    }),
  );
  return lines.join("\n");
}

function flagValues(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, flags }) =>
    flags.flatMap(({ spellings: all, value, choices }) => {
      const pattern = all.map((spelling) => shellWord(`${path}:${spelling}`)).join("|");
      if (value === "choice")
        return [`      ${pattern}) _hermes_words ${choices.map(shellWord).join(" ")} ;;`];
      if (value === "file") return [`      ${pattern}) compopt -o default 2>/dev/null ;;`];
      return [];
    }),
  );
  return lines.join("\n");
}

function nextWords({ path, children, argumentChoices }: Node): string[] {
  if (children.length > 0)
    return [
      `    ${shellWord(`${path}:0`)}) _hermes_words ${children.map(({ name }) => shellWord(name)).join(" ")} ;;`,
    ];
  return argumentChoices.flatMap((choices, index) =>
    choices.length === 0
      ? []
      : [`    ${shellWord(`${path}:${index}`)}) _hermes_words ${choices.map(shellWord).join(" ")} ;;`],
  );
}

function spellings(flags: readonly Flag[]): string {
  return flags
    .flatMap(({ spellings: all }) => all)
    .filter((spelling) => spelling.startsWith("--"))
    .map(shellWord)
    .join(" ");
}
