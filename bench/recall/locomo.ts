// LoCoMo: conversations of two people over many sessions, and questions with the turns that answer them.
import { HermesError } from "@hermes-memory/core/internal/lib";
import { z } from "zod";
import type { Database, Meeting, Turn } from "./question-types.ts";

/** How many questions about other conversations each database gets. */
const FOREIGN_PER_DATABASE = 60;

export function isLocomo(content: readonly unknown[]): boolean {
  return content.some((sample) => z.object({ qa: z.unknown() }).safeParse(sample).success);
}

export function locomoDatabases(file: string, content: readonly unknown[]): Database[] {
  const parsed = z.array(sampleShape).safeParse(content);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new HermesError(
      "bad-recall-file",
      `${file} is no LoCoMo file: ${place(issue?.path)}${issue?.message}.`,
      { hint: "It is a JSON array of objects with `conversation` and `qa`." },
    );
  }
  const databases = parsed.data.map(toDatabase);
  return databases.map((database) => {
    const others = databases.filter((other) => other !== database);
    const texts = others.flatMap(({ questions }) => questions.map(({ text }) => text));
    return { ...database, foreign: spread(texts, FOREIGN_PER_DATABASE) };
  });
}

/** `most` of them, evenly spaced. */
function spread<T>(values: readonly T[], most: number): T[] {
  const step = Math.max(1, values.length / most);
  return values.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
}

const turnShape = z.object({
  speaker: z.string(),
  dia_id: z.string(),
  text: z.string(),
  blip_caption: z.string().nullish(),
});

const sampleShape = z.object({
  conversation: z.record(z.string(), z.unknown()),
  qa: z.array(
    z.object({
      question: z.coerce.string(),
      evidence: z.array(z.string()).nullish(),
      category: z.coerce.number(),
    }),
  ),
});

type Sample = z.infer<typeof sampleShape>;

/** The category of questions without an answer. */
const ADVERSARIAL = 5;
const SESSION = /^session_(\d+)$/;
/** An evidence string may name several turns. */
const TURN_ID = /D\d+:\d+/g;

function toDatabase({ conversation, qa }: Sample): Database {
  const meetings = Object.keys(conversation)
    .flatMap((key) => SESSION.exec(key)?.[1] ?? [])
    .sort((a, b) => Number(a) - Number(b))
    .map((number) => toMeeting(number, conversation));
  const meetingOf = new Map(meetings.flatMap(({ id, turns }) => turns.map((turn) => [turn.id, id] as const)));
  const questions = qa.flatMap(({ question, evidence, category }) => {
    if (category === ADVERSARIAL) return [];
    const named = (evidence ?? []).flatMap((text) => text.match(TURN_ID) ?? []);
    const turns = new Set(named.filter((id) => meetingOf.has(id)));
    const wanted = new Set([...turns].flatMap((id) => meetingOf.get(id) ?? []));
    return turns.size === 0 ? [] : [{ text: question, turns, meetings: wanted }];
  });
  const unanswerable = qa.flatMap(({ question, category }) => (category === ADVERSARIAL ? [question] : []));
  return { meetings, questions, unanswerable, foreign: [] };
}

function toMeeting(number: string, conversation: Sample["conversation"]): Meeting {
  const id = `session_${number}`;
  const turns = z.array(turnShape).safeParse(conversation[id]);
  if (!turns.success)
    throw new HermesError("bad-recall-file", `${id} of a conversation is no list of turns.`);
  const startedAt = parseDate(conversation[`${id}_date_time`]);
  if (startedAt === undefined)
    throw new HermesError("bad-recall-file", `${id} of a conversation has no time that can be understood.`, {
      hint: "Times are written like this: 1:56 pm on 8 May, 2023",
    });
  return { id, startedAt, turns: turns.data.map((turn) => toTurn(turn, String(conversation.speaker_a))) };
}

/** The first speaker is the user. */
function toTurn({ dia_id, speaker, text, blip_caption }: z.infer<typeof turnShape>, user: string): Turn {
  const said = blip_caption ? `${text} ${blip_caption}` : text;
  return { id: dia_id, role: speaker === user ? "user" : "assistant", content: `${speaker}: ${said}` };
}

/** Local time, because the search reads a day in a question as local time. */
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
