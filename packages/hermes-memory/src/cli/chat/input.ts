// What is piped in: whole, as context of a question, or line by line.
import { fstatSync } from "node:fs";
import { CommandFailure, type Terminal } from "../command.ts";
import { linesOf, lineText } from "../sessions/input-lines.ts";

/** After this long without an end somebody should know what is waited for. */
const PATIENCE_MS = 3000;

/** `-` stands for what is piped in; otherwise that is context below the question. */
export async function readQuestion(
  io: Pick<Terminal, "readInput" | "note">,
  query: string,
  hasInput: boolean,
): Promise<string> {
  const isInput = query.trim() === "-";
  const piped = isInput || hasInput ? await patiently(io) : "";
  const question = isInput ? piped : piped.trim() === "" ? query : `${query}\n\n${piped}`;
  if (question.trim() !== "") return question;
  throw new CommandFailure(isInput ? "Nothing was piped in." : "The question is empty.", {
    exitCode: 2,
    hint: 'Ask something: hermes chat -q "..."',
    details: { kind: "usage" },
  });
}

/** True when standard input is a pipe, a socket or a file; a terminal and `/dev/null` have nothing to say. */
export function hasPipedInput(): boolean {
  try {
    const stat = fstatSync(0);
    return stat.isFIFO() || stat.isSocket() || stat.isFile();
  } catch {
    return false; // closed
  }
}

/** `prompt` is called before each line is waited for. */
export async function* pipedLines(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  prompt: () => void = () => {},
): AsyncGenerator<string> {
  const source = linesOf(chunks);
  const aborted = new Promise<undefined>((resolve) =>
    signal.addEventListener("abort", () => resolve(undefined), { once: true }),
  );
  while (!signal.aborted) {
    prompt();
    const next = await Promise.race([source.next(), aborted]); // a pipe that stays silent must not hold us
    if (next === undefined || next.done) return;
    const text = lineText(next.value);
    if (text === undefined)
      throw new CommandFailure(`Line ${next.value.number} of what was piped in is not valid UTF-8 text.`);
    yield text;
  }
}

async function patiently(io: Pick<Terminal, "readInput" | "note">): Promise<string> {
  const notice = setTimeout(
    () => io.note("Waiting for the end of standard input. Without any, add '< /dev/null'.\n"),
    PATIENCE_MS,
  );
  try {
    return await io.readInput();
  } finally {
    clearTimeout(notice);
  }
}
