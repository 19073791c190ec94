// A LoCoMo file: conversations of two people over many sessions, and questions with the turns that answer them.
import { readFileSync } from "node:fs";
import { z } from "zod";
import { describeCause, HermesError } from "../../src/lib/index.ts";

export type Turn = { readonly id: string; readonly speaker: string; readonly text: string };
export type Meeting = { readonly id: string; readonly startedAt: number; readonly turns: readonly Turn[] };
export type Question = { readonly text: string; readonly evidence: ReadonlySet<string> };
export type Conversation = {
  /** The one who speaks as the user. */
  readonly firstSpeaker: string;
  readonly meetings: readonly Meeting[];
  /** Those with an answer in the conversation. */
  readonly questions: readonly Question[];
};

export function readLocomo(file: string): Conversation[] {
  const parsed = locomoFile.safeParse(readJson(file));
  if (parsed.success) return parsed.data.map(toConversation);
  const [issue] = parsed.error.issues;
  throw new HermesError(
    "bad-locomo-file",
    `${file} is no LoCoMo file: ${place(issue?.path)}${issue?.message}.`,
    {
      hint: "It is a JSON array of objects with `conversation` and `qa`.",
    },
  );
}

const turn = z.object({
  speaker: z.string(),
  dia_id: z.string(),
  text: z.string(),
  blip_caption: z.string().nullish(),
});

const locomoFile = z.array(
  z.object({
    conversation: z.record(z.string(), z.unknown()),
    qa: z.array(
      z.object({
        question: z.coerce.string(),
        evidence: z.array(z.string()).nullish(),
        category: z.coerce.number(),
      }),
    ),
  }),
);

type Sample = z.infer<typeof locomoFile>[number];

/** The questions that have no answer are of this category. */
const ADVERSARIAL = 5;
const SESSION = /^session_(\d+)$/;
/** Some strings of evidence name several turns. */
const TURN_ID = /D\d+:\d+/g;

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw new HermesError("bad-locomo-file", `Cannot read ${file}: ${describeCause(cause)}.`, { cause });
  }
}

function toConversation({ conversation, qa }: Sample): Conversation {
  const meetings = Object.keys(conversation)
    .flatMap((key) => SESSION.exec(key)?.[1] ?? [])
    .sort((a, b) => Number(a) - Number(b))
    .map((number) => toMeeting(number, conversation));
  const known = new Set(meetings.flatMap(({ turns }) => turns.map(({ id }) => id)));
  const questions = qa.flatMap(({ question, evidence, category }) => {
    if (category === ADVERSARIAL) return [];
    const named = (evidence ?? []).flatMap((text) => text.match(TURN_ID) ?? []);
    const found = new Set(named.filter((id) => known.has(id)));
    return found.size === 0 ? [] : [{ text: question, evidence: found }];
  });
  return { firstSpeaker: String(conversation.speaker_a), meetings, questions };
}

function toMeeting(number: string, conversation: Sample["conversation"]): Meeting {
  const id = `session_${number}`;
  const turns = z.array(turn).safeParse(conversation[id]);
  if (!turns.success)
    throw new HermesError("bad-locomo-file", `${id} of a conversation is no list of turns.`);
  const startedAt = parseDate(conversation[`${id}_date_time`]);
  if (startedAt === undefined)
    throw new HermesError("bad-locomo-file", `${id} of a conversation has no time that can be understood.`, {
      hint: "Times are written like this: 1:56 pm on 8 May, 2023",
    });
  return { id, startedAt, turns: turns.data.map(toTurn) };
}

function toTurn({ dia_id, speaker, text, blip_caption }: z.infer<typeof turn>): Turn {
  return { id: dia_id, speaker, text: blip_caption ? `${text} ${blip_caption}` : text };
}

/** Local time, as the search understands a day that a question names. */
function parseDate(written: unknown): number | undefined {
  const match = /^(\d+):(\d+) (am|pm) on (\d+) (\w+), (\d+)$/.exec(String(written).trim());
  if (match === null) return undefined;
  const [, hour, minute, half, day, month, year] = match;
  const hours = (Number(hour) % 12) + (half === "pm" ? 12 : 0);
  const time = Date.parse(`${day} ${month} ${year} ${hours}:${minute}`);
  return Number.isNaN(time) ? undefined : time / 1000;
}

function place(path: readonly PropertyKey[] | undefined): string {
  return path === undefined || path.length === 0 ? "" : `${path.map(String).join(".")}: `;
}
