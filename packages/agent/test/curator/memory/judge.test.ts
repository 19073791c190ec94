import { describe, expect, it } from "vitest";
import { type JudgeContext, judge } from "../../../src/curator/memory/judge.ts";

const SHOWN = [
  "Uses pnpm",
  "Uses pnpm for packages, never yarn",
  "Lives in Graz",
  "Works on Monday",
  "Läuft auf Port 8080",
  "Der Dienst liegt in `/srv/Daten`.",
];
const NOTHING = { merge: [], contradictions: [], outdated: [] };

function context(changes: Partial<JudgeContext> = {}): JudgeContext {
  return {
    target: "memory",
    isPinned: () => false,
    isSpared: () => false,
    isAcceptable: () => true,
    ...changes,
  };
}

describe("what of a model's opinion counts", () => {
  const merge = { entries: [1, 2], text: "Uses pnpm for packages, never yarn" };

  it("a merge that is shorter than its sources", () => {
    const { proposals, dropped } = judge(SHOWN, { ...NOTHING, merge: [merge] }, context());
    expect(proposals).toMatchObject([
      { kind: "merge", by: "model", curation: { remove: [SHOWN[0], SHOWN[1]], text: merge.text } },
    ]);
    expect(dropped).toEqual([]);
  });

  it.each<[string, typeof merge, Partial<JudgeContext>]>([
    ["unknown-entry", { ...merge, entries: [1, 9] }, {}],
    ["unknown-entry", { ...merge, entries: [1, 1] }, {}],
    ["pinned", merge, { isPinned: (entry: string) => entry === SHOWN[0] }],
    ["pinned", merge, { isSpared: (entry: string) => entry === SHOWN[1] }],
    ["not-shorter", { ...merge, text: `${SHOWN[0]} ${SHOWN[1]}, and so on and on` }, {}],
    ["refused-text", merge, { isAcceptable: () => false }],
    ["lost-fact", { ...merge, entries: [5, 6], text: "Der Dienst läuft in /srv/Daten" }, {}],
    ["lost-fact", { ...merge, entries: [5, 6], text: "Der Dienst läuft auf 8081 in /srv/Daten" }, {}],
    ["invented", { ...merge, entries: [1, 3], text: "Uses pnpm 9" }, {}],
  ])("no merge that is dropped as %s", (why, given, changes) => {
    expect(judge(SHOWN, { ...NOTHING, merge: [given] }, context(changes))).toMatchObject({
      proposals: [],
      dropped: [why],
    });
  });

  it("a merge with the same numbers and paths, whatever is around them", () => {
    const given = { entries: [5, 6], text: "Der Dienst läuft auf Port 8080, in /srv/Daten" };
    expect(judge(SHOWN, { ...NOTHING, merge: [given] }, context()).proposals).toHaveLength(1);
  });

  it("the first merge of an entry only", () => {
    const again = judge(SHOWN, { ...NOTHING, merge: [merge, merge] }, context());
    expect(again.proposals).toHaveLength(1);
    expect(again.dropped).toEqual(["used-twice"]);
  });

  it("outdated entries up to a quarter of those shown", () => {
    const outdated = (...entries: number[]) => entries.map((entry) => ({ entry, reason: "over" }));
    expect(judge(SHOWN, { ...NOTHING, outdated: outdated(4) }, context()).proposals).toMatchObject([
      {
        kind: "outdated",
        curation: { remove: [SHOWN[3]], isArchived: true },
        reason: "the model says: over",
      },
    ]);
    expect(judge(SHOWN.slice(0, 4), { ...NOTHING, outdated: outdated(3, 4) }, context())).toMatchObject({
      proposals: [],
      dropped: ["too-many"],
    });
  });

  it("contradictions between entries that exist, as something to look at", () => {
    const contradictions = [
      { entries: [3, 4], reason: "" },
      { entries: [3, 8], reason: "" },
    ];
    const { findings, dropped } = judge(SHOWN, { ...NOTHING, contradictions }, context());
    expect(findings).toMatchObject([
      { kind: "contradiction", entries: [SHOWN[2], SHOWN[3]], reason: "the model gave no reason" },
    ]);
    expect(dropped).toEqual(["unknown-entry"]);
  });
});
