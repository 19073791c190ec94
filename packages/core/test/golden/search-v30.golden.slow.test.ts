// searchMessages on a database of today's Hermes (schema 30): at least what it finds itself wherever it shows all of it.
import { chmodSync, copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSessionStore } from "../../src/sessions/index.ts";
import type { SearchOptions } from "../../src/sessions/search/types.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";
import { toOptions } from "./session-databases.ts";
import { goldenDirectory } from "./vectors.ts";

type Case = {
  readonly query: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly route: string;
  readonly total: number;
  readonly ids: readonly number[];
};

const directory = join(goldenDirectory, "sessions-db-v30");
const answers = readCases();

describe.skipIf(answers === undefined)("searching a database of schema 30", () => {
  for (const readOnly of [false, true])
    it.each(answers ?? [])(
      `finds what Hermes finds, ${readOnly ? "read-only" : "writable"}: $query $args`,
      async (each) => {
        const path = join(tempDirectory(), "state.db");
        copyFileSync(join(directory, "state.db"), path);
        chmodSync(path, 0o600);
        const store = await openSessionStore({ path, readOnly });
        onTestFinished(() => store.close());
        const { limit = 20, offset = 0, sort } = each.args;
        const rows = await store.searchMessages(each.query, toOptions<SearchOptions>(each.args));
        const ids = rows.map(({ id }) => id);
        if (each.total > Number(limit) || offset !== 0) return;
        expect(ids).toEqual(expect.arrayContaining([...each.ids]));
        // Short CJK terms come newest first there, whatever was asked for.
        if (sort !== undefined && each.route === "fts") expect(ids).toEqual(each.ids);
      },
    );
});

function readCases(): Case[] | undefined {
  const path = join(directory, "expected.json");
  if (!existsSync(path)) {
    console.warn(`No golden answers at ${path}: skipped.`);
    return undefined;
  }
  const { search_messages, search_messages_v30 } = JSON.parse(readFileSync(path, "utf8")) as Record<
    string,
    Case[]
  >;
  // Times there are those of sessions; ours are those of messages.
  return [...(search_messages ?? []), ...(search_messages_v30 ?? [])].filter(
    ({ args }) => !("after_ts" in args || "before_ts" in args),
  );
}
