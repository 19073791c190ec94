// The reference of all commands in Markdown, generated from the command table of the program.
import type { CommandSpec } from "../packages/hermes-memory/src/cli/command.ts";
import { GROUPS } from "../packages/hermes-memory/src/cli/program.ts";

export async function commandReference(): Promise<string> {
  const sections = await Promise.all(
    GROUPS.map(async ({ name, summary, load }) => {
      const commands = (await load()).filter(({ isHidden }) => !isHidden);
      return [`## hermes ${name}`, "", `${sentence(summary)}`, "", ...commands.flatMap(describe)].join("\n");
    }),
  );
  return [
    "# Commands",
    "",
    "<!-- Made by `npm run docs` from packages/hermes-memory/src/cli; a test compares the two. -->",
    "",
    "Every command takes `--json` (the result as JSON on stdout), `-p, --profile <name>` and `--help`. Exit codes: 0 done, also when nothing was found; 1 failed; 2 wrong usage; 130 interrupted. Results go to stdout, everything else to stderr.",
    "",
    "The active memory provider may add commands under its own name: `hermes honcho status` while honcho is active ([honcho](providers/honcho.md)), and those of a plugin ([providers](providers.md#commands-of-a-plugin)). `hermes --help` shows the group, `hermes <provider> --help` its commands.",
    "",
    ...sections,
  ].join("\n");
}

function describe({ name, summary, arguments: args = [], flags = {}, examples = [] }: CommandSpec): string[] {
  const usage = args.map(({ name: argument, isOptional, isVariadic }) => {
    const shown = isVariadic ? `${argument}...` : argument;
    return isOptional ? `[${shown}]` : `<${shown}>`;
  });
  const rows = [
    ...args.map((each) => `| \`${each.name}\` | ${sentence(withChoices(each.summary, each.choices))} |`),
    ...Object.entries(flags).map(([flag, { short, kind, placeholder, summary: text, choices }]) => {
      const value = kind === "boolean" ? "" : ` <${placeholder ?? (kind === "integer" ? "n" : "text")}>`;
      return `| \`${short ? `-${short}, ` : ""}--${flag}${value}\` | ${sentence(withChoices(text, choices))} |`;
    }),
  ];
  return [
    `### ${["hermes", name, ...usage].join(" ").replaceAll("<", "\\<")}`,
    "",
    sentence(summary),
    "",
    ...(rows.length > 0 ? ["| argument or flag | meaning |", "|---|---|", ...rows, ""] : []),
    ...(examples.length > 0 ? ["```sh", ...examples, "```", ""] : []),
  ];
}

function withChoices(text: string, choices: readonly string[] | undefined): string {
  return choices ? `${text}. One of: ${choices.join(", ")}` : text;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`.replaceAll(
    "|",
    "\\|",
  );
}
