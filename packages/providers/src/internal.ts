// What the command line uses: traces of inactive providers, and the outbox.
export { cloneProviderSettings, findTracesElsewhere, findTracesOfUsers } from "./bundled.ts";
export { userOfLane } from "./kit/networked/identity.ts";
export {
  type DeadLetter,
  dropWrites,
  eraseInOutbox,
  findInOutbox,
  listDead,
  listWaiting,
  readOutbox,
  retryDead,
  unreadableOutboxes,
  type WaitingWrite,
} from "./kit/outbox/commands.ts";
