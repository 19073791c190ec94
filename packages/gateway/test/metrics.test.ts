import { describe, expect, it, onTestFinished } from "vitest";
import { createMetrics } from "../src/metrics.ts";

function metrics() {
  const made = createMetrics();
  onTestFinished(() => made.close());
  return made;
}

describe("metrics", () => {
  it("counts by labels, whatever their order, with a help text and a type", () => {
    const each = metrics();
    each.count("requests_total", { route: "/v1/models", status: "200" });
    each.count("requests_total", { status: "200", route: "/v1/models" }, 2);
    const text = each.render();
    expect(text).toContain("# HELP hermes_requests_total Requests by route, method and status.\n");
    expect(text).toContain("# TYPE hermes_requests_total counter\n");
    expect(text).toContain('hermes_requests_total{route="/v1/models",status="200"} 3\n');
  });

  it("puts times into cumulative buckets", () => {
    const each = metrics();
    for (const seconds of [0.004, 0.2, 0.2, 400]) each.observe("recall_seconds", seconds);
    const text = each.render();
    expect(text).toContain('hermes_recall_seconds_bucket{le="0.005"} 1\n');
    expect(text).toContain('hermes_recall_seconds_bucket{le="0.25"} 3\n');
    expect(text).toContain('hermes_recall_seconds_bucket{le="300"} 3\n');
    expect(text).toContain('hermes_recall_seconds_bucket{le="+Inf"} 4\n');
    expect(text).toContain("hermes_recall_seconds_count 4\n");
    expect(text).toMatch(/^hermes_recall_seconds_sum 400\.40/m);
  });

  it("escapes label values, so that no value can add a line", () => {
    const each = metrics();
    each.count("problems_total", { code: 'a"} 1\nhermes_fake 1\\' });
    expect(each.render()).toContain('hermes_problems_total{code="a\\"} 1\\nhermes_fake 1\\\\"} 1\n');
    expect(each.render()).not.toMatch(/^hermes_fake/m);
  });

  it("never lets a counter fall or become no number", () => {
    const each = metrics();
    each.count("tokens_total", { kind: "input" }, 3);
    for (const wrong of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      each.count("tokens_total", { kind: "input" }, wrong);
      each.observe("recall_seconds", wrong);
    }
    expect(each.render()).toContain('hermes_tokens_total{kind="input"} 3\n');
    expect(each.render()).not.toContain("recall_seconds");
  });

  it("tells memory, heap, uptime and the delay of the event loop without the monitor's own interval", async () => {
    const each = metrics();
    await new Promise((resolve) => setTimeout(resolve, 60));
    const text = each.render();
    expect(text).toMatch(/^hermes_process_resident_memory_bytes \d{7,}$/m);
    expect(text).toMatch(/^hermes_process_heap_bytes \d{6,}$/m);
    const [, half] = /^hermes_event_loop_delay_seconds\{quantile="0.5"\} (\S+)$/m.exec(text) ?? [];
    expect(Number(half)).toBeLessThan(0.5);
    for (const line of text.trimEnd().split("\n")) expect(line).toMatch(/^(#|[a-z_]+(\{[^\n]*\})? \S+$)/);
  });
});
