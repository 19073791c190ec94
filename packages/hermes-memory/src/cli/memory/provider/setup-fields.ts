// The questions of a provider's setup, put to a person one by one.
import type { Result } from "@hermes-memory/core/lib";
import {
  type Answers,
  type ConfigField,
  checkAnswer,
  defaultAnswer,
  type Existing,
  isAsked,
  labelOf,
  maskSecret,
  preselected,
} from "@hermes-memory/core/providers";
import type { Terminal } from "../../command.ts";
import { oneLine } from "../../printing.ts";
import { choose } from "../../prompts/choose.ts";

const LABEL_CHARS = 200;

/** What was given with `--set` is not asked. A secret that is kept is no answer. Throws `Cancelled`. */
export async function askFields(
  fields: readonly ConfigField[],
  { given, existing }: { readonly given: Answers; readonly existing: Existing },
  io: Terminal,
): Promise<Answers> {
  const answers = new Map<string, string>();
  for (const field of fields) {
    if (!isAsked(field, answers)) continue;
    const said = given.get(field.key);
    const first = said === undefined ? undefined : accepted(field, said, io);
    const answer = first ?? (await askField(field, answers, existing, io));
    if (answer !== "") answers.set(field.key, answer);
  }
  return answers;
}

async function askField(
  field: ConfigField,
  answers: Answers,
  existing: Existing,
  io: Terminal,
): Promise<string> {
  if (field.secret === true) return askSecret(field, existing.secrets.get(field.key) ?? "", io);
  const current = existing.settings.get(field.key);
  const label = shown(labelOf(field));
  if (field.choices !== undefined) {
    const rows = field.choices;
    const question = {
      title: label,
      labels: rows.map(shown),
      preselected: preselected(field, answers, current),
    };
    const choice = rows[await choose(io, question)] ?? "";
    io.note(`${label}: ${shown(choice)}\n`);
    return choice;
  }
  const standard = defaultAnswer(field, answers, current);
  const aid = standard !== "" ? ` [${shown(standard)}]` : field.required ? "" : " (optional)";
  return untilAccepted(field, io, async () => (await io.ask(`${label}${aid}: `)).trim() || standard);
}

/** The text is never shown, not even the default a careless schema may have. */
async function askSecret(field: ConfigField, current: string, io: Terminal): Promise<string> {
  const label = shown(labelOf(field));
  if (current === "" && field.url) io.note(`Get it at ${shown(field.url)}\n`);
  const aid = current !== "" ? `[${maskSecret(current)}, empty keeps it]` : "(typed unseen)";
  return untilAccepted(current === "" ? field : { ...field, required: false }, io, () =>
    io.ask(`${label} ${aid}: `, { isSecret: true }),
  );
}

async function untilAccepted(field: ConfigField, io: Terminal, ask: () => Promise<string>): Promise<string> {
  for (;;) {
    const answer = accepted(field, await ask(), io);
    if (answer !== undefined) return answer;
  }
}

/** Undefined when it will not do; the person is told why. */
function accepted(field: ConfigField, text: string, io: Terminal): string | undefined {
  const checked: Result<string, string> = checkAnswer(field, text);
  if (checked.ok) return checked.value;
  io.note(`${shown(field.key)} ${shown(checked.error)}.\n`);
  return undefined;
}

/** Schemas come from plugins: one line, nothing a terminal obeys. */
function shown(text: string): string {
  return oneLine(text, LABEL_CHARS);
}
