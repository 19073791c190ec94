// The same on a terminal. Texts of plugins are shown, never obeyed.
import { join } from "node:path";
import { groupThousands } from "@hermes-memory/core/lib";
import { type HookCounts, isProviderName, type ProviderHealth } from "@hermes-memory/core/providers";
import type { Paint } from "../../command.ts";
import { counted, localTime, oneLine, printable } from "../../printing.ts";
import type { ActiveProvider, KnownAvailability, ProviderStatus, Variable } from "./status.ts";

const TEXT_CHARS = 300;

export function statusLines(status: ProviderStatus, paint: Paint): string[] {
  const { active, providers } = status;
  const width = Math.max(...providers.map(({ name }) => name.length));
  return [
    row("provider", active === null ? "none" : shown(active.name)),
    ...(active === null ? [] : activeLines(active, status.pluginsDirectory, paint)),
    "",
    paint("bold", "Providers"),
    ...providers.map(({ name, source, hint, problem, active: isActive }) => {
      const about = problem === undefined ? shown(hint) : paint("yellow", shown(problem));
      return `${isActive ? "*" : " "} ${name.padEnd(width)}  ${source.padEnd(7)}  ${about}`.trimEnd();
    }),
  ];
}

function activeLines(active: ActiveProvider, plugins: string, paint: Paint): string[] {
  const settings = Object.entries(active.settings);
  return [
    row("  installed", installed(active, plugins, paint)),
    ...(active.installed && active.problem === undefined
      ? [row("  available", availability(active.availability, paint))]
      : []),
    ...(active.variables ?? []).map((variable) => row("  variable", variableText(variable, paint))),
    ...settings.map(([key, value]) => row("  setting", `${shown(key)}: ${shown(asText(value))}`)),
    ...(active.health === null ? [] : healthLines(active.health, paint)),
  ];
}

function installed(
  { source, directory, problem, installed: isThere, name }: ActiveProvider,
  plugins: string,
  paint: Paint,
): string {
  if (!isThere) {
    const place = isProviderName(name)
      ? `put it into ${join(plugins, name)}, or`
      : "no provider can have this name;";
    const remedy = `${place} choose another with 'hermes memory setup'`;
    return `${paint("red", "no:")} ${printable(remedy)}`;
  }
  if (problem !== undefined) return paint("red", shown(problem));
  return source === "bundled" ? "yes, bundled" : `yes, in ${printable(directory ?? plugins)}`;
}

function availability(known: KnownAvailability | null, paint: Paint): string {
  if (known === null) return "not checked yet; 'hermes memory test' checks it";
  const { available, reason, checked_at, checked_by } = known;
  const when =
    checked_at === undefined
      ? ""
      : ` (${localTime(checked_at)}, by ${checked_by}; 'hermes memory test' checks it again)`;
  if (available) return `yes${when}`;
  return `${paint("red", "no:")} ${shown(reason ?? "it gives no reason")}${when}`;
}

function variableText({ variable, is_set, required, url }: Variable, paint: Paint): string {
  if (is_set) return `${variable} is set`;
  return `${variable} ${required ? paint("yellow", "is not set") : "is not set (optional)"}${url === undefined ? "" : `, see ${shown(url)}`}`;
}

function healthLines(health: ProviderHealth, paint: Paint): string[] {
  const { texts, dropped_tasks, stray_errors, last_error } = health;
  const changed = [
    ...(texts.cut > 0 ? [`${texts.cut} cut to the limit`] : []),
    ...(texts.unfenced > 0 ? [`${texts.unfenced} with fences of their own`] : []),
    ...(texts.blocked > 0 ? [counted(texts.blocked, "paragraph kept out", "paragraphs kept out")] : []),
  ];
  const dropped = counted(dropped_tasks, "background task");
  const stray = `${counted(stray_errors, "error")} in work that nobody awaited`;
  const hooks = Object.entries(health.hooks).filter(([, counts]) => counts.calls + counts.skipped > 0);
  return [
    ...(hooks.length > 0 ? [row("  counted", `since ${localTime(health.since)}`)] : []),
    ...hooks.map(([hook, counts]) => row("  calls", `${shown(hook)} ${callsText(counts, paint)}`)),
    ...(changed.length > 0 ? [row("  texts", paint("yellow", changed.join(", ")))] : []),
    ...(dropped_tasks > 0 ? [row("  dropped", paint("yellow", dropped))] : []),
    ...(stray_errors > 0 ? [row("  stray", paint("yellow", stray))] : []),
    ...(last_error === undefined ? [] : [row("  last error", errorText(last_error))]),
  ];
}

function errorText({ at, hook, message }: NonNullable<ProviderHealth["last_error"]>): string {
  return `${localTime(at)}  ${shown(hook)}: ${shown(message)}`;
}

function callsText(
  { calls, failures, timeouts, skipped, total_ms, max_ms }: HookCounts,
  paint: Paint,
): string {
  const bad = [
    ...(failures > 0 ? [`${failures} failed`] : []),
    ...(timeouts > 0 ? [`${timeouts} timed out`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ];
  const times =
    calls > 0 ? `, ${Math.round(total_ms / calls)} ms on average, ${Math.round(max_ms)} ms at most` : "";
  return `${groupThousands(calls)}${times}${bad.length > 0 ? `, ${paint("red", bad.join(", "))}` : ""}`;
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function shown(text: string): string {
  return oneLine(text, TEXT_CHARS);
}

function row(name: string, value: string): string {
  return `${name.padEnd(15)} ${value}`;
}
