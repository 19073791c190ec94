// Counters, times and gauges, and their text for Prometheus (exposition format 0.0.4).
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Metrics } from "./types.ts";

type Labels = Readonly<Record<string, string>>;

const PREFIX = "hermes_";
/** Upper bounds in seconds: from a route without I/O to a turn with many tool calls. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300] as const;
const LOOP_RESOLUTION_MS = 20;

/** What every name means. A name that is not here is exported without a help text. */
const HELP: Readonly<Record<string, string>> = {
  requests_total: "Requests by route, method and status.",
  request_seconds: "Time from a request's headers to the last byte of its reply.",
  response_start_seconds: "Time from a request's headers to the first byte of its reply.",
  requests_running: "Requests whose reply has not been sent completely.",
  problems_total: "Requests that were refused or failed, by code.",
  connections_refused_total: "Connections that were closed before a request could be read, by reason.",
  tokens_total: "Tokens of models, by kind: input, output, cache_read, cache_write.",
  live_agents: "Agents in memory.",
  recall_seconds: "Time that recall took, by mode.",
  turns_stored_total: "Replies that are stored with the message they answer, by mode.",
  recalls: "Recalls, by mode and whether something was added to the request.",
  model_requests_total:
    "Model requests by wire, mode, client, and kind: a conversation, or a request beside it.",
  agent_turns: "Turns of our agent, by how they ended.",
  agent_turn_seconds: "Time of a turn of our agent.",
  proxy_memory_failures: "Proxied requests that were sent without memory because it failed.",
  log_lines_dropped: "Lines that could not be written to a log.",
  event_loop_delay_seconds: "Delay of the event loop since the last read of these figures.",
  process_resident_memory_bytes: "Memory of the process.",
  process_heap_bytes: "JavaScript heap in use.",
  process_uptime_seconds: "Seconds since the process started.",
};

type Histogram = { readonly buckets: number[]; sum: number; count: number };

export type MetricsRegistry = Metrics & {
  /** The text for Prometheus. */
  render(): string;
  close(): void;
};

export function createMetrics(): MetricsRegistry {
  const counters = new Map<string, Map<string, number>>();
  const histograms = new Map<string, Map<string, Histogram>>();
  const gauges = new Map<string, () => number>();
  const loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  loop.enable();
  gauges.set("process_resident_memory_bytes", () => process.memoryUsage.rss());
  gauges.set("process_heap_bytes", () => process.memoryUsage().heapUsed);
  gauges.set("process_uptime_seconds", () => process.uptime());

  return {
    count(name, labels, by = 1) {
      if (!Number.isFinite(by) || by < 0) return; // a counter never falls
      const series = seriesOf(counters, name);
      const key = labelText(labels);
      series.set(key, (series.get(key) ?? 0) + by);
    },
    observe(name, seconds, labels) {
      if (!Number.isFinite(seconds) || seconds < 0) return;
      const series = seriesOf(histograms, name);
      const key = labelText(labels);
      const value = series.get(key) ?? { buckets: BUCKETS.map(() => 0), sum: 0, count: 0 };
      series.set(key, value);
      value.sum += seconds;
      value.count += 1;
      const at = BUCKETS.findIndex((bound) => seconds <= bound);
      if (at >= 0) value.buckets[at] = (value.buckets[at] ?? 0) + 1;
    },
    gauge(name, read) {
      gauges.set(name, read);
    },
    render() {
      const lines: string[] = [];
      for (const [name, series] of counters) {
        lines.push(...heading(name, "counter"));
        for (const [labels, value] of series) lines.push(`${PREFIX}${name}${braces(labels)} ${value}`);
      }
      for (const [name, series] of histograms) {
        lines.push(...heading(name, "histogram"));
        for (const [labels, histogram] of series) lines.push(...histogramLines(name, labels, histogram));
      }
      for (const [name, read] of gauges) lines.push(...heading(name, "gauge"), `${PREFIX}${name} ${read()}`);
      lines.push(...heading("event_loop_delay_seconds", "gauge"), ...delayLines(loop));
      return `${lines.join("\n")}\n`;
    },
    close: () => void loop.disable(),
  };
}

function seriesOf<Value>(all: Map<string, Map<string, Value>>, name: string): Map<string, Value> {
  const series = all.get(name) ?? new Map<string, Value>();
  all.set(name, series);
  return series;
}

function histogramLines(name: string, labels: string, { buckets, sum, count }: Histogram): string[] {
  let below = 0;
  const bounds = BUCKETS.map((bound, index) => {
    below += buckets[index] ?? 0;
    return `${PREFIX}${name}_bucket${braces(labels, `le="${bound}"`)} ${below}`;
  });
  return [
    ...bounds,
    `${PREFIX}${name}_bucket${braces(labels, 'le="+Inf"')} ${count}`,
    `${PREFIX}${name}_sum${braces(labels)} ${sum}`,
    `${PREFIX}${name}_count${braces(labels)} ${count}`,
  ];
}

/** The monitor measures the time between two of its timers, so the timer's own interval is subtracted. */
function delayLines(loop: ReturnType<typeof monitorEventLoopDelay>): string[] {
  const seconds = (nanoseconds: number): number =>
    loop.count === 0 ? 0 : Math.max(0, nanoseconds / 1e9 - LOOP_RESOLUTION_MS / 1_000);
  const name = `${PREFIX}event_loop_delay_seconds`;
  const lines = [
    `${name}{quantile="0.5"} ${seconds(loop.percentile(50))}`,
    `${name}{quantile="0.99"} ${seconds(loop.percentile(99))}`,
    `${name}{quantile="1"} ${seconds(loop.max)}`,
  ];
  loop.reset();
  return lines;
}

function heading(name: string, type: "counter" | "histogram" | "gauge"): string[] {
  const help = HELP[name];
  return [...(help ? [`# HELP ${PREFIX}${name} ${help}`] : []), `# TYPE ${PREFIX}${name} ${type}`];
}

function labelText(labels: Labels | undefined): string {
  if (labels === undefined) return "";
  return Object.keys(labels)
    .sort()
    .map((name) => `${name}="${escaped(labels[name] ?? "")}"`)
    .join(",");
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function braces(...parts: readonly string[]): string {
  const text = parts.filter((part) => part !== "").join(",");
  return text === "" ? "" : `{${text}}`;
}
