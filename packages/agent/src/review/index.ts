// The background review: when one is due, what it may do, and what the user hears of it. The agent runs it on a fork of itself.
export {
  REVIEW_COUNTS_KEY,
  type ReviewEvent,
  Reviewer,
  type ReviewFork,
  readReviewCounts,
} from "./reviewer.ts";
export { notAllowed, refusal, reviewPrompt } from "./rights.ts";
export { ReviewSchedule, type ReviewScope } from "./schedule.ts";
