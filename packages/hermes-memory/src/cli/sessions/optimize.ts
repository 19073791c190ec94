// optimize.
import type { CommandBody } from "../command.ts";
import { noDatabaseNote, openSessions } from "./open-store.ts";
import { progressDisplay } from "./progress.ts";
import { megabytes } from "./table.ts";

export const optimize: CommandBody = async (input, context) => {
  const store = await openSessions(context, "write");
  if (!store)
    return {
      json: { success: true, exists: false },
      lines: ["Nothing to optimize."],
      notes: [noDatabaseNote(context)],
    };
  const isVacuum = input.flags["no-vacuum"] !== true;
  const progress = progressDisplay(context.io, { isVerbose: input.flags.verbose === true });
  const done = await context.io.untilInterrupted(async (signal) => {
    try {
      const work = { signal, onProgress: progress.show, vacuum: isVacuum };
      const outcome = await store.optimize(work);
      return outcome.finished ? outcome : undefined;
    } finally {
      progress.clear();
    }
  });
  if (done === undefined) {
    return {
      json: { success: false, kind: "interrupted" },
      lines: [],
      notes: ["Stopped. The next 'hermes sessions optimize' goes on where this one stopped."],
      exitCode: 130,
    };
  }
  const { bytesBefore: before, bytesAfter: after, vacuum } = done;
  const reclaimed = Math.max(0, before - after);
  const sizes = { bytes_before: before, bytes_after: after, bytes_reclaimed: reclaimed };
  return {
    json: { success: true, indexes: 1, vacuum, ...sizes },
    lines: [
      "Optimized the search index.",
      `Database size: ${megabytes(before)} MB -> ${megabytes(after)} MB (reclaimed ${megabytes(reclaimed)} MB)`,
    ],
    notes:
      vacuum === "in-use"
        ? [
            "Another process has the database open, so free space stays in the file. Close it and run this again.",
          ]
        : [],
  };
};
