// A second implementation of search over plain arrays, to compare the real one with. It shares no code with it: splitting into
// words, the meaning of expressions and the filters are written again here in the simplest way.
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { USER_PLATFORM } from "../../../src/sessions/identity.ts";
import { openSessionStore, type SessionStore } from "../../../src/sessions/index.ts";
import type { SearchOptions } from "../../../src/sessions/search/types.ts";
import { openSqliteStore } from "../../../src/sessions/sqlite/store.ts";
import { pick } from "../../fakes/random.ts";
import { newPath } from "../../fakes/session-index.ts";

type Random = () => number;

/** One limit for each path that a large database takes, so small that dozens of messages exceed it. */
const SMALL_BOUNDS = {
  matchesRanked: 7,
  matchesRead: 3,
  probeRows: 4,
  listRows: 9,
  rowsRead: 4,
  textRead: 0,
  readAll: 5,
  fullMatches: 2,
  sessionTokens: 2,
  firstStep: 2,
};

// Texts

const LATIN = [
  "alfa",
  "beta",
  "gama",
  "alfabet",
  "Ärger",
  "naïve",
  "Ñu",
  "x1",
  "42",
  "ЁЛКА",
  "ёж",
  "שָׁלום",
  "शाम",
  "शम",
];
const RUNS = ["记忆系统", "东京駅で会議", "検索", "系统", "서버설정", "서버", "ภาษาไทย", "忆", "𠮷野家"];
const EMOJI = ["👍", "👍🏽", "🎉"];
const BETWEEN = [" ", " ", " ", " ", "", "_", "-", ", ", "\0", "\n", "。"];

function randomText(random: Random): string {
  const length = Math.floor(random() * 9);
  let text = "";
  for (let at = 0; at < length; at += 1) {
    const kind = random();
    text += kind < 0.55 ? pick(LATIN, random) : kind < 0.92 ? pick(RUNS, random) : pick(EMOJI, random);
    text += pick(BETWEEN, random);
  }
  return text;
}

const UNSPACED = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Hangul}\\p{Script=Thai}";
const WORD = new RegExp(
  `\\p{Extended_Pictographic}|[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{M}]|(?!\\p{Extended_Pictographic})\\p{N}|[0-9])+`,
  "gu",
);
const IS_RUN = new RegExp(`^[${UNSPACED}]`, "u");

function wordsOf(text: string): string[] {
  return (text.match(WORD) ?? []).map((word) => {
    const lower = word.toLowerCase().replace(/[\u0591-\u05c7]/g, "");
    return lower.replace(/\p{Script=Latin}/gu, (letter) => letter.normalize("NFD").charAt(0));
  });
}

// Queries

type Phrase = { readonly words: readonly string[]; readonly isPrefix: boolean };
/** Alternatives of conjunctions of `adjacent NOT adjacent ...`. */
type Query = readonly (readonly (readonly (readonly Phrase[])[])[])[];

function holdsPhrase(words: readonly string[], { words: asked, isPrefix }: Phrase): boolean {
  const last = asked.length - 1;
  return words.some((_, start) =>
    asked.every((wanted, offset) => {
      const found = words[start + offset];
      if (found === undefined) return false;
      if (!IS_RUN.test(wanted))
        return isPrefix && offset === last ? found.startsWith(wanted) : found === wanted;
      if (!IS_RUN.test(found)) return false;
      if (offset > 0 && offset < last) return found === wanted;
      if (last === 0) return found.includes(wanted);
      return offset === 0 ? found.endsWith(wanted) : found.startsWith(wanted);
    }),
  );
}

function holds(words: readonly string[], query: Query): boolean {
  const all = (phrases: readonly Phrase[]) => phrases.every((phrase) => holdsPhrase(words, phrase));
  return query.some((parts) =>
    parts.every(([wanted = [], ...unwanted]) => all(wanted) && !unwanted.some((each) => all(each))),
  );
}

function print(query: Query): string {
  const phrase = ({ words, isPrefix }: Phrase) => `"${words.join(" ")}"${isPrefix ? "*" : ""}`;
  return query
    .map((parts) =>
      parts.map((part) => part.map((each) => each.map(phrase).join(" ")).join(" NOT ")).join(" AND "),
    )
    .join(" OR ");
}

function randomPhrase(texts: readonly string[], random: Random): Phrase {
  const words = random() < 0.8 ? wordsOf(pick(texts, random)) : wordsOf(randomText(random));
  if (words.length === 0) return { words: [pick(["alfa", "记忆"], random)], isPrefix: false };
  const start = Math.floor(random() * words.length);
  const slice = words.slice(start, start + 1 + Math.floor(random() * random() * 4));
  const last = slice.at(-1) ?? "";
  const first = slice[0] ?? "";
  if (slice.length === 1 && IS_RUN.test(last)) {
    const characters = [...last];
    const from = Math.floor(random() * characters.length);
    const length = 1 + Math.floor(random() * 3);
    return { words: [characters.slice(from, from + length).join("")], isPrefix: false };
  }
  // Runs at the ends of a phrase may be cut on the outer side.
  if (IS_RUN.test(first) && random() < 0.5)
    slice[0] = [...first].slice(-1 - Math.floor(random() * 2)).join("");
  if (IS_RUN.test(last)) {
    if (random() < 0.5) slice[slice.length - 1] = [...last].slice(0, 1 + Math.floor(random() * 2)).join("");
    return { words: slice, isPrefix: false };
  }
  const isPrefix = random() < 0.25 && /^[a-z]+$/.test(last);
  if (isPrefix) slice[slice.length - 1] = last.slice(0, 1 + Math.floor(random() * last.length));
  return { words: slice, isPrefix };
}

function randomQuery(texts: readonly string[], random: Random): Query {
  const some = <T>(most: number, make: () => T): T[] =>
    Array.from({ length: 1 + Math.floor(random() * random() * most) }, make);
  return some(3, () => some(3, () => some(3, () => some(2.5, () => randomPhrase(texts, random)))));
}

// Rows and filters

type Row = {
  readonly id: number;
  readonly session_id: string;
  readonly role: string;
  readonly content: string | null;
  readonly tool_name: string | null;
  readonly tool_calls: string | null;
  readonly timestamp: number;
  readonly active: number;
  readonly compacted: number;
  readonly display_kind: string | null;
  readonly source: string;
  readonly model_config: string | null;
  readonly user_id: string | null;
  readonly origin_id: number | null;
};

const ROWS = `
  SELECT m.*, s.source, s.model_config, s.user_id, o.origin_id FROM messages m JOIN sessions s ON s.id = m.session_id
  LEFT JOIN hermes_memory_origin o ON o.message_id = m.id
`;

function textOf({ content, tool_name, tool_calls }: Row): string {
  const calls =
    tool_calls === null
      ? []
      : (JSON.parse(tool_calls) as { function: { name: string; arguments: string } }[]);
  const called = calls.flatMap(({ function: { name, arguments: given } }) => [
    name,
    ...Object.entries(JSON.parse(given) as Record<string, string>).flat(),
  ]);
  const stored: unknown = content?.startsWith("\0json:") === true ? JSON.parse(content.slice(6)) : content;
  const said = Array.isArray(stored)
    ? stored.map(({ text }: { text: string }) => text).join(" ")
    : String(stored ?? "");
  return [said, tool_name ?? "", ...called].join(" ");
}

/** A child of a session on another platform carries a mark, which stays when the source changes. */
function platformOf({ model_config, source }: Pick<Row, "model_config" | "source">): string {
  const marks: Readonly<Record<string, unknown>> = JSON.parse(model_config ?? "{}");
  return String(marks[USER_PLATFORM] ?? source);
}

function isOwn(
  of: Pick<Row, "source" | "model_config" | "user_id">,
  { userId, userPlatform }: SearchOptions,
): boolean {
  return (
    (userId === undefined || of.user_id === userId) &&
    (userPlatform === undefined || platformOf(of) === userPlatform)
  );
}

function isAllowed(row: Row, options: SearchOptions): boolean {
  const isShown = (row.active === 1 || row.compacted === 1) && row.display_kind !== "hidden";
  return (
    (options.includeInactive === true || isShown) &&
    isOwn(row, options) &&
    (options.sourceFilter === undefined || options.sourceFilter.includes(row.source)) &&
    !options.excludeSources?.includes(row.source) &&
    (!options.roleFilter?.length || options.roleFilter.includes(row.role)) &&
    (options.sessionIds === undefined || options.sessionIds.includes(row.session_id)) &&
    !options.excludeSessionIds?.includes(row.session_id) &&
    !options.excludeMessageIds?.includes(row.id) &&
    (options.after === undefined || row.timestamp >= options.after) &&
    (options.before === undefined || row.timestamp < options.before)
  );
}

const SOURCES = ["cli", "telegram", "cron"];
const ROLES = ["user", "assistant", "tool"];
const USERS = ["ann", "ben"];
const DAY = 86_400;

function randomOptions(rows: readonly Row[], sessions: readonly string[], random: Random): SearchOptions {
  const maybe = (share: number, options: () => SearchOptions): SearchOptions =>
    random() < share ? options() : {};
  const moment = () => pick(rows, random).timestamp + pick([-DAY, -1, 0, 0, 0.5, 1, DAY], random);
  const many = <T>(list: readonly T[]): T[] => list.filter(() => random() < 0.4);
  return {
    ...maybe(0.15, () => ({ sourceFilter: many(SOURCES) })),
    ...maybe(0.15, () => ({ excludeSources: [...many(SOURCES), "nowhere"] })),
    ...maybe(0.15, () => ({ roleFilter: many(ROLES) })),
    ...maybe(0.15, () => ({ after: moment() })),
    ...maybe(0.15, () => ({ before: moment() })),
    ...maybe(0.12, () => ({ sessionIds: [...many(sessions), "gone"] })),
    ...maybe(0.12, () => ({ excludeSessionIds: many(sessions) })),
    ...maybe(0.12, () => ({ excludeMessageIds: many(rows).map(({ id }) => id) })),
    ...maybe(0.1, () => ({ includeInactive: true })),
    ...maybe(0.2, () =>
      random() < 0.5
        ? { userId: pick(USERS, random) }
        : { userId: pick(USERS, random), userPlatform: pick(SOURCES, random) },
    ),
    ...maybe(0.7, () => ({ sort: pick(["newest", "oldest"], random) })),
    ...maybe(0.5, () => ({ perLineage: true })),
    limit: pick([1, 2, 3, 5, 8, 1000], random),
    ...maybe(0.3, () => ({ offset: Math.floor(random() * 4) })),
  };
}

// Comparing

type World = { readonly rows: readonly Row[]; readonly sessions: readonly Session[] };
type Session = Pick<Row, "source" | "model_config" | "user_id"> & {
  readonly id: string;
  readonly parent_session_id: string | null;
};

/** Other users' sessions are invisible, so a lineage starts below them. */
function rootOf(world: World, id: string, options: SearchOptions): string {
  const own = world.sessions.find((session) => session.id === id);
  const parent = world.sessions.find((session) => session.id === own?.parent_session_id);
  return parent === undefined || !isOwn(parent, options) ? id : rootOf(world, parent.id, options);
}

/** All matching visible messages in order of time, without copies and further messages of a lineage. */
function expected(world: World, isMatch: (row: Row) => boolean, options: SearchOptions): Row[] {
  const sign = options.sort === "newest" ? -1 : 1;
  const found = world.rows
    .filter((row) => isAllowed(row, options) && isMatch(row))
    .sort((a, b) => sign * (a.timestamp - b.timestamp || a.id - b.id));
  const firstOf = <T>(rows: readonly Row[], name: (row: Row) => T) => {
    const shown = new Set<T>();
    return rows.filter((row) => !shown.has(name(row)) && shown.add(name(row)));
  };
  const unique = firstOf(found, (row) => row.origin_id ?? row.id);
  return options.perLineage === true
    ? firstOf(unique, (row) => rootOf(world, row.session_id, options))
    : unique;
}

function whyEmpty(world: World, isMatch: (row: Row) => boolean, options: SearchOptions): string {
  const finds = (others: SearchOptions) => world.rows.some((row) => isAllowed(row, others) && isMatch(row));
  if (options.excludeSessionIds?.length && finds({ ...options, excludeSessionIds: [] }))
    return "excluded-sessions";
  if (options.excludeSources?.length && finds({ ...options, excludeSources: [] })) return "hidden-sources";
  const { userId, userPlatform, includeInactive } = options;
  const bare = {
    ...(userId === undefined ? {} : { userId }),
    ...(userPlatform === undefined ? {} : { userPlatform }),
    includeInactive,
  };
  return finds(bare) ? "filtered" : "no-match";
}

async function compare(
  store: SessionStore,
  world: World,
  asked: { readonly query: string; readonly isMatch: (row: Row) => boolean },
  options: SearchOptions,
  seed: string,
): Promise<void> {
  const { query, isMatch } = asked;
  const about = `${seed}: ${query} ${JSON.stringify(options)}`;
  const answer = await store.search(query, options);
  const ids = answer.hits.map(({ id }) => id);
  const all = expected(world, isMatch, options);
  const { offset = 0, limit = 20 } = options;
  if (options.sort !== undefined)
    expect(ids, about).toEqual(all.slice(offset, offset + limit).map(({ id }) => id));
  else {
    // The order is up to the ranking. The number of hits, and that each is an expected one, is checked.
    expect(ids, about).toHaveLength(Math.max(0, Math.min(limit, all.length - offset)));
    const allowed = new Set(
      world.rows.filter((row) => isAllowed(row, options) && isMatch(row)).map(({ id }) => id),
    );
    expect(
      ids.filter((id) => !allowed.has(id)),
      about,
    ).toEqual([]);
    const names = answer.hits.map((hit) => (options.perLineage ? hit.lineage_root : hit.id));
    expect(new Set(names).size, about).toBe(names.length);
  }
  for (const { session_id, lineage_root } of answer.hits)
    expect(lineage_root, about).toBe(rootOf(world, session_id, options));
  expect(answer.notSearched, about).toBeUndefined();
  if (all.length === 0) expect(answer.empty, about).toBe(whyEmpty(world, isMatch, options));
  else expect(answer.empty, about).toBeUndefined();
}

/** Words without other forms, so that a plain query matches only these words. */
const PLAIN = ["alfa", "beta", "gama", "x1", "42"];

export type Rounds = { readonly seed: number; readonly random: Random; readonly queries: number };

/** One database, changed repeatedly and searched after each change. */
export async function playRound({ seed, random, queries }: Rounds): Promise<void> {
  const path = newPath();
  await (await openSessionStore({ path })).close();
  {
    using db = new DatabaseSync(path);
    const columns = new Set(
      db
        .prepare("SELECT name FROM pragma_table_info('messages')")
        .all()
        .map(({ name }) => name),
    );
    if (!columns.has("compacted"))
      db.exec("ALTER TABLE messages ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0");
    if (!columns.has("display_kind")) db.exec("ALTER TABLE messages ADD COLUMN display_kind TEXT");
  }
  await using large = await openSqliteStore({ path, searchBounds: SMALL_BOUNDS });
  await using usual = await openSessionStore({ path });
  await using readOnly = await openSessionStore({ path, readOnly: true });
  const sessions: string[] = [];
  const addSession = async () => {
    const id = `s${sessions.length}`;
    const parent = sessions.length > 0 && random() < 0.3 ? pick(sessions, random) : undefined;
    const userId = random() < 0.6 ? { userId: pick(USERS, random) } : {};
    await usual.createSession(id, {
      source: pick(SOURCES, random),
      ...userId,
      parentSessionId: parent,
    });
    sessions.push(id);
  };
  const now = 20_000 * DAY;
  const addMessages = async () => {
    const session = pick(sessions, random);
    const messages = Array.from({ length: 1 + Math.floor(random() * random() * 12) }, () => {
      const text = randomText(random);
      const kind = random();
      const timestamp =
        random() < 0.03
          ? pick([-5, 7e9, 0], random)
          : now + Math.floor(random() * 6) * DAY * 0.4 + Math.floor(random() * 3);
      const call = {
        id: "call_alfa",
        type: "function",
        function: { name: "beta", arguments: JSON.stringify({ type: text }) },
      };
      return {
        role: pick(ROLES, random),
        timestamp,
        content: kind < 0.1 ? [{ type: "text", text }] : text,
        toolCalls: kind > 0.9 ? [call] : undefined,
        toolName: kind > 0.8 && kind < 0.9 ? "gama_tool" : undefined,
      };
    });
    await usual.appendMany(session, messages);
  };
  const change = () => {
    using db = new DatabaseSync(path, { timeout: 10_000 });
    const ids = db
      .prepare("SELECT id FROM messages")
      .all()
      .map(({ id }) => Number(id));
    if (ids.length === 0) return;
    const some = ids.filter(() => random() < 0.15).join(", ");
    const what = random();
    if (what < 0.1) return copyMessage(db, pick(ids, random), pick([0, 0, 1, DAY], random));
    if (what < 0.25)
      db.prepare(`UPDATE messages SET content = ? WHERE id IN (${some})`).run(randomText(random));
    else if (what < 0.45) db.exec(`DELETE FROM messages WHERE id IN (${some})`);
    else if (what < 0.6) db.exec(`UPDATE messages SET active = 1 - active WHERE id IN (${some})`);
    else if (what < 0.7) db.exec(`UPDATE messages SET active = 0, compacted = 1 WHERE id IN (${some})`);
    else if (what < 0.75) db.exec(`UPDATE messages SET display_kind = 'hidden' WHERE id IN (${some})`);
    else if (what < 0.9)
      db.exec(
        `UPDATE messages SET timestamp = timestamp + ${pick([-DAY, -1, 1, DAY], random)} WHERE id IN (${some})`,
      );
    else
      db.prepare("UPDATE sessions SET source = ?, user_id = ? WHERE id = ?").run(
        pick(SOURCES, random),
        pick(USERS, random),
        pick(sessions, random),
      );
  };
  for (let at = 0; at < 4; at += 1) await addSession();
  for (let at = 0; at < 6; at += 1) await addMessages();
  for (let at = 0; at < queries; at += 1) {
    const what = random();
    if (what < 0.15) await addSession();
    else if (what < 0.4) await addMessages();
    else if (what < 0.7) change();
    const rows = readRows(path);
    if (rows.length === 0) continue;
    const world = { rows, sessions: readSessions(path) };
    const words = new Map(rows.map((row) => [row.id, wordsOf(textOf(row))]));
    const wordsIn = (row: Row) => words.get(row.id) ?? [];
    const options = randomOptions(rows, sessions, random);
    const store = pick([large, large, usual, readOnly], random);
    const about = `seed ${seed}, query ${at}`;
    if (random() < 0.8) {
      const query = randomQuery(rows.map(textOf), random);
      const isMatch = (row: Row) => holds(wordsIn(row), query);
      await compare(store, world, { query: print(query), isMatch }, options, about);
      continue;
    }
    const plain = PLAIN.filter(() => random() < 0.4);
    if (plain.length === 0) continue;
    const any = (row: Row) => plain.some((word) => wordsIn(row).includes(word));
    const strict = (row: Row) => plain.every((word) => wordsIn(row).includes(word));
    const isStrict = options.sort !== undefined && rows.some((row) => isAllowed(row, options) && strict(row));
    await compare(store, world, { query: plain.join(" "), isMatch: isStrict ? strict : any }, options, about);
  }
}

function readRows(path: string): Row[] {
  using db = new DatabaseSync(path);
  return db.prepare(ROWS).all() as Row[];
}

function readSessions(path: string): Session[] {
  using db = new DatabaseSync(path);
  return db
    .prepare("SELECT id, parent_session_id, source, model_config, user_id FROM sessions")
    .all() as Session[];
}

/** Like compaction and branching: shown once, however often it is stored. */
function copyMessage(db: DatabaseSync, id: number, later: number): void {
  db.exec(`
    INSERT INTO messages(session_id, role, content, tool_name, tool_calls, timestamp)
      SELECT session_id, role, content, tool_name, tool_calls, timestamp + ${later} FROM messages WHERE id = ${id};
    INSERT INTO hermes_memory_origin(message_id, origin_id)
      SELECT last_insert_rowid(), COALESCE((SELECT origin_id FROM hermes_memory_origin WHERE message_id = ${id}), ${id});
  `);
}
