// What is left of a long tool result: one line that says what was done and how it ended.
import {
  codePointLength,
  groupThousands,
  isRecord,
  outsideJsonOr,
  pyStrip,
  takeCodePoints,
} from "../../lib/index.ts";

type Arguments = Readonly<Record<string, unknown>>;
type Line = (given: Arguments, result: string, tool: string) => string;

export function oneLiner(tool: string, argumentsText: string, result: string): string {
  const line = (Object.hasOwn(LINES, tool) ? LINES[tool] : undefined) ?? otherLine; // a tool may be called `toString`
  return line(parseArguments(argumentsText), result, tool);
}

const EXIT_CODE = /"exit_code"\s*:\s*(-?\d+)/;
const TOTAL_COUNT = /"total_count"\s*:\s*(-?\d+)/;

const LINES: Readonly<Record<string, Line>> = {
  terminal: (given, result) =>
    `[terminal] ran \`${shortened(text(given.command, ""), 80)}\` -> exit ${numberIn(result, EXIT_CODE)}, ${lineCount(result)} lines output`,
  read_file: (given, result) =>
    `[read_file] read ${text(given.path)} from line ${text(given.offset, "1")} (${size(result)} chars)`,
  write_file: (given) =>
    `[write_file] wrote to ${text(given.path)} (${typeof given.content === "string" && given.content !== "" ? lineCount(given.content) : "?"} lines)`,
  search_files: (given, result) =>
    `[search_files] ${text(given.target, "content")} search for '${text(given.pattern)}' in ${text(given.path, ".")} -> ${numberIn(result, TOTAL_COUNT)} matches`,
  patch: (given, result) =>
    `[patch] ${text(given.mode, "replace")} in ${text(given.path)} (${size(result)} chars result)`,
  web_search: (given, result) => `[web_search] query='${text(given.query)}' (${size(result)} chars result)`,
  web_extract: (given, result) => `[web_extract] ${addresses(given.urls)} (${size(result)} chars)`,
  delegate_task: (given, result) =>
    `[delegate_task] '${shortened(text(given.goal, ""), 60)}' (${size(result)} chars result)`,
  execute_code: (given, result) => {
    const code = text(given.code, "").replaceAll("\n", " ");
    const head = takeCodePoints(code, 60);
    return `[execute_code] \`${head}${head.length < code.length ? "..." : ""}\` (${lineCount(result)} lines output)`;
  },
  browser_navigate: browserLine,
  browser_click: browserLine,
  browser_snapshot: browserLine,
  browser_type: browserLine,
  browser_scroll: browserLine,
  browser_vision: browserLine,
  skill_view: skillLine,
  skills_list: skillLine,
  skill_manage: skillLine,
  vision_analyze: (given, result) =>
    `[vision_analyze] '${takeCodePoints(text(given.question, ""), 50)}' (${size(result)} chars)`,
  text_to_speech: (_given, result) => `[text_to_speech] generated audio (${size(result)} chars)`,
  memory: (given) => {
    const batch = Array.isArray(given.operations) ? `${given.operations.length} operations` : "";
    return `[memory] ${batch || text(given.action)} on ${text(given.target)}`;
  },
  todo: () => "[todo] updated task list",
  clarify: () => "[clarify] asked user a question",
  cronjob: (given) => `[cronjob] ${text(given.action)}`,
  process: (given) => `[process] ${text(given.action)} session=${text(given.session_id)}`,
};

function browserLine(given: Arguments, result: string, tool: string): string {
  const url = text(given.url, "");
  const ref = text(given.ref, "");
  const where = url !== "" ? ` ${url}` : ref !== "" ? ` ref=${ref}` : "";
  return `[${tool}]${where} (${size(result)} chars)`;
}

function skillLine(given: Arguments, result: string, tool: string): string {
  return `[${tool}] name=${text(given.name)} (${size(result)} chars)`;
}

const SHOWN_ARGUMENTS = 2;

function otherLine(given: Arguments, result: string, tool: string): string {
  const shown = Object.entries(given)
    .slice(0, SHOWN_ARGUMENTS)
    .map(([name, value]) => ` ${name}=${takeCodePoints(text(value, ""), 40)}`);
  return `[${tool}]${shown.join("")} (${size(result)} chars result)`;
}

function parseArguments(argumentsText: string): Arguments {
  const value = outsideJsonOr(argumentsText, undefined);
  return isRecord(value) ? value : {};
}

function text(value: unknown, missing = "?"): string {
  if (value === undefined || value === null || value === "") return missing;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Cut three characters short of the limit, so that the dots fit. */
function shortened(value: string, limit: number): string {
  return codePointLength(value) > limit ? `${takeCodePoints(value, limit - 3)}...` : value;
}

function addresses(urls: unknown): string {
  const list = Array.isArray(urls) ? urls : urls === undefined ? [] : [urls];
  if (list.length === 0) return "?";
  const more = list.length > 1 ? ` (+${list.length - 1} more)` : "";
  return `${text(list[0])}${more}`;
}

function size(result: string): string {
  return groupThousands(codePointLength(result));
}

function lineCount(value: string): number {
  if (pyStrip(value) === "") return 0;
  let lines = 1;
  for (let at = value.indexOf("\n"); at >= 0; at = value.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

function numberIn(result: string, pattern: RegExp): string {
  return pattern.exec(result)?.[1] ?? "?";
}
