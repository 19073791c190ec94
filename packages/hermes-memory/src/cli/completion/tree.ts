// The command table as completion sees it: at each place on the line, what may come next.
import type { CommandSpec, FlagSpec, Group } from "../command.ts";

export type Node = {
  /** Words typed so far, without the program: `memory archive`. Empty at the top. */
  readonly path: string;
  readonly children: readonly { readonly name: string; readonly summary: string }[];
  readonly flags: readonly Flag[];
  /** For each argument what is offered; empty when nothing is known about it. */
  readonly argumentChoices: readonly (readonly string[])[];
};

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
/** Understood everywhere on the line, so that every place has a flag that waits for a value. */
const PROFILE: Flag = {
  ...plain(["--profile", "-p"], "work in this profile instead of the active one"),
  value: "text",
};

/** The top comes first, then every group and command in the order of the table. */
export function commandTree(
  specs: readonly CommandSpec[],
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
