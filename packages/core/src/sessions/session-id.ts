// Ids of sessions. Other programs make their own forms, so any text passes that cannot do harm in a path or a column.
import { codePointLength, hasLoneSurrogate, randomHex } from "../lib/index.ts";
import { sessionError } from "./errors.ts";

/** `20260131_094500_1f9a3c`: local time, then random digits (8 for sessions of a messaging gateway). */
export function newSessionId(now: Date, digits: 6 | 8 = 6): string {
  const date = [padded(now.getFullYear(), 4), padded(now.getMonth() + 1, 2), padded(now.getDate(), 2)];
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map((part) => padded(part, 2));
  return `${date.join("")}_${time.join("")}_${randomHex(4).slice(0, digits)}`;
}

/** The id itself. Throws `bad-session-id`. */
export function checkSessionId(id: unknown): string {
  if (typeof id !== "string") throw badId(`is ${id === null ? "null" : `of type ${typeof id}`}, not text`);
  if (id === "") throw badId("is empty");
  if (id.includes("/")) throw badId("contains a slash, and ids also name files");
  if (id.includes("\u0000")) throw badId("contains the character U+0000, which the database cannot keep");
  if (hasLoneSurrogate(id)) throw badId("contains half a surrogate pair, which the database cannot keep");
  const length = codePointLength(id);
  if (length > MAX_ID_CHARS) throw badId(`has ${length} characters, and ${MAX_ID_CHARS} is the most`);
  return id;
}

// Far more than any program uses, and little enough for an index and a file name's error message.
const MAX_ID_CHARS = 512;

function badId(what: string) {
  return sessionError("bad-session-id", `This cannot be the id of a session: it ${what}.`, {
    hint: "List the ids with 'hermes sessions list', or leave the id out to get a new one.",
  });
}

function padded(value: number, width: number): string {
  return String(value).padStart(width, "0");
}
