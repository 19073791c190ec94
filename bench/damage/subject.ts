// Makes a database of about 5 MB with everything a real one has: sessions of several kinds, long tool results in overflow pages,
// structured and Chinese content, and tables of another program.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";

const WORDS =
  "harbour crane copper lantern ledger willow anchor quarry thistle beacon deploy config router socket branch".split(
    " ",
  );

/** Returns the path. Only the timestamps differ between runs. */
export async function makeSubject(folder: string, sessions = 82): Promise<string> {
  const path = join(folder, "subject.db");
  {
    await using store = await openSessionStore({ path });
    for (let number = 0; number < sessions; number += 1) {
      const id = `2026010${number % 10}_${String(number).padStart(6, "0")}_session`;
      const parent =
        number % 7 === 6
          ? { parentSessionId: `2026010${(number - 1) % 10}_${String(number - 1).padStart(6, "0")}_session` }
          : {};
      await store.createSession(id, { source: ["cli", "telegram", "cron"][number % 3] ?? "cli", ...parent });
      if (number % 2 === 0)
        await store.setSessionTitle(id, `About ${WORDS[number % WORDS.length]} ${number}`);
      await store.appendMany(
        id,
        Array.from({ length: 40 }, (_, at) => message(number, at)),
      );
      await store.setMeta(`note_${number}`, text(number, 30));
      await store.saveOwnPrompt(id, text(number * 3, 200), 1);
    }
    await store.deleteSession("20260103_000013_session"); // so that there are free pages with old rows
  }
  using db = new DatabaseSync(path);
  db.exec("CREATE TABLE harbour_notes (note TEXT, weight REAL)");
  db.exec("CREATE TABLE harbour_tags (tag TEXT PRIMARY KEY, note TEXT) WITHOUT ROWID");
  const note = db.prepare("INSERT INTO harbour_notes (note, weight) VALUES (?, ?)");
  for (let at = 0; at < 300; at += 1) note.run(text(at, 20), at / 3);
  db.exec("INSERT INTO harbour_tags VALUES ('blue', 'crane'), ('old', 'lantern')");
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  return path;
}

function message(session: number, at: number) {
  const tag = `session ${session} message ${at}`;
  if (at % 10 === 1) return { role: "assistant" as const, content: `${tag} 昨天讨论了琥珀灯塔的部署方案` };
  if (at % 10 === 3)
    return { role: "user" as const, content: [{ type: "text", text: `${tag} ${text(at, 30)}` }] };
  if (at % 10 === 5) {
    const long = at % 20 === 15 ? 1500 : 90;
    return {
      role: "tool" as const,
      content: `${tag} ${text(session + at, long)}`,
      toolName: "terminal",
      toolCallId: `c${at}`,
    };
  }
  return {
    role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
    content: `${tag} ${text(session * at, 60)}`,
  };
}

function text(seed: number, length: number): string {
  return Array.from(
    { length },
    (_, at) => WORDS[(seed * 7 + at * 3 + ((at * seed) % 5)) % WORDS.length],
  ).join(" ");
}
