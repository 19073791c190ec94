// Lines of a Claude Code transcript, for tests of the importer that need a file of a known shape.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

type Line = Readonly<Record<string, unknown>>;

/** Message `at` of a session: even ones are the user's. */
export function line(session: string, at: number, text: string, more: Line = {}): Line {
  const isUser = at % 2 === 0;
  return {
    type: isUser ? "user" : "assistant",
    uuid: `${session}-${at}`,
    parentUuid: at === 0 ? null : `${session}-${at - 1}`,
    sessionId: session,
    timestamp: new Date(Date.UTC(2026, 7, 1, 10, 0, at)).toISOString(),
    cwd: "/home/ana/project",
    message: isUser
      ? { role: "user", content: text }
      : { role: "assistant", id: `message-${session}-${at}`, content: [{ type: "text", text }] },
    ...more,
  };
}

export function linesOf(session: string, count: number, more: Line = {}): Line[] {
  return Array.from({ length: count }, (_, at) => line(session, at, `${session} says ${at}`, more));
}

/** A line that is text is written as it is. */
export function textOfLines(lines: readonly (Line | string)[]): string {
  return lines.map((one) => `${typeof one === "string" ? one : JSON.stringify(one)}\n`).join("");
}

/** Returns the path of the file, which is one of Claude Code in this home. */
export async function writeClaude(
  home: string,
  session: string,
  lines: readonly (Line | string)[],
  folder = "-home-ana-project",
): Promise<string> {
  const path = join(home, ".claude", "projects", folder, `${session}.jsonl`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, textOfLines(lines));
  return path;
}
