// Pages of real databases damaged in turn. A page costs the rows it held: nothing else is missing, nothing is made up, and
// what repair tells is what is gone. `npm run -s bench -- damage` does it to every page.
import { copyFileSync, existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type Subject, subjectOf, type Trial, tryPage } from "../../bench/damage/trial.ts";
import { makeSubject, samplePages } from "../../bench/damage.ts";
import { goldenDirectory } from "../../packages/core/test/golden/vectors.ts";

const every = process.env.HERMES_DAMAGE_PAGES === "all";

function expectOnlyItsRows({ page, facts, report, missing, misreported, invented }: Trial): void {
  const where = `page ${page}, ${facts.owner} ${facts.kind}`;
  expect({ where, error: report.error, repaired: report.repaired, missing, misreported, invented }).toEqual({
    where,
    error: null,
    repaired: true,
    missing: [],
    misreported: [],
    invented: [],
  });
}

describe("a file of ours of 5 MB", () => {
  let subject: Subject;
  beforeAll(async () => {
    subject = subjectOf(await makeSubject(mkdtempSync(join(tmpdir(), "hermes-damage-subject-"))));
  });

  it("loses only the rows of a page of zeros", { timeout: every ? 3_600_000 : 300_000 }, async () => {
    expect(subject.pages * subject.pageSize).toBeGreaterThan(4_500_000);
    const pages = samplePages(subject, every ? subject.pages : 60);
    expect(pages.length).toBeGreaterThan(50);
    let opened = 0;
    for (const page of pages) {
      const trial = await tryPage(subject, page, "zeros");
      expectOnlyItsRows(trial);
      if (trial.opens) opened += 1;
    }
    // Most damage does not show before the damaged rows are read.
    expect(opened).toBeGreaterThan(pages.length * 0.8);
  });

  it("loses only the rows of a page of noise", async () => {
    for (const page of samplePages(subject, 40)) expectOnlyItsRows(await tryPage(subject, page, "noise"));
  });

  it("keeps what is in the half that is left", async () => {
    const trial = await tryPage(subject, 1, "half");
    expect(trial.report).toMatchObject({ repaired: true, strategy: "salvage" });
    expect(trial.missing).toEqual([]);
    expect(trial.invented).toEqual([]);
    expect(trial.lost.messages).toBeGreaterThan(0);
  });
});

describe.skipIf(!existsSync(join(goldenDirectory, "sessions-db-v30")))("a file of version 30", () => {
  it.each(["state.db", "legacy-index-v30.db"])("loses only the rows of a page of zeros: %s", async (name) => {
    const path = join(mkdtempSync(join(tmpdir(), "hermes-damage-subject-")), name);
    copyFileSync(join(goldenDirectory, "sessions-db-v30", name), path);
    const subject = subjectOf(path);
    for (const page of samplePages(subject, every ? subject.pages : 60))
      expectOnlyItsRows(await tryPage(subject, page, "zeros"));
  });
});
