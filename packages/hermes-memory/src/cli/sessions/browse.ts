// browse.
import { systemClock } from "@hermes-memory/core/lib";
import type { CommandBody } from "../command.ts";
import { cancelled } from "../confirm.ts";
import { numberFlag, sourceFlag } from "./flags.ts";
import { hiddenSources, listedJson } from "./list.ts";
import { noDatabaseNote, openSessions } from "./open-store.ts";
import { promptForSession } from "./picker/prompt.ts";
import { runPicker } from "./picker/run.ts";
import { readTranscript } from "./show.ts";
import { flat } from "./table.ts";
import { transcriptLines } from "./transcript.ts";

const DEFAULT_LIMIT = 500;
const SHOWN_MESSAGES = 10;

export const browse: CommandBody = async (input, context) => {
  const { io } = context;
  const store = await openSessions(context, "read");
  const sessions = await store?.listSessionsRich({
    ...sourceFlag(input),
    ...hiddenSources(input),
    limit: numberFlag(input, "limit", DEFAULT_LIMIT),
    orderByLastActive: true,
  });
  if (!store || !sessions?.length)
    return {
      json: null,
      lines: ["No sessions found."],
      notes: store ? [] : [noDatabaseNote(context)],
    };
  const end = io.screen
    ? await runPicker(io.screen, sessions, systemClock)
    : await promptForSession(io, sessions, systemClock.now());
  if (end.kind === "interrupted") return cancelled(130);
  if (end.kind === "quit") return cancelled();
  const { id } = end.session;
  const { total, ...transcript } = await readTranscript(store, id, {
    limit: SHOWN_MESSAGES,
    includeInactive: false,
  });
  const rest = total > SHOWN_MESSAGES ? `, ${total - SHOWN_MESSAGES} more messages` : "";
  return {
    json: listedJson(end.session),
    lines: [
      ...transcriptLines(transcript, { paint: io.paint, isFull: false }),
      "",
      `Session ID: ${flat(id)}`,
      io.paint("dim", `All of it${rest}: hermes sessions show ${flat(id)}`),
      io.paint("dim", `Go on with it: hermes chat --resume ${flat(id)}`),
    ],
  };
};
