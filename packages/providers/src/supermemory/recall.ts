// What Supermemory's answers become: facts, lines with age and similarity, and the block that recall puts into a turn. No network.
import { pyStrip, takeCodePoints } from "@hermes-memory/core/internal/lib";
import { sanitizeContext } from "@hermes-memory/core/internal/security";
import { fieldsOf, numberIn, outgoing, recordsOf, textIn, textsIn } from "../kit/networked/answers.ts";

import type { Recalled } from "../kit/networked/service.ts";
import { fitChars } from "../kit/provider-mode.ts";

const BLOCK = "supermemory-context";
const INTRO =
  "Background from long-term memory. Use it silently where it helps with the message, and do not force it into the answer.";
/** A hit can be a piece of a document. */
const MAX_HIT_CHARS = 2_000;

const OWN_BLOCKS = /<(supermemory-context|supermemory-containers)>[\s\S]*?<\/\1>\s*/gi;
const OWN_TAGS = /<\/?\s*supermemory-(?:context|containers)\s*>/gi;

/** A text for the server, without what recall or the prompt put into it. */
export function withoutInjected(text: string): string {
  return outgoing(text.replace(OWN_BLOCKS, ""));
}

export type Hit = {
  readonly id: string;
  readonly text: string;
  /** 0 to 1. */
  readonly similarity?: number;
  readonly updatedAt?: string;
};

export type Profile = {
  readonly facts: readonly string[];
  readonly recent: readonly string[];
  readonly hits: readonly Hit[];
};

/** Of a search, or of `searchResults` of a profile. A memory has `memory`, a piece of a document `chunk`. */
export function hitsIn(value: unknown): readonly Hit[] {
  return recordsOf(fieldsOf(value).results).flatMap((hit): Hit[] => {
    const text = pyStrip(textIn(hit.memory) || textIn(hit.chunk));
    if (text === "") return [];
    return [
      {
        id: textIn(hit.id),
        text,
        similarity: numberIn(hit.similarity),
        updatedAt: textIn(hit.updatedAt) || undefined,
      },
    ];
  });
}

export function profileIn(value: unknown): Profile {
  const { profile, searchResults } = fieldsOf(value);
  const filled = (texts: unknown) =>
    textsIn(texts)
      .map(pyStrip)
      .filter((text) => text !== "");
  return {
    facts: filled(fieldsOf(profile).static),
    recent: filled(fieldsOf(profile).dynamic),
    hits: hitsIn(searchResults),
  };
}

export type Shown = {
  readonly hasProfile: boolean;
  readonly maxResults: number;
  readonly maxChars: number;
  readonly now: Date;
};

/** A text that is in two lists is shown in the first of them. */
export function formatRecall(profile: Profile, { hasProfile, maxResults, maxChars, now }: Shown): Recalled {
  const { sections, count } = sectionsOf(profile, { hasProfile, maxResults, now });
  if (count === 0) return { text: "", count };
  const body = sections.join("\n\n");
  const head = `<${BLOCK}>\n${INTRO}\n\n`;
  const tail = `\n</${BLOCK}>`;
  const room = maxChars - head.length - tail.length;
  // In a very small budget the lines matter more than the block around them.
  return { text: room < 40 ? fitChars(body, maxChars) : head + fitChars(body, room) + tail, count };
}

/** For `supermemory_profile`. */
export function formatProfile(profile: Profile, now: Date): string {
  return sectionsOf(profile, { hasProfile: true, maxResults: 100, now }).sections.join("\n\n");
}

function sectionsOf(
  { facts, recent, hits }: Profile,
  { hasProfile, maxResults, now }: Omit<Shown, "maxChars">,
): { readonly sections: readonly string[]; readonly count: number } {
  const seen = new Set<string>();
  const isNew = (text: string): boolean => {
    if (text === "" || seen.has(text)) return false;
    seen.add(text);
    return true;
  };
  const plain = (texts: readonly string[]) =>
    hasProfile ? texts.map(oneLine).filter(isNew).slice(0, maxResults) : [];
  const lists: readonly (readonly [title: string, lines: readonly string[]])[] = [
    ["User Profile (Persistent)", plain(facts)],
    ["Recent Context", plain(recent)],
    [
      "Relevant Memories",
      hits
        .map((hit) => ({ ...hit, text: oneLine(hit.text) }))
        .filter(({ text }) => isNew(text))
        .slice(0, maxResults)
        .map((hit) =>
          [ageOf(hit.updatedAt, now), percentOf(hit), hit.text].filter((part) => part !== "").join(" "),
        ),
    ],
  ];
  const filled = lists.filter(([, lines]) => lines.length > 0);
  return {
    sections: filled.map(([title, lines]) => `## ${title}\n${lines.map((line) => `- ${line}`).join("\n")}`),
    count: filled.reduce((sum, [, lines]) => sum + lines.length, 0),
  };
}

/** One line, so that a stored text cannot pretend to be a section, and without our tags, so that it cannot end the block. */
function oneLine(text: string): string {
  return takeCodePoints(
    pyStrip(sanitizeContext(text).replace(OWN_TAGS, " ").replace(/\s+/g, " ")),
    MAX_HIT_CHARS,
  );
}

function percentOf({ similarity }: Hit): string {
  return similarity === undefined ? "" : `[${Math.round(similarity * 100)}%]`;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** "[just now]", "[5h ago]", "[03 Feb 2025]"; "" for an unknown time. */
export function ageOf(updatedAt: string | undefined, now: Date): string {
  const at = new Date(updatedAt ?? "");
  const age = now.getTime() - at.getTime();
  if (Number.isNaN(age)) return "";
  if (age < 30 * MINUTE) return "[just now]";
  if (age < HOUR) return `[${Math.floor(age / MINUTE)}m ago]`;
  if (age < DAY) return `[${Math.floor(age / HOUR)}h ago]`;
  if (age < 7 * DAY) return `[${Math.floor(age / DAY)}d ago]`;
  const day = `${String(at.getUTCDate()).padStart(2, "0")} ${MONTHS[at.getUTCMonth()]}`;
  return at.getUTCFullYear() === now.getUTCFullYear() ? `[${day}]` : `[${day} ${at.getUTCFullYear()}]`;
}
