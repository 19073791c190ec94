// The table of config keys in docs/config.md, generated from the key table of the program.
import { CONFIG_KEYS } from "../packages/core/src/config/index.ts";

const BEGIN =
  "<!-- Made by `npm run docs` from packages/core/src/config/keys.ts; a test compares the two. -->\n";
const END = "<!-- The end of what `npm run docs` makes. -->\n";

/** The page with its table replaced. */
export function withConfigTable(page: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error("docs/config.md has no marks around its table of keys.");
  return `${page.slice(0, begin + BEGIN.length)}\n${table()}\n${page.slice(end)}`;
}

function table(): string {
  const rows = CONFIG_KEYS.map(({ label, default: standard, allowed, meaning, isOurs }) => {
    const shown = standard === undefined ? "-" : `\`${JSON.stringify(standard)}\``;
    return [`\`${label}\``, shown, allowed, isOurs ? "hermes-memory" : "Hermes", meaning];
  });
  return [["Key", "Default", "Allowed", "Known to", "Meaning"], Array<string>(5).fill("---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`)
    .join("");
}
