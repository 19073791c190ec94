// One question, one line. A secret is typed unseen: nothing of it, not even its length, reaches the terminal.
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { Cancelled } from "../command.ts";

/** As in the picker: whichever of the two reads the terminal first sets it for the other. */
const ESCAPE_MS = 60;

export function askAtTerminal(
  question: string,
  { isSecret = false }: { readonly isSecret?: boolean },
): Promise<string> {
  const { stdin, stderr } = process;
  // The terminal stops echoing here, before the question is on it: whoever answers at once is not overheard either.
  const reader = createInterface({
    input: stdin,
    output: isSecret ? nowhere() : stderr,
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
      if (isSecret || !isAnswered) stderr.write("\n"); // whoever types an answer in sight ends the line with it
    });
}

function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}
