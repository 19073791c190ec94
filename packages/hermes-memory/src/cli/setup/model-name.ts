// The name of the model: given, the only one there is, chosen from a list, or typed.
import { CommandFailure, type Terminal } from "../command.ts";
import { oneLine } from "../printing.ts";
import { choose } from "../prompts/choose.ts";

export type ModelQuestion = {
  /** From the flags. */
  readonly given: string | undefined;
  readonly listed: readonly string[];
  /** True when these are all there are, not some that we happen to know. */
  readonly isComplete: boolean;
  /** The model that is set now, for the same server; "" for none. */
  readonly current: string;
  readonly mayAsk: boolean;
};

const WHICH = "Which model?";
const OTHER = "Another one, by its name";
const LABEL_CHARS = 90;
const NAMED_AT_MOST = 20;

/** Throws `Cancelled`. */
export async function settleModel(question: ModelQuestion, io: Terminal): Promise<string> {
  const { given, listed, isComplete, current, mayAsk } = question;
  if (given !== undefined) return given;
  const [only] = listed;
  if (isComplete && only !== undefined && listed.length === 1 && !mayAsk) return only;
  if (!mayAsk) throw missingModel(listed);
  if (listed.length === 0) return askName(current, io);
  const labels = [...listed.map((name) => oneLine(name, LABEL_CHARS)), OTHER];
  const preselected = Math.max(0, listed.indexOf(current));
  const index = await choose(io, { title: WHICH, labels, preselected });
  io.note(`${WHICH} ${labels[index] ?? ""}\n`);
  return listed[index] ?? askName(current, io);
}

async function askName(current: string, io: Terminal): Promise<string> {
  const aid = current === "" ? "" : ` [${oneLine(current, LABEL_CHARS)}]`;
  for (;;) {
    const name = (await io.ask(`Name of the model${aid}: `)).trim() || current;
    if (name !== "") return name;
    io.note("The name must not be empty.\n");
  }
}

function missingModel(listed: readonly string[]): CommandFailure {
  const names = listed.slice(0, NAMED_AT_MOST);
  const rest = listed.length > names.length ? ` and ${listed.length - names.length} more` : "";
  return new CommandFailure("Name the model: nobody can be asked here.", {
    exitCode: 2,
    hint: names.length === 0 ? "Add --model <name>." : `Add --model with one of: ${names.join(", ")}${rest}.`,
    details: { kind: "no_model", models: listed },
  });
}
