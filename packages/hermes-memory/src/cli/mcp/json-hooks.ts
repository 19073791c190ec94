// Edits our hooks in a client's JSON settings and leaves every other byte unchanged, also hooks of others in the same lists.
import { isDeepStrictEqual } from "node:util";
import { err, isRecord, ok, type Result } from "@hermes-memory/core/internal/lib";
import type { ConfigEdit, EditFailure } from "./config-edit.ts";
import {
  appendItem,
  appendMember,
  dataOf,
  indentAt,
  type JsonNode,
  memberOf,
  parseJsonDocument,
  render,
  splice,
  styleOf,
  withoutPart,
} from "./json-document.ts";

const HOOKS = "hooks";

export type JsonHooks = {
  /** `groups`: an event has a list of groups, and a group its own `hooks` list. `flat`: an event has a list of hooks. */
  readonly layout: "groups" | "flat";
  /** Members at the top that the client requires, such as `version`. */
  readonly top: Readonly<Record<string, unknown>>;
  readonly wanted: readonly WantedHook[];
  readonly isOwn: (hook: Readonly<Record<string, unknown>>) => boolean;
};

type WantedHook = {
  readonly event: string;
  readonly hook: Readonly<Record<string, unknown>>;
  /** Only in the layout `groups`. */
  readonly matcher?: string;
  /** Members that earlier versions wrote and that are replaced; other values are the user's own and stay. */
  readonly outdated?: Readonly<Record<string, unknown>>;
};

export function setJsonHooks(text: string, hooks: JsonHooks): Result<ConfigEdit, EditFailure> {
  const opened = open(text, hooks);
  if (!opened.ok) return opened;
  const had = opened.value.own.length > 0;
  let next = text.trim() === "" ? "{}\n" : text;
  for (const wanted of hooks.wanted) next = withHook(next, hooks, wanted);
  next = withoutHooks(next, hooks, ({ event, index }) => {
    const isWanted = hooks.wanted.some((each) => each.event === event);
    return !isWanted || index > 0;
  });
  if (next === text) return ok({ text, action: "unchanged" });
  return ok({ text: withTop(next, hooks.top), action: had ? "updated" : "added" });
}

export function removeJsonHooks(text: string, hooks: JsonHooks): Result<ConfigEdit, EditFailure> {
  const opened = open(text, hooks);
  if (!opened.ok) return opened;
  if (opened.value.own.length === 0) return ok({ text, action: "absent" });
  return ok({ text: withoutHooks(text, hooks, () => true), action: "removed" });
}

/** Our hooks, as the file has them. */
export function readJsonHooks(
  text: string,
  hooks: JsonHooks,
): Result<readonly Readonly<Record<string, unknown>>[], EditFailure> {
  const found = open(text, hooks);
  return found.ok ? ok(found.value.own.map(({ node }) => dataOf(text, node)).filter(isRecord)) : found;
}

/** Whether nothing but required members is left, so that a file with hooks only can be deleted. */
export function holdsNoHooks(text: string, { top }: JsonHooks): boolean {
  const root = parseJsonDocument(text, "relaxed");
  return root.ok && (root.value.members?.every(({ key }) => key in top) ?? false);
}

/** A hook of ours, with the lists it is in. */
type OwnHook = {
  readonly event: string;
  /** Among our hooks of the event. */
  readonly index: number;
  readonly node: JsonNode;
  readonly list: JsonNode;
  readonly at: number;
  /** The list of groups around it, in that layout. */
  readonly outer?: { readonly list: JsonNode; readonly at: number };
};

type Opened = {
  readonly root: JsonNode;
  readonly hooks: JsonNode | undefined;
  readonly own: readonly OwnHook[];
};

function open(text: string, hooks: JsonHooks): Result<Opened, EditFailure> {
  const source = text.trim() === "" ? "{}\n" : text;
  const root = parseJsonDocument(source, "relaxed");
  if (!root.ok) return err({ kind: "syntax", ...root.error });
  if (root.value.members === undefined) return err({ kind: "shape", reason: "it holds no JSON object" });
  const found = memberOf(root.value, HOOKS)?.value;
  if (found && found.members === undefined)
    return err({ kind: "shape", reason: `its '${HOOKS}' is not a JSON object` });
  const wrong = hooks.wanted.find(({ event }) => {
    const list = found && memberOf(found, event)?.value;
    return list !== undefined && list.items === undefined;
  });
  if (wrong) return err({ kind: "shape", reason: `its '${HOOKS}.${wrong.event}' is not a list` });
  return ok({ root: root.value, hooks: found, own: ownHooks(source, found, hooks) });
}

function opened(text: string, hooks: JsonHooks): Opened {
  const outcome = open(text, hooks);
  if (!outcome.ok) throw new Error("an edit broke the document");
  return outcome.value;
}

function ownHooks(
  text: string,
  found: JsonNode | undefined,
  { layout, isOwn }: Pick<JsonHooks, "layout" | "isOwn">,
): OwnHook[] {
  return (found?.members ?? []).flatMap(({ key: event, value: events }) => {
    const lists =
      layout === "flat"
        ? [{ list: events }]
        : (events.items ?? []).flatMap((group, at) => {
            const list = memberOf(group, HOOKS)?.value;
            return list ? [{ list, outer: { list: events, at } }] : [];
          });
    return lists
      .flatMap(({ list, ...outer }) => (list.items ?? []).map((node, at) => ({ node, list, at, ...outer })))
      .filter(({ node }) => {
        const value = dataOf(text, node);
        return isRecord(value) && isOwn(value);
      })
      .map((own, index) => ({ ...own, event, index }));
  });
}

/** A hook that is there already keeps its place and its group, also one of the user's groups. */
function withHook(text: string, hooks: JsonHooks, wanted: WantedHook): string {
  const { event, hook, matcher, outdated = {} } = wanted;
  const { root, hooks: found, own } = opened(text, hooks);
  const style = styleOf(text, root);
  const present = own.find((each) => each.event === event);
  if (present) {
    const value = dataOf(text, present.node);
    const isKept = ([key, each]: [string, unknown]): boolean => !(key in outdated) || outdated[key] !== each;
    const kept = isRecord(value) ? Object.fromEntries(Object.entries(value).filter(isKept)) : {};
    const next = { ...hook, ...kept, ...commandsOf(hook) };
    if (isDeepStrictEqual(value, next)) return text;
    const { start, end } = present.node;
    return splice(text, start, end, render(next, style, indentAt(text, start)));
  }
  const item =
    hooks.layout === "flat" ? hook : { ...(matcher === undefined ? {} : { matcher }), hooks: [hook] };
  if (found === undefined) return appendMember(text, root, HOOKS, { [event]: [item] }, style);
  const list = memberOf(found, event)?.value;
  return list ? appendItem(text, list, item, style) : appendMember(text, found, event, [item], style);
}

/** Everything else of a hook, such as its time limit, the user may have changed. */
function commandsOf(hook: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = ["command", "commandWindows", "bash", "powershell"];
  return Object.fromEntries(Object.entries(hook).filter(([key]) => names.includes(key)));
}

function withTop(text: string, top: JsonHooks["top"]): string {
  return Object.entries(top).reduce((now, [key, value]) => {
    const root = parseJsonDocument(now, "relaxed");
    if (!root.ok) throw new Error("an edit broke the document");
    return memberOf(root.value, key)
      ? now
      : appendMember(now, root.value, key, value, styleOf(now, root.value));
  }, text);
}

/** Removes hooks of ours, and groups, lists and the `hooks` member that are empty then. */
function withoutHooks(text: string, hooks: JsonHooks, isUnwanted: (hook: OwnHook) => boolean): string {
  let next = text;
  for (;;) {
    const { root, hooks: found, own } = opened(next, hooks);
    const unwanted = own.findLast(isUnwanted);
    if (!unwanted || !found) return next;
    next = withoutShells(next, unwanted, { root, found });
  }
}

function withoutShells(
  text: string,
  { event, list, at, outer }: OwnHook,
  { root, found }: { readonly root: JsonNode; readonly found: JsonNode },
): string {
  if (list.items?.length !== 1) return withoutPart(text, list, at);
  if (outer && outer.list.items?.length !== 1) return withoutPart(text, outer.list, outer.at);
  const members = found.members ?? [];
  if (members.length !== 1)
    return withoutPart(
      text,
      found,
      members.findLastIndex(({ key }) => key === event),
    );
  return withoutPart(text, root, root.members?.findLastIndex(({ key }) => key === HOOKS) ?? -1);
}
