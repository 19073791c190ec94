// What the user is told about a compaction. Each cause is told once per session, however often it happens.
import { groupThousands } from "../../lib/index.ts";
import type { LeftOut, Notice, SummaryFailure } from "../engine.ts";
import type { TooLarge } from "./plan.ts";

const SMALL_WINDOW = 64_000;
const HOW_TO_READ = "They are still stored: look them up with session_search (scope lineage).";

export class NoticeBoard {
  readonly #told = new Set<string>();

  /** Those that were not told before. */
  tell(notices: readonly Notice[]): readonly Notice[] {
    return notices.filter(({ cause }) => {
      if (this.#told.has(cause)) return false;
      this.#told.add(cause);
      return true;
    });
  }

  clear(): void {
    this.#told.clear();
  }
}

export function localSummaryNotice(failure: SummaryFailure, { count }: LeftOut): Notice {
  return {
    cause: `summary_failed:${failure.kind}`,
    text: `No model could summarise ${messages(count)} (${failure.message}). A short account made without a model takes their place. ${HOW_TO_READ}`,
  };
}

export function abortedNotice(failure: SummaryFailure): Notice {
  return {
    cause: `summary_aborted:${failure.kind}`,
    text: `Compaction stopped because there is no summary (${failure.message}). The conversation is unchanged. Try again with /compress, or set compression.abort_on_summary_failure to false.`,
  };
}

export function rescuedNotice(failure: SummaryFailure): Notice {
  return {
    cause: `summary_model_failed:${failure.kind}`,
    text: `The summary model did not answer as it should (${failure.message}), so the main model wrote the summary. Check auxiliary.compression in config.yaml.`,
  };
}

export function shortenedNotice({ count }: LeftOut): Notice {
  return {
    cause: "summary_shortened",
    text: `The summary of ${messages(count)} had to be shortened. ${HOW_TO_READ}`,
  };
}

export function tooLargeNotice({ role, tokens }: TooLarge, contextLength: number): Notice {
  return {
    cause: "message_too_large",
    text: `One ${role} message has about ${groupThousands(tokens)} tokens, more than the model's window of ${groupThousands(contextLength)}. Nothing was removed. Split that message, or use a model with a larger window.`,
  };
}

export function smallWindowNotice(contextLength: number): Notice | undefined {
  if (contextLength <= 0 || contextLength >= SMALL_WINDOW) return undefined;
  return {
    cause: "small-window", // the same as in feasibility.ts, so that a host tells it once
    text: `The model's window of ${groupThousands(contextLength)} tokens is small; earlier turns will be summarised often. A window of ${groupThousands(SMALL_WINDOW)} or more is better for long conversations.`,
  };
}

function messages(count: number): string {
  return count === 1 ? "1 message" : `${groupThousands(count)} messages`;
}
