// LongMemEval: for each question a separate set of chats between a user and an assistant, with the answering turns marked.
import { HermesError } from "@hermes-memory/core/internal/lib";
import { z } from "zod";
import type { Database, Meeting } from "./question-types.ts";

/** How many questions about the following databases each database gets. */
const FOREIGN_PER_DATABASE = 3;

export function isLongMemEval(content: readonly unknown[]): boolean {
  return content.some((sample) => z.object({ haystack_sessions: z.unknown() }).safeParse(sample).success);
}

export function longMemEvalDatabases(file: string, content: readonly unknown[]): Database[] {
  const parsed = z.array(sampleShape).safeParse(content);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const place = issue?.path.map(String).join(".");
    throw new HermesError("bad-recall-file", `${file} is no LongMemEval file: ${place}: ${issue?.message}.`);
  }
  const samples = parsed.data;
  return samples.map((sample, at) => {
    const following = [...samples.slice(at + 1), ...samples.slice(0, at)];
    return toDatabase(
      sample,
      following.slice(0, FOREIGN_PER_DATABASE).map(({ question }) => question),
    );
  });
}

const sampleShape = z.object({
  question_id: z.string(),
  question: z.string(),
  answer_session_ids: z.array(z.string()),
  haystack_dates: z.array(z.string()),
  haystack_session_ids: z.array(z.string()),
  haystack_sessions: z.array(
    z.array(
      z.object({
        role: z.enum(["user", "assistant"]),
        content: z.string(),
        has_answer: z.boolean().nullish(),
      }),
    ),
  ),
});

type Sample = z.infer<typeof sampleShape>;

function toDatabase(sample: Sample, foreign: readonly string[]): Database {
  const evidence = new Set<string>();
  const wanted = new Set(sample.answer_session_ids);
  // A haystack may contain a session twice.
  const ids = sample.haystack_session_ids.map((id, at, all) => (all.indexOf(id) === at ? id : `${id}#${at}`));
  const meetings = sample.haystack_sessions.map((turns, at): Meeting => {
    const id = ids[at] ?? `session#${at}`;
    return {
      id,
      startedAt: parseDate(sample.haystack_dates[at]),
      turns: turns.map(({ role, content, has_answer }, place) => {
        const turn = `${id}:${place}`;
        if (has_answer && wanted.has(id)) evidence.add(turn);
        return { id: turn, role, content };
      }),
    };
  });
  const isAnswerable = !sample.question_id.endsWith("_abs");
  return {
    meetings,
    questions: isAnswerable ? [{ text: sample.question, turns: evidence, meetings: wanted }] : [],
    unanswerable: isAnswerable ? [] : [sample.question],
    foreign,
  };
}

/** Local time: `2023/03/08 (Wed) 00:19`. */
function parseDate(written: string | undefined): number {
  const time = Date.parse(String(written).replace(/\(\w+\) /, ""));
  if (Number.isNaN(time))
    throw new HermesError("bad-recall-file", `A session has a time that cannot be understood: ${written}.`, {
      hint: "Times are written like this: 2023/03/08 (Wed) 00:19",
    });
  return time / 1000;
}
