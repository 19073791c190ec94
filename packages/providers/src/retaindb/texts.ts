// Texts that reach the model: recall, the prompt block, and answers of the server without vectors and internals.
import { isRecord, pyStrip, takeCodePoints } from "@hermes-memory/core/internal/lib";
import { type Fields, fieldsOf, numberIn, recordsOf, textIn, textsIn } from "../kit/networked/answers.ts";
import type { Recalled } from "../kit/networked/service.ts";
import { hasTools, modeSentence } from "../kit/provider-mode.ts";
import type { RetainDbSettings } from "./settings.ts";

const ITEM_CHARS = 320;
const ITEMS_PER_SECTION = 5;

export function promptBlock({ project, mode }: Pick<RetainDbSettings, "project" | "mode">): string {
  const tools =
    "retaindb_search finds memories, retaindb_remember stores one, retaindb_profile gives an overview of the user, " +
    "retaindb_context gives what matters for a task; retaindb_upload_file and its siblings keep files.";
  return [
    "# RetainDB Memory",
    `A memory at RetainDB (project ${project}) that outlives this conversation. ${modeSentence(mode)}`,
    ...(hasTools(mode) ? [tools] : []),
  ].join("\n");
}

// ---- Recall ----

/** One line of at most 320 characters. */
export function compact(text: string): string {
  return takeCodePoints(pyStrip(text.replace(/\s+/gu, " ")), ITEM_CHARS);
}

/** Texts with the same form say the same. A text without letters and digits is its own form. */
function compareForm(text: string): string {
  const form = text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim();
  return form === "" ? text : form;
}

/** Profile and search results, each text once; texts that are `known` to the reader are left out. */
export function overlayOf(profile: unknown, found: unknown, known: readonly string[] = []): Recalled {
  const seen = new Set(known.map((text) => compareForm(compact(text))));
  const section = (records: readonly Fields[]): readonly string[] =>
    records
      .slice(0, ITEMS_PER_SECTION)
      .map((record) => compact(contentOf(record)))
      .filter((text) => {
        const form = compareForm(text);
        if (text === "" || seen.has(form)) return false;
        seen.add(form);
        return true;
      });
  const about = section(recordsOf(fieldsOf(profile).memories));
  const relevant = section(recordsOf(fieldsOf(found).results));
  const count = about.length + relevant.length;
  if (count === 0) return { text: "", count: 0 };
  const bullets = (texts: readonly string[]) =>
    texts.length === 0 ? ["- None"] : texts.map((text) => `- ${text}`);
  const lines = [
    "[RetainDB Context]",
    "Profile:",
    ...bullets(about),
    "Relevant memories:",
    ...bullets(relevant),
  ];
  return { text: lines.join("\n"), count };
}

/** The text of a memory in any list of the server. */
export function contentOf(record: Fields): string {
  return textIn(record.content) || textIn(fieldsOf(record.memory).content);
}

export function synthesisOf(answer: unknown): string {
  const text = pyStrip(textIn(fieldsOf(answer).answer));
  return text === "" ? "" : `[RetainDB User Synthesis]\n${text}`;
}

/** "" for an agent without memories. */
export function selfModelOf(model: unknown): string {
  const fields = fieldsOf(model);
  if (!((numberIn(fields.memory_count) ?? 0) > 0)) return "";
  const persona = compact(textIn(fields.persona));
  const style = compact(textIn(fields.working_style));
  const instructions = textsIn(fields.persistent_instructions)
    .map(compact)
    .filter((text) => text !== "");
  const lines = [
    ...(persona === "" ? [] : [`Persona: ${persona}`]),
    ...(instructions.length === 0 ? [] : ["Instructions:", ...instructions.map((text) => `- ${text}`)]),
    ...(style === "" ? [] : [`Working style: ${style}`]),
  ];
  return lines.length === 0 ? "" : ["[RetainDB Agent Self-Model]", ...lines].join("\n");
}

export type ReasoningLevel = "low" | "medium" | "high";

/** How much thought a question of this many characters gets. */
export function levelFor(chars: number): ReasoningLevel {
  if (chars < 120) return "low";
  return chars < 400 ? "medium" : "high";
}

/** At most `units` UTF-16 units, which is how the server's validator counts; never half a character. */
export function cutUnits(text: string, units: number): string {
  if (text.length <= units) return text;
  const cut = text.slice(0, units);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

// ---- Answers of tools ----

/** Of the whole answer as JSON, in UTF-16 units. */
const ANSWER_UNITS = 60_000;
/** Of each text in it. */
const TEXT_UNITS = 4_000;
const LIST_ITEMS = 200;
/** Numbers for machines: vectors, traces, timings. */
const INTERNAL = /embedding|vector|^(?:trace_id|span_id|latency_ms|context_hash|cache_hit|debug|timings?)$/i;

/** The server's answer without internals, and no longer than a model can use; `truncated` is added when something was left out. */
export function forModel(answer: unknown, units = ANSWER_UNITS): Record<string, unknown> {
  // Half of it, until it fits: lists and texts are what makes an answer long.
  for (let [items, chars] = [LIST_ITEMS, TEXT_UNITS]; items >= 1; items /= 2, chars /= 2) {
    const cut = { isCut: false };
    const value = trimmed(answer, items, Math.floor(chars), cut);
    if (JSON.stringify(value ?? null).length > units) continue;
    const fields = isRecord(value) ? value : { result: value ?? null };
    return cut.isCut ? { ...fields, truncated: true } : fields;
  }
  return { truncated: true };
}

function trimmed(value: unknown, items: number, units: number, cut: { isCut: boolean }): unknown {
  if (Array.isArray(value)) {
    cut.isCut ||= value.length > items;
    return value.slice(0, items).map((item) => trimmed(item, items, units, cut));
  }
  if (isRecord(value)) {
    const shown = Object.entries(value).filter(([key]) => !INTERNAL.test(key));
    return Object.fromEntries(shown.map(([key, each]) => [key, trimmed(each, items, units, cut)]));
  }
  if (typeof value !== "string" || value.length <= units) return value;
  cut.isCut = true;
  return `${cutUnits(value, units)}…`;
}
