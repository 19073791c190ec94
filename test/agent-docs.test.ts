// docs/agent.md names everything that the agent's types and registry have.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";
import { SLASH_COMMANDS } from "../packages/agent/src/agent/commands/slash-commands.ts";

const root = resolve(import.meta.dirname, "..");
const page = readFileSync(resolve(root, "docs/agent.md"), "utf8");

/** What the source has in this type, by a pattern with one group. */
function inSource(file: string, type: string, pattern: RegExp): string[] {
  const text = readFileSync(resolve(root, "packages/agent/src/agent", file), "utf8");
  const body = text.slice(text.indexOf(`export type ${type} =`));
  const names = [...body.slice(0, body.search(/;\n\n|;\n$/)).matchAll(pattern)].map(([, name = ""]) => name);
  expect(names.length).toBeGreaterThan(3);
  return names;
}

const OF_OBJECT = /^ {2}readonly (\w+)\??:/gm;

it.each([
  ["options", inSource("agent-options.ts", "AgentOptions", OF_OBJECT)],
  ["hooks", inSource("agent-options.ts", "AgentHooks", OF_OBJECT)],
  ["events", inSource("events.ts", "AgentEvent", /readonly type: "([a-z-]+)"/g)],
  ["exits", inSource("turn-result.ts", "TurnExit", /\| "(\w+)"/g)],
])("docs/agent.md names all %s", (_what, names) => {
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

it("docs/agent.md lists the slash commands as they are", () => {
  const rows = SLASH_COMMANDS.map(({ name, usage, aliases = [], summary }) => {
    const typed = `/${name}${usage === "" ? "" : ` ${usage}`}`.replaceAll("|", "\\|");
    return `| \`${typed}\` | ${aliases.map((alias) => `\`/${alias}\``).join(", ")} | ${summary} |`;
  });
  expect(page.split("\n").filter((line) => line.startsWith("| `/"))).toEqual(rows);
});
