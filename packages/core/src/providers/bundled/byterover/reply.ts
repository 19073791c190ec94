// What brv says with `--format json`: one object per line, `{command, data, success, timestamp}`, progress first and the
// outcome last. Failures arrive the same way, on stdout and with exit code 0, so only a line that says it succeeded counts.
import { err, isRecord, ok, outsideJsonOr, preview, pyStrip, type Result } from "../../../lib/index.ts";
import type { ChildEnd } from "./child.ts";
import type { BrvCommand } from "./command.ts";

export type BrvData = Readonly<Record<string, unknown>>;

type Exited = Extract<ChildEnd, { kind: "exited" }>;

const MESSAGE_CHARS = 300;
const SUCCESS: readonly unknown[] = ["completed", "queued"];

/** The outcome's data, or what went wrong as one line. */
export function readReply(command: BrvCommand, end: Exited): Result<BrvData, string> {
  const line = lastObject(end.stdout);
  const data = isRecord(line?.data) ? line.data : {};
  const said = firstText(data.error, data.message);
  if (line?.success === false) return err(oneLine(said ?? `brv ${command.name} failed without a reason`));
  if (end.code !== 0) return err(oneLine(exitReason(end)));
  if (line?.success !== true)
    return err(`brv ${command.name} gave no answer in JSON. It needs byterover-cli 3.14 or newer`);
  if (command.isTask && !SUCCESS.includes(data.status))
    return err(`brv ${command.name} ended before it was done`);
  return ok(data);
}

/** Messages of brv have several lines; ours are parts of a sentence. */
function oneLine(text: string): string {
  return preview(pyStrip(text.replace(/\s+/g, " ")).replace(/\.$/, ""), MESSAGE_CHARS);
}

export function firstText(...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === "string" && pyStrip(value) !== "");
}

/** The last complete line that is an object; notices and half a line behind it are passed over. */
function lastObject(stdout: string): BrvData | undefined {
  for (const line of stdout.split("\n").reverse()) {
    if (!line.trimStart().startsWith("{")) continue;
    const value = outsideJsonOr(line, undefined); // half a line: the one before it counts
    if (isRecord(value)) return value;
  }
  return undefined;
}

function exitReason({ code, stdout, stderr }: Exited): string {
  return firstText(stderr, stdout) ?? `brv exited ${code ?? "by a signal"}`;
}
