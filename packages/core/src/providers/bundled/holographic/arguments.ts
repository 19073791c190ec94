// Tool arguments as models send them: numbers may be text, and null means absent.
import { codePointLength } from "../../../lib/index.ts";

export type Arguments = Readonly<Record<string, unknown>>;

/** Told to the model as `{"error": message}`. */
export class ArgumentError extends Error {}

export function requiredText(args: Arguments, key: string): string {
  const value = optionalText(args, key);
  if (value === undefined) throw missing(key);
  return value;
}

export function optionalText(args: Arguments, key: string): string | undefined {
  const value = args[key] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new ArgumentError(`'${key}' must be a text`);
}

/** One text with commas; models also send a list. */
export function tagText(args: Arguments): string | undefined {
  const { tags } = args;
  if (Array.isArray(tags)) return tags.map(String).join(",");
  return optionalText(args, "tags");
}

export function entityList(args: Arguments): string[] {
  const { entities } = args;
  if (!Array.isArray(entities) || entities.length === 0)
    throw new ArgumentError("reason requires 'entities' list");
  if (entities.length > MOST_ENTITIES)
    throw new ArgumentError(`'entities' may name ${MOST_ENTITIES}, but names ${entities.length}`);
  return entities.map((entity) => entityName(String(entity)));
}

/** No name of anything is longer, and every character is hashed. */
const MOST_NAME_CHARS = 200;
const MOST_ENTITIES = 20;

export function entityName(name: string): string {
  if (codePointLength(name) > MOST_NAME_CHARS)
    throw new ArgumentError(`an entity's name may have ${MOST_NAME_CHARS} characters`);
  return name;
}

export function optionalNumber(args: Arguments, key: string): number | undefined {
  const value = args[key] ?? undefined;
  if (value === undefined) return undefined;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number))
    throw new ArgumentError(`'${key}' must be a number, but is ${shown(value)}`);
  return number;
}

export function optionalInteger(args: Arguments, key: string): number | undefined {
  const number = optionalNumber(args, key);
  if (number === undefined) return undefined;
  if (!Number.isSafeInteger(Math.trunc(number)))
    throw new ArgumentError(`'${key}' must be a whole number, but is ${shown(args[key])}`);
  return Math.trunc(number);
}

export function requiredInteger(args: Arguments, key: string): number {
  const value = optionalInteger(args, key);
  if (value === undefined) throw missing(key);
  return value;
}

export function missing(key: string): ArgumentError {
  return new ArgumentError(`Missing required argument: '${key}'`);
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 60);
}
