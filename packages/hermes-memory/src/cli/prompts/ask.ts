// Asks one question and reads one line. A secret is not echoed, not even as dots.
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { Cancelled } from "../command.ts";

/** The same as in screen.ts: Node.js keeps the value of the first reader of the terminal. */
const ESCAPE_MS = 60;

export function askAtTerminal(
  question: string,
  { isSecret = false }: { readonly isSecret?: boolean },
): Promise<string> {
  const { stdin, stderr } = process;
  // Echo is off before the question is printed, so a user who types at once is not echoed either.
  const reader = createInterface({
    input: stdin,
    output: isSecret ? discarded() : stderr,
    terminal: true,
    historySize: 0,
    escapeCodeTimeout: ESCAPE_MS,
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  reader.once("line", resolve);
  reader.once("SIGINT", () => reject(new Cancelled("interrupt")));
  reader.once("close", () => reject(new Cancelled("end")));
  if (isSecret) stderr.write(question);
  else {
    reader.setPrompt(question);
    reader.prompt();
  }
  let isAnswered = false;
  return promise
    .then((answer) => {
      isAnswered = true;
      return answer;
    })
    .finally(() => {
      reader.close();
      if (isSecret || !isAnswered) stderr.write("\n"); // otherwise the user's Enter ended the line
    });
}

function discarded(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}
