// A title for a session, asked of a model after the first exchange. Nice to have, so nothing here can fail a turn.
import {
  codePointLength,
  describeCause,
  errnoCode,
  pyStrip,
  type TextModel,
  takeCodePoints,
} from "@hermes-memory/core/lib";
import type { Logger } from "@hermes-memory/core/lib/logger";
import type { Content, Message } from "@hermes-memory/core/message";
import { flattenContent } from "@hermes-memory/core/providers";
import { redactSecrets } from "@hermes-memory/core/security";
import type { SessionStore } from "@hermes-memory/core/sessions";

export type TitleRequest = {
  readonly model: TextModel;
  readonly store: Pick<SessionStore, "getSessionTitle" | "getNextTitleInLineage" | "setSessionTitle">;
  readonly sessionId: string;
  readonly user: Content;
  readonly assistant: string;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
  /** `auxiliary.title_generation.timeout`. */
  readonly timeoutMs?: number | undefined;
};

const MAX_USER_MESSAGES = 2;
const SIDE_CHARS = 500;
const TITLE_CHARS = 80;
const OUTPUT_TOKENS = 500;
const TIMEOUT_MS = 30_000;
/** Somebody else may take each title between asking and setting. */
const ATTEMPTS = 5;

const SYSTEM =
  "You name conversations. Answer with a title of three to seven words that says what the conversation is about, " +
  "in the language it is held in. No quotation marks, no full stop, no introduction: the title and nothing else.";

/** Later the title is the user's business. */
export function shouldTitle(messages: readonly Message[], hasTitle: boolean): boolean {
  if (hasTitle) return false;
  const count = messages.filter(({ role }) => role === "user").length;
  return count > 0 && count <= MAX_USER_MESSAGES;
}

/** Sets the session's title and gives it back; undefined when there is none to set, or it did not work. Never rejects. */
export async function titleSession(request: TitleRequest): Promise<string | undefined> {
  const { model, store, sessionId, log, timeoutMs = TIMEOUT_MS } = request;
  try {
    const [user, assistant] = [flattenContent(request.user), flattenContent(request.assistant)];
    if (user === "" || assistant === "") return undefined;
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = request.signal === undefined ? deadline : AbortSignal.any([request.signal, deadline]);
    const answer = await model.complete({
      system: SYSTEM,
      prompt: titlePrompt(user, assistant),
      maxOutputTokens: OUTPUT_TOKENS,
      signal,
    });
    const title = cleanTitle(answer);
    if (title === undefined || request.signal?.aborted) return undefined;
    // The user may have given one while the model was thinking.
    if (await store.getSessionTitle(sessionId)) return undefined;
    return await setUnique(store, sessionId, title);
  } catch (cause) {
    if (!request.signal?.aborted) log.warn(`No title was made for the session: ${describeCause(cause)}`);
    return undefined;
  }
}

/** Both sides without secrets, as summaries have them: another model than the conversation's may read this. */
function titlePrompt(user: string, assistant: string): string {
  // Redacted before it is cut: half a key would not be recognised.
  const side = (text: string): string => takeCodePoints(redactSecrets(text), SIDE_CHARS);
  return `The user wrote:\n${side(user)}\n\nThe assistant answered:\n${side(assistant)}`;
}

/** The answer without what models put around a title; undefined when nothing is left. */
export function cleanTitle(answer: string): string | undefined {
  const spoken = answer.replace(/<think(?:ing)?>.*?(?:<\/think(?:ing)?>|$)/gis, "");
  const line =
    spoken
      .split("\n")
      .map(pyStrip)
      .find((text) => text !== "") ?? "";
  const bare = unquoted(unquoted(line).replace(/^\**title\**\s*:\s*\**/i, ""));
  const text = pyStrip(bare.replace(/\s+/g, " "));
  if (text === "") return undefined;
  return codePointLength(text) <= TITLE_CHARS ? text : `${takeCodePoints(text, TITLE_CHARS - 3)}...`;
}

const QUOTES = /^["'`*“”„‘’«»「」]+|["'`*“”„‘’«»「」]+$/g;

function unquoted(text: string): string {
  return pyStrip(pyStrip(text).replace(QUOTES, ""));
}

/** The title, or the next number of it when it is taken. */
async function setUnique(
  store: TitleRequest["store"],
  sessionId: string,
  title: string,
): Promise<string | undefined> {
  for (let attempt = 1, wanted = title; ; attempt += 1) {
    try {
      return (await store.setSessionTitle(sessionId, wanted, { source: "llm" })) ? wanted : undefined;
    } catch (cause) {
      if (errnoCode(cause) !== "title-taken" || attempt >= ATTEMPTS) throw cause;
      wanted = await store.getNextTitleInLineage(wanted);
    }
  }
}
