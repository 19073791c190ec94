// The title of a session, asked of a model after the first exchange, in the background. A failure is only logged.
import {
  codePointLength,
  describeCause,
  errnoCode,
  pyStrip,
  type TextModel,
  takeCodePoints,
} from "@hermes-memory/core/internal/lib";
import { type Content, isRefused, type Message } from "@hermes-memory/core/internal/message";
import { flattenContent } from "@hermes-memory/core/internal/providers";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import type { SessionStore } from "@hermes-memory/core/internal/sessions";
import type { AgentParts } from "./parts.ts";
import { shownContent } from "./session/transcript.ts";
import type { TurnResult } from "./turn-result.ts";

export type TitleDeps = Pick<AgentParts, "events" | "log"> & {
  readonly store: SessionStore;
  readonly model: TextModel;
  /** `auxiliary.title_generation.timeout`. */
  readonly timeoutMs: number;
};

export class SessionTitles {
  readonly #deps: TitleDeps;
  readonly #stopped = new AbortController();

  constructor(deps: TitleDeps) {
    this.#deps = deps;
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Gives the session of the turn a title if it has none yet. Writes to the store directly: the agent may have left the session. */
  async afterTurn(result: TurnResult): Promise<void> {
    const { store, events } = this.#deps;
    const { session_id: sessionId, messages, final_response: assistant } = result;
    if (result.failed || result.partial || result.interrupted || assistant === "") return;
    if (!shouldTitle(messages, (await store.getSessionTitle(sessionId)) !== null)) return;
    const first = messages.find((message) => message.role === "user" && !isRefused(message));
    const user = first === undefined ? "" : shownContent(first);
    const title = await this.ask(sessionId, user, assistant);
    if (title === undefined) return;
    events.emit({ type: "title-set", sessionId, title });
  }

  /** Sets the session's title and returns it; undefined when none was set. Never rejects. */
  async ask(sessionId: string, user: Content, assistant: string): Promise<string | undefined> {
    const { model, store, log, timeoutMs } = this.#deps;
    const stopped = this.#stopped.signal;
    try {
      const [asked, answered] = [flattenContent(user), flattenContent(assistant)];
      if (asked === "" || answered === "") return undefined;
      const answer = await model.complete({
        system: SYSTEM,
        prompt: titlePrompt(asked, answered),
        maxOutputTokens: OUTPUT_TOKENS,
        signal: AbortSignal.any([stopped, AbortSignal.timeout(timeoutMs)]),
      });
      const title = cleanTitle(answer);
      // The user may have given one while the model was thinking.
      if (title === undefined || stopped.aborted || (await store.getSessionTitle(sessionId)))
        return undefined;
      return await setUnique(store, sessionId, title);
    } catch (cause) {
      if (!stopped.aborted) log.warn(`No title was made for the session: ${describeCause(cause)}`);
      return undefined;
    }
  }
}

const MAX_USER_MESSAGES = 2;
const SIDE_CHARS = 500;
const TITLE_CHARS = 80;
const OUTPUT_TOKENS = 500;

const SYSTEM =
  "You name conversations. Answer with a title of three to seven words that says what the conversation is about, " +
  "in the language it is held in. No quotation marks, no full stop, no introduction: the title and nothing else.";

/** Only after the first two messages of the user: later it is for the user to set a title. */
export function shouldTitle(messages: readonly Message[], hasTitle: boolean): boolean {
  if (hasTitle) return false;
  const count = messages.filter(({ role }) => role === "user").length;
  return count > 0 && count <= MAX_USER_MESSAGES;
}

/** Both texts without secrets: another model than the conversation's may read them. */
function titlePrompt(user: string, assistant: string): string {
  // Redacted before it is cut: half a key would not be recognised.
  const side = (text: string): string => takeCodePoints(redactSecrets(text), SIDE_CHARS);
  return `The user wrote:\n${side(user)}\n\nThe assistant answered:\n${side(assistant)}`;
}

/** The answer without quotes, labels and reasoning around the title; undefined when nothing is left. */
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

/** Sets the title, or the next number of it when it is taken. */
async function setUnique(store: SessionStore, sessionId: string, title: string): Promise<string | undefined> {
  const set = async (wanted: string): Promise<string | undefined> =>
    (await store.setSessionTitle(sessionId, wanted, { source: "llm" })) ? wanted : undefined;
  try {
    return await set(title);
  } catch (cause) {
    if (errnoCode(cause) !== "title-taken") throw cause;
    return set(await store.getNextTitleInLineage(title));
  }
}
