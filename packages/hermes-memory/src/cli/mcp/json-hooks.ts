// Edits our hooks in a client's JSON settings; hooks of others in the same lists stay.
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { type ConfigEdit, shapeError } from "./config-edit.ts";
import {
  dataOf,
  itemsOf,
  type JsonDocument,
  memberOf,
  type Node,
  openJson,
  withItem,
  withMember,
  withoutPart,
  withValue,
} from "./json.ts";

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

export function setJsonHooks(text: string, hooks: JsonHooks): ConfigEdit {
  const had = open(text, hooks).own.length > 0;
  const isWanted = (event: string): boolean => hooks.wanted.some((each) => each.event === event);
  const set = hooks.wanted.reduce((now, wanted) => withHook(now, hooks, wanted), text);
  const next = withoutHooks(set, hooks, ({ event, index }) => !isWanted(event) || index > 0);
  if (next === text) return { text, action: "unchanged" };
  return { text: withTop(next, hooks.top), action: had ? "updated" : "added" };
}

export function removeJsonHooks(text: string, hooks: JsonHooks): ConfigEdit {
  if (open(text, hooks).own.length === 0) return { text, action: "absent" };
  return { text: withoutHooks(text, hooks, () => true), action: "removed" };
}

/** Our hooks, as the file has them. */
export function readJsonHooks(text: string, hooks: JsonHooks): readonly Readonly<Record<string, unknown>>[] {
  return open(text, hooks).own.map(({ hook }) => hook);
}

/** What the file holds without our hooks, without lists that are empty then, and with the members that the client requires. */
export function otherSettings(text: string, { layout, top, isOwn }: JsonHooks): Record<string, unknown> {
  const data = dataOf(openJson(text, "jsonc").root);
  const all: Readonly<Record<string, unknown>> = { ...top, ...(isRecord(data) ? data : {}) };
  const { [HOOKS]: hooks, ...others } = all;
  if (!isRecord(hooks)) return all;
  const foreign = (list: unknown): unknown =>
    Array.isArray(list) ? list.filter((hook) => !isRecord(hook) || !isOwn(hook)) : list;
  const foreignGroup = (group: unknown): unknown =>
    isRecord(group) ? { ...group, [HOOKS]: foreign(group[HOOKS]) } : group;
  const lists = Object.entries(hooks).map(([event, list]): [string, unknown] => {
    if (layout === "flat" || !Array.isArray(list)) return [event, foreign(list)];
    return [event, list.map(foreignGroup).filter((group) => !isRecord(group) || !isEmpty(group[HOOKS]))];
  });
  const left = Object.fromEntries(lists.filter(([, list]) => !isEmpty(list)));
  return Object.keys(left).length === 0 ? others : { ...others, [HOOKS]: left };
}

function isEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length === 0;
}

type OwnHook = {
  readonly event: string;
  /** Among our hooks of the event. */
  readonly index: number;
  readonly node: Node;
  readonly hook: Readonly<Record<string, unknown>>;
};

type Opened = JsonDocument & { readonly hooks: Node | undefined; readonly own: readonly OwnHook[] };

function open(text: string, { layout, wanted, isOwn }: JsonHooks): Opened {
  const document = openJson(text, "jsonc");
  const hooks = memberOf(document.root, HOOKS);
  if (hooks && hooks.type !== "object") throw shapeError(`its '${HOOKS}' is not a JSON object`);
  for (const { event } of wanted)
    if ((memberOf(hooks, event)?.type ?? "array") !== "array")
      throw shapeError(`its '${HOOKS}.${event}' is not a list`);
  const own = (hooks?.children ?? []).flatMap(({ children: [key, list] = [] }): OwnHook[] => {
    const nodes =
      layout === "flat" ? itemsOf(list) : itemsOf(list).flatMap((group) => itemsOf(memberOf(group, HOOKS)));
    return nodes
      .map((node) => ({ node, hook: dataOf(node) }))
      .filter((each): each is Pick<OwnHook, "node" | "hook"> => isRecord(each.hook) && isOwn(each.hook))
      .map((each, index) => ({ ...each, event: String(key?.value), index }));
  });
  return { ...document, hooks, own };
}

/** A hook that is there already keeps its place and its group, also one of the user's groups. */
function withHook(
  text: string,
  settings: JsonHooks,
  { event, hook, matcher, outdated = {} }: WantedHook,
): string {
  const { hooks, own, ...document } = open(text, settings);
  const present = own.find((each) => each.event === event);
  if (present) {
    const isKept = ([key, each]: [string, unknown]): boolean => !(key in outdated) || outdated[key] !== each;
    const kept = Object.fromEntries(Object.entries(present.hook).filter(isKept));
    const next = { ...hook, ...kept, ...commandsOf(hook) };
    return isDeepStrictEqual(present.hook, next) ? text : withValue(document, present.node, next);
  }
  const group = matcher === undefined ? { hooks: [hook] } : { matcher, hooks: [hook] };
  const item = settings.layout === "flat" ? hook : group;
  if (hooks === undefined) return withMember(document, document.root, HOOKS, { [event]: [item] });
  const list = memberOf(hooks, event);
  return list ? withItem(document, list, item) : withMember(document, hooks, event, [item]);
}

/** Everything else of a hook, such as its time limit, the user may have changed. */
function commandsOf(hook: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = ["command", "commandWindows", "bash", "powershell"];
  return Object.fromEntries(Object.entries(hook).filter(([key]) => names.includes(key)));
}

function withTop(text: string, top: JsonHooks["top"]): string {
  return Object.entries(top).reduce((now, [key, value]) => {
    const document = openJson(now, "jsonc");
    return memberOf(document.root, key) ? now : withMember(document, document.root, key, value);
  }, text);
}

/** Removes hooks of ours, and groups, lists and the `hooks` member that are empty then. */
function withoutHooks(text: string, hooks: JsonHooks, isUnwanted: (hook: OwnHook) => boolean): string {
  const { own, ...document } = open(text, hooks);
  const unwanted = own.findLast(isUnwanted);
  if (!unwanted) return text;
  return withoutHooks(withoutPart(document, outermost(unwanted.node)), hooks, isUnwanted);
}

/** The hook, or what holds nothing else: its group, its event, all hooks. */
function outermost(part: Node): Node {
  const list = part.parent;
  const member = list?.parent;
  const owner = member?.parent;
  if (!member || !owner?.parent || list?.children?.length !== 1) return part;
  if (owner.parent.type === "array") return outermost(owner);
  return owner.children?.length === 1 ? owner.parent : member;
}
