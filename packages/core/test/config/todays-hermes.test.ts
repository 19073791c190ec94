import { describe, expect, it } from "vitest";
import { checkConfig, loadConfig } from "../../src/config/index.ts";
import { tempHome } from "./support.ts";

/** Keys and defaults that the Hermes of November 2026 added to sections we read. */
const TODAY = `compression:
  in_place: true
  tail_mode: legacy
  threshold_tokens:
  model_thresholds: {gpt-5: 0.7}
  max_attempts: 3
  min_tail_user_messages: 1
  micro_compact: false
  idle_compact_after_seconds: 0
  proactive_prune_tokens: 0
  proactive_prune_min_result_chars: 8000
  context_timeout_seconds: 120
  context_total_ceiling_seconds: 600
  hygiene_hard_message_limit: 5000
  hygiene_timeout_seconds: 60
  hygiene_max_turn_hold_seconds: 10
  checkpoint_required: false
sessions:
  auto_archive: false
  auto_archive_days: 3
  cjk_fts: true
  fts_optimize_notice: true
  max_resume_messages: 20000
  max_export_messages: 20000
  min_vacuum_interval_days: 30
  search_slow_ms: 1000
memory: {nudge_interval: 10}
database: {journal_mode: wal, wal_autocheckpoint: 1000, journal_size_limit: 67108864}
curator: {consolidate: false, archive_ttl_days: 0}
skills: {ledger: true, project_discovery: false, trusted_project_dirs: [], tier1_advisory: true}
delegation: {max_concurrent_children: 10, max_iterations: 250, max_async_children: 3, max_summary_chars: 24000}
`;

describe("a config.yaml of today's Hermes", () => {
  it("is read without an error, a warning or a remark about unknown keys", async () => {
    using temp = tempHome();
    temp.writeConfig(TODAY);
    expect(await checkConfig(temp.home)).toMatchObject({ errors: [], warnings: [], unknownKeys: [] });
    expect(await loadConfig(temp.home)).toMatchObject({
      ok: true,
      value: {
        delegation: { maxConcurrentChildren: 10, maxIterations: 250 },
        compression: { hygieneHardMessageLimit: 5000 },
      },
    });
  });

  it("has today's defaults for the keys we act on when it does not name them", async () => {
    using temp = tempHome();
    expect(await loadConfig(temp.home)).toMatchObject({
      ok: true,
      value: {
        delegation: { maxConcurrentChildren: 10, maxIterations: 250 },
        compression: { hygieneHardMessageLimit: 5000 },
      },
    });
  });

  it("still gets a suggestion for a key that is spelled wrong", async () => {
    using temp = tempHome();
    temp.writeConfig("compression: {min_tail_user_mesages: 1, hygiene_thresold: 0.5}\n");
    expect((await checkConfig(temp.home)).unknownKeys).toMatchObject([
      { suggestion: "compression.min_tail_user_messages" },
      { suggestion: "compression.hygiene_threshold" },
    ]);
  });
});
