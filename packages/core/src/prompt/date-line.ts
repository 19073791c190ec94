// The day a conversation started. Never the time of day: the prompt has to stay the same for as long as possible.
import { isTimeZone, pyStrip } from "../lib/index.ts";

export type PromptDate = {
  readonly now: Date;
  /** IANA name; undefined for the machine's own zone. */
  readonly timeZone?: string | undefined;
};

export function dateLine({ now, timeZone }: PromptDate): string {
  const format = new Intl.DateTimeFormat("en-US", {
    ...(timeZone === undefined ? {} : { timeZone }),
    calendar: "gregory",
    numberingSystem: "latn",
    weekday: "long",
    year: "numeric",
    month: "long",
    day: "2-digit",
  });
  const parts = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]));
  return `Conversation started: ${parts.weekday}, ${parts.month} ${parts.day}, ${parts.year}`;
}

export type TimeZoneChoice = {
  readonly timeZone: string | undefined;
  /** One for every name that is no time zone. */
  readonly warnings: readonly string[];
};

/** HERMES_TIMEZONE, then `timezone` of the config, then the machine's own. A name that is none is passed over. */
export function chooseTimeZone(sources: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly configured?: string;
}): TimeZoneChoice {
  const warnings: string[] = [];
  const candidates = [
    { name: sources.env.HERMES_TIMEZONE, where: "HERMES_TIMEZONE" },
    { name: sources.configured, where: "timezone in config.yaml" },
  ];
  for (const { name, where } of candidates) {
    const timeZone = pyStrip(name ?? "");
    if (timeZone === "") continue;
    if (isTimeZone(timeZone)) return { timeZone, warnings };
    warnings.push(
      `${where} is '${timeZone}', which is no known time zone, so it was ignored. Use a name like Europe/Vienna.`,
    );
  }
  return { timeZone: undefined, warnings };
}
