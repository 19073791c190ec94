// Titles as the original numbers, resolves and refuses them.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSessionStore } from "../../src/sessions/index.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";
import { readVectors } from "./vectors.ts";

type Lineage = {
  id: string;
  kind: "lineage";
  sessions: [string, string][];
  next: [string, string][];
  resolve: { title: string; session: string | null; differs: string | null }[];
};
type Step = {
  session: string;
  title: string | null;
  ok: boolean | null;
  error: string | null;
  titles_after: Record<string, string | null>;
};
type Setting = { id: string; kind: "set"; steps: Step[] };
type Case = Lineage | Setting | { id: string; kind: "sanitize" };

/** What ours answers where the original takes any ` #...`, or another case, for the same title (`resolve_strict`). */
const STRICT: Readonly<Record<string, string | null>> = { "v-tit-025 Shop": null, "v-tit-030 proj": "s002" };

const cases = readVectors<Case>("titles.jsonl");

describe.skipIf(!cases)("titles follow the original", () => {
  const lineages = cases?.filter((each) => each.kind === "lineage") ?? [];
  it.each(lineages.map((each) => [each.id, each] as const))("%s numbers and resolves", async (id, vector) => {
    await using store = await openSessionStore({ path: join(tempDirectory(), "state.db") });
    for (const [index, [session, title]] of vector.sessions.entries()) {
      await store.createSession(session, { source: "cli", startedAt: 1_770_000_000 + 60 * index });
      await store.setSessionTitle(session, title);
    }
    for (const [base, next] of vector.next) expect(await store.getNextTitleInLineage(base)).toBe(next);
    for (const { title, session, differs } of vector.resolve) {
      const expected = differs === null ? session : STRICT[`${id} ${title}`];
      expect(expected, `an answer of ours for '${title}' in ${id}`).toBeDefined();
      expect(await store.resolveSessionByTitle(title)).toBe(expected);
    }
  });

  const settings = cases?.filter((each) => each.kind === "set") ?? [];
  it.each(settings.map((each) => [each.id, each] as const))("%s sets and refuses", async (_id, vector) => {
    await using store = await openSessionStore({ path: join(tempDirectory(), "state.db") });
    for (const id of ["a", "b", "c"]) await store.createSession(id, { source: "cli" });
    for (const step of vector.steps) {
      const outcome = store.setSessionTitle(step.session, step.title);
      if (step.error === null) expect(await outcome).toBe(step.ok);
      else await expect(outcome).rejects.toThrow(step.error);
      for (const [id, title] of Object.entries(step.titles_after)) {
        expect(await store.getSessionTitle(id)).toBe(title);
      }
    }
  });
});
