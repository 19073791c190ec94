// /memory, /skills and /curator from inside the chat. Changes of memory are on disk at once and in the prompt of the next session.
import { isApprovalOn, setConfigValue } from "@hermes-memory/core/internal/config";
import {
  type Change,
  committedWrites,
  entryIds,
  formatUsage,
  type HistoryLine,
  MEMORY_TARGETS,
  type MemoryError,
  type MemoryOp,
  type MemoryOpOutcome,
  type MemoryStore,
  type MemoryTarget,
} from "@hermes-memory/core/internal/curated";
import { ifUsable, openHome } from "@hermes-memory/core/internal/memory";
import { areSecretIds } from "@hermes-memory/core/internal/security";
import { diffSkillChange } from "@hermes-memory/core/internal/skills";
import {
  decidedLines,
  decideStaged,
  listStaged,
  nothingStaged,
  type StagedPlace,
  type Subsystem,
  stagedLines,
} from "@hermes-memory/core/internal/staged";
import type { AgentSurface } from "../agent.ts";
import {
  type CommandCall,
  type CommandReply,
  failed,
  localMinute,
  type MaybeReply,
  parseCount,
  type SlashCommand,
  short,
  told,
  withoutQuotes,
} from "./command.ts";

/** `rest` is what the user typed after the action's word. */
type MemoryAction = (call: CommandCall, rest: string) => MaybeReply | Promise<MaybeReply>;

const ACTIONS: Readonly<Record<string, MemoryAction>> = {
  show,
  add,
  remove,
  history: showHistory,
  undo,
  pending: ({ agent }) => pendingReply(agent, "memory"),
  approve: decide("approve"),
  apply: decide("approve"),
  reject: decide("reject"),
  deny: decide("reject"),
  drop: decide("reject"),
  approval,
  mode: approval,
};

export const memoryCommand: SlashCommand = {
  name: "memory",
  group: "memory",
  summary: "show what is remembered, change it, or decide about writes that wait for you",
  usage:
    "[show | add [--user] text | remove [--user] text|--entry n | history [n] | undo [id] | pending | approve id|all | reject id|all | approval on|off]",
  words: ["show", "add", "remove", "history", "undo", "pending", "approve", "reject", "approval"],
  async run(call) {
    const [, word = "", rest = ""] = /^(\S*)\s*(.*)$/s.exec(call.args) ?? [];
    if (word === "") return overview(call);
    const name = word.toLowerCase();
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    return action?.(call, rest);
  },
};

async function overview(call: CommandCall): Promise<CommandReply> {
  const view = await show(call, "");
  if (view.kind !== "text") return view;
  const { records } = listStaged(placeOf(call.agent), { subsystem: "memory" });
  const waiting = records.length === 0 ? [] : ["", ...pendingReply(call.agent, "memory").lines];
  return told([...view.lines, ...waiting], { ...(view.json as object), pending: records });
}

// /memory show

const SHOWN_ENTRY_CHARS = 160;
const TITLES: Readonly<Record<MemoryTarget, string>> = {
  memory: "MEMORY.md, the agent's notes",
  user: "USER.md, about you",
};

async function show({ agent }: CommandCall, rest: string): Promise<CommandReply> {
  const store = await readAnew(agent);
  if (store === undefined) return noMemory();
  const wanted = rest.replace(/^--/, "").toLowerCase();
  const targets = wanted === "" ? MEMORY_TARGETS : MEMORY_TARGETS.filter((target) => target === wanted);
  if (targets.length === 0) return failed("usage", "Usage: /memory show [memory|user]");
  return told(
    [
      ...targets.flatMap((target) => targetLines(store, target)),
      ...store.warnings,
      "The prompt of this session has memory as it was when the session began; changes count from the next one.",
    ],
    Object.fromEntries(targets.map((target) => [target, targetJson(store, target)])),
  );
}

/** Reads the files into a second store: reloading the agent's own store would change what a rebuilt prompt says. */
async function readAnew({ memory, person }: AgentSurface): Promise<MemoryStore | undefined> {
  return memory && person.curated();
}

function noMemory(): CommandReply {
  return failed(
    "unavailable",
    "Curated memory is switched off, or could not be opened.",
    "'hermes memory status' says which; memory.memory_enabled and memory.user_profile_enabled switch it on.",
  );
}

function targetLines(store: MemoryStore, target: MemoryTarget): string[] {
  if (!store.isEnabled(target)) return [`${TITLES[target]}: switched off`];
  const blocked = new Set(store.blockedEntries(target).map(({ index }) => index));
  const entries = store.entries(target).map((text, index) => {
    const mark = blocked.has(index) ? "  [kept out of the prompt]" : "";
    return `  ${index + 1}. ${short(text, SHOWN_ENTRY_CHARS)}${mark}`;
  });
  const head = `${TITLES[target]}: ${formatUsage(store.usage(target))}`;
  return [head, ...(entries.length === 0 ? ["  (empty)"] : entries)];
}

function targetJson(store: MemoryStore, target: MemoryTarget): object {
  const { used, limit } = store.usage(target);
  return {
    enabled: store.isEnabled(target),
    entries: store.entries(target),
    entry_ids: entryIds(target, store.entries(target)),
    used_chars: used,
    char_limit: limit,
  };
}

// /memory add, remove, undo. There is no approval step, because the user who would be asked typed the command. Scanner,
// budget and journal apply as to every write.

const FROM_NEXT_SESSION = "It counts from the next session on; the prompt of this one stays as it is.";
const ENTRY_CHARS = 80;
const HOW_TO_ALLOW =
  "To store it anyway: 'hermes memory add --allow-secret', or set memory.allow_secrets to true and start again.";
const REMOVE_USAGE = "Usage: /memory remove [--user | --target memory|user] text, or --entry and its number";

function add(call: CommandCall, rest: string): Promise<CommandReply> {
  return write(call, rest, "add");
}

/** `--entry 2` is the second entry that '/memory show' lists. A bare number could mean that or a text, so it is refused. */
async function remove(call: CommandCall, rest: string): Promise<CommandReply> {
  const [, before = "", number, behind = ""] = /^(.*?)--entry[ =](\d{1,9})(?:\s+(.*))?$/s.exec(rest) ?? [];
  if (number === undefined) return write(call, rest, "remove");
  const place = targetOf(`${before}${behind}`.trim());
  const memory = call.agent.memory;
  if (memory === undefined) return noMemory();
  if (place === undefined || place.text !== "") return failed("usage", REMOVE_USAGE);
  const oldText = (await readAnew(call.agent))?.entries(place.target)[Number(number) - 1];
  if (oldText === undefined)
    return failed("no_match", `There is no entry ${number}.`, "'/memory show' lists the entries.");
  return apply(call.agent, memory, place.target, { action: "remove", oldText, match: "entry" });
}

async function undo({ agent }: CommandCall, rest: string): Promise<CommandReply> {
  const { memory } = agent;
  if (memory === undefined) return noMemory();
  if (/\s/.test(rest)) return failed("usage", "Usage: /memory undo [id]", "'/memory history' shows the ids.");
  const asked = rest === "" ? {} : { id: rest };
  const candidate = memory.undoCandidate(asked);
  // By its id from here on: a write that another process makes in between must not be undone instead.
  const chosen = candidate === undefined ? asked : { id: candidate.id, target: candidate.target };
  const outcome = await memory.undo(chosen, metaOf(agent));
  if (!outcome.ok) return refusal(outcome.error);
  for (const each of committedWrites(outcome.value)) agent.noteMemoryWrite(each);
  return written(outcome.value, { undone: candidate?.id ?? null });
}

function refusal(error: MemoryError): CommandReply {
  const listed = (entries: readonly string[]): string[] =>
    entries.map((entry) => `  ${short(entry, ENTRY_CHARS)}`);
  switch (error.kind) {
    case "ambiguous":
      return failed(error.kind, error.message, ...listed(error.matches));
    case "over_limit":
      return failed(
        error.kind,
        error.message,
        "'/memory show' lists the entries, '/memory remove' takes one out.",
      );
    case "drift":
      return failed(error.kind, error.message, error.remediation);
    case "blocked":
      return failed(error.kind, error.message, ...(areSecretIds(error.ids) ? [HOW_TO_ALLOW] : []));
    default:
      return failed(error.kind, error.message);
  }
}

async function write({ agent }: CommandCall, rest: string, action: "add" | "remove"): Promise<CommandReply> {
  if (agent.memory === undefined) return noMemory();
  const place = targetOf(rest);
  const text = withoutQuotes(place?.text ?? "");
  if (place === undefined || text === "")
    return failed("usage", `Usage: /memory ${action} [--user | --target memory|user] text`);
  if (action === "add") return apply(agent, agent.memory, place.target, { action, content: text });
  if (text === place.text && /^#?\d{1,7}\.?$/.test(text)) {
    const number = text.replace(/\D/g, "");
    return failed(
      "usage",
      `'${text}' is a number, not a text.`,
      `'/memory remove --entry ${number}' removes entry ${number} of '/memory show'; '/memory remove "${number}"' the one with this text.`,
    );
  }
  return apply(agent, agent.memory, place.target, { action, oldText: text });
}

async function apply(
  agent: AgentSurface,
  memory: MemoryStore,
  target: MemoryTarget,
  asked: MemoryOp,
): Promise<CommandReply> {
  const named = asked.action === "add" ? undefined : memory.resolve(target, asked);
  if (named && !named.ok) return refusal(named.error);
  const op = named?.value.op ?? asked;
  const outcome = await memory.apply(target, op, metaOf(agent));
  if (!outcome.ok) return refusal(outcome.error);
  for (const each of committedWrites(outcome.value)) agent.noteMemoryWrite(each);
  return written(outcome.value, {});
}

function metaOf(agent: AgentSurface): { readonly origin: "cli"; readonly sessionId: string } {
  return { origin: "cli", sessionId: agent.sessionId };
}

function written(outcome: MemoryOpOutcome, more: object): CommandReply {
  const { target, message, usedChars, charLimit, warning, changeId, archived = [], removed = [] } = outcome;
  const usage = formatUsage({ used: usedChars, limit: charLimit });
  const change = changeId === undefined ? "" : `, change ${changeId}`;
  return told(
    [
      `${message} (${target} ${usage}${change})`,
      ...removed.map((entry) => `- ${entry}`),
      ...archived.map((entry) => `Moved to the archive to make room: ${short(entry, ENTRY_CHARS)}`),
      ...(warning === undefined ? [] : [warning]),
      ...(changeId === undefined ? [] : [FROM_NEXT_SESSION]),
    ],
    { success: true, target, message, usage, change_id: changeId ?? null, archived, removed, ...more },
  );
}

type Place = { readonly target: MemoryTarget; readonly text: string };

/** Undefined for an unknown target. A text that begins with a dash has to follow `--`. */
function targetOf(rest: string): Place | undefined {
  if (/^--(?=\s)/.test(rest)) return { target: "memory", text: rest.slice(2).trim() };
  const [named, behind = ""] = /^--(user|memory)(?:\s+(.*))?$/is.exec(rest)?.slice(1) ?? [];
  if (named !== undefined)
    return { target: named.toLowerCase() === "user" ? "user" : "memory", text: behind };
  const [, target, text = ""] = /^(?:--target|-t)[ =]\s*(user|memory)(?:\s+(.*))?$/is.exec(rest) ?? [];
  if (target !== undefined) return targetOf(`--${target} ${text}`);
  return /^(?:--|-t\b)/.test(rest) ? undefined : { target: "memory", text: rest };
}

// /memory history

const DEFAULT_HISTORY = 10;

function showHistory({ agent }: CommandCall, rest: string): CommandReply {
  if (agent.memory === undefined) return noMemory();
  const count = rest === "" ? DEFAULT_HISTORY : parseCount(rest);
  if (count === undefined) return failed("usage", "Usage: /memory history [how many]");
  const lines = agent.memory.history({ limit: count });
  if (lines.length === 0) return told(["Nothing has been changed yet."], { changes: [] });
  return told([...lines.flatMap(historyLines), "'/memory undo <id>' takes one back."], { changes: lines });
}

function historyLines(line: HistoryLine): string[] {
  const { id, time, target, origin, action, changes } = line;
  const head = `${localMinute(Date.parse(time) / 1000)}  ${id}  ${target}  ${origin}  ${action}${markOf(line)}`;
  return [head, ...changes.map((change) => `  ${changeText(change)}`)];
}

/** The journal keeps only the kind of refusal, not the refused text. */
function markOf({ status, undone_by, refusal }: HistoryLine): string {
  const marks = {
    committed: "",
    undone: `  [undone by ${undone_by}]`,
    aborted: "  [never took effect]",
    refused: `  [refused: ${refusal?.error}]`,
  };
  return marks[status];
}

function changeText({ before, after }: Change): string {
  const text = (entry: string): string => short(entry, ENTRY_CHARS);
  if (before === null) return `+ ${text(after ?? "")}`;
  return after === null ? `- ${text(before)}` : `~ ${text(before)} -> ${text(after)}`;
}

// /memory pending, approve, reject, approval: writes that wait for the user's decision.

function decide(decision: "approve" | "reject"): MemoryAction {
  return ({ agent }, asked) => {
    if (asked === "" || /\s/.test(asked)) return undefined;
    if (decision === "approve" && agent.memory === undefined) return noMemory();
    return decisionReply(agent, "memory", decision, asked);
  };
}

const ON: ReadonlySet<string> = new Set(["on", "true", "yes", "1", "enable", "enabled"]);
const OFF: ReadonlySet<string> = new Set(["off", "false", "no", "0", "disable", "disabled"]);

async function approval({ agent, host }: CommandCall, rest: string): Promise<CommandReply> {
  const value = rest.toLowerCase();
  if (value === "") {
    const stored = await ifUsable(openHome({ home: agent.home }).memoryConfig()); // reads config.yaml again
    const now = host.config.memory.writeApproval;
    const isOn = stored?.writeApproval ?? now;
    const lines = [`memory.write_approval = ${word(isOn)}`];
    if (isOn !== now)
      lines.push(`This agent was started with '${word(now)}' and keeps it until it is started again.`);
    return told(lines, { write_approval: isOn, in_use: now });
  }
  if (!ON.has(value) && !OFF.has(value))
    return failed("usage", `Invalid value '${short(rest, 40)}'. Use: on or off.`);
  if (agent.user !== undefined)
    return failed(
      "denied",
      "Only the owner of this home can change memory.write_approval: it holds for every user.",
      "The owner sets it with 'hermes config set memory.write_approval on|off'.",
    );
  const isOn = ON.has(value);
  const outcome = await setConfigValue(agent.home, "memory.write_approval", String(isOn));
  if (!outcome.ok) return failed(outcome.error.kind, outcome.error.message);
  return told(
    [`memory.write_approval set to '${word(isOn)}'.`, "It counts when the agent is started the next time."],
    { write_approval: isApprovalOn(outcome.value.value), in_use: host.config.memory.writeApproval },
  );
}

function word(isOn: boolean): string {
  return isOn ? "on" : "off";
}

// Writes of memory and changes of skills that wait for the user's decision.

function placeOf(agent: AgentSurface): StagedPlace {
  const { home, memory, skills, sessionId, person } = agent;
  return {
    home,
    pendingDirectory: person.pendingDirectory,
    curated: async () => memory,
    skills: async () => skills,
    sessionId,
    onCommitted: (write, origin) => agent.noteMemoryWrite(write, origin),
  };
}

function pendingReply(agent: AgentSurface, subsystem: Subsystem): CommandReply {
  const { records, skipped } = listStaged(placeOf(agent), { subsystem });
  const lines = stagedLines(subsystem, records, `/${subsystem}`);
  return told([...lines, ...skipped.map((name) => `${name} is not a staged write.`)], {
    pending: records,
    skipped,
  });
}

/** `asked`: an id, or `all`. */
async function decisionReply(
  agent: AgentSurface,
  subsystem: Subsystem,
  decision: "approve" | "reject",
  asked: string,
): Promise<CommandReply> {
  const place = placeOf(agent);
  const isAll = asked.toLowerCase() === "all";
  if (isAll && listStaged(place, { subsystem }).records.length === 0)
    return told([nothingStaged(subsystem)], { success: true, pending: [] });
  const choice = isAll ? { subsystem } : { subsystem, id: asked };
  const outcome = await decideStaged(decision, choice, place);
  if (!outcome.ok) return failed(outcome.error.kind, short(outcome.error.message, 200));
  const { done, failed: failures } = outcome.value;
  const isSaved = decision === "approve" && subsystem === "memory" && done.length > 0;
  const isDone = failures.length === 0;
  return {
    kind: isDone ? "text" : "error",
    lines: [
      ...decidedLines(decision, choice, outcome.value),
      ...(isSaved ? ["What was saved counts from the next session on."] : []),
    ],
    json: {
      success: isDone,
      [decision === "approve" ? "approved" : "rejected"]: done.map(({ id }) => id),
      removed: done.flatMap(({ removed = [], archived = [] }) => [...removed, ...archived]),
      failed: failures,
    },
  };
}

// /skills and /curator: list skills, decide about staged changes, tidy up.

const SUMMARY_CHARS = 200;

export const skillsCommand: SlashCommand = {
  name: "skills",
  group: "memory",
  summary: "list skills, and decide about changes that wait for approval",
  usage: "[list | pending | diff ID | approve ID|all | reject ID|all]",
  words: ["list", "pending", "diff", "approve", "reject"],
  run: (call) => {
    const [word = "", id = "", ...more] = call.args.split(/\s+/);
    const isOne = id !== "" && more.length === 0;
    if (word === "" || word === "list") return listSkills(call);
    if (word === "pending") return pendingReply(call.agent, "skills");
    if (word === "diff" && isOne) return diff(call, id);
    if (["approve", "apply"].includes(word) && isOne)
      return decisionReply(call.agent, "skills", "approve", id);
    if (["reject", "deny", "drop"].includes(word) && isOne)
      return decisionReply(call.agent, "skills", "reject", id);
    return undefined;
  },
};

async function listSkills(call: CommandCall): Promise<CommandReply> {
  const { skills } = await call.agent.skills.visible();
  const waiting = listStaged(placeOf(call.agent), { subsystem: "skills" }).records.length;
  const lines = [
    ...(skills.length === 0
      ? [`There are no skills yet. They live in ${call.agent.skills.directory}.`]
      : skills.map(({ name, header }) => `  ${name}  ${short(header.description, SUMMARY_CHARS)}`)),
    ...(waiting === 0 ? [] : [`${waiting} change(s) wait for approval: /skills pending`]),
    `skills.write_approval = ${isApprovalOn(call.host.config.skills.writeApproval) ? "on" : "off"}`,
  ];
  const json = skills.map(({ name, category, header }) => ({
    name,
    category,
    description: header.description,
  }));
  return told(lines, { skills: json, pending: waiting });
}

async function diff({ agent }: CommandCall, id: string): Promise<CommandReply> {
  const shown = await diffSkillChange(agent.skills, id);
  return shown.ok
    ? told(shown.value, { id, diff: shown.value })
    : failed(shown.error.kind, shown.error.message);
}

/** The entrance runs the `hermes curator` commands, so flags and answers are the same as in a shell. */
export const curatorCommand: SlashCommand = {
  name: "curator",
  group: "memory",
  summary: "tidy memory and skills: status, runs, staged changes, rollback",
  usage: "[status | run [--dry-run] | approve | reject | rollback | history | pause | resume | ...]",
  words: ["status", "run", "approve", "reject", "rollback", "history", "pause", "resume", "backup"],
  run: ({ args, host }) => {
    if (host.runCurator === undefined)
      return failed(
        "no_command_line",
        "The curator cannot be run from here.",
        "Use 'hermes curator' in a shell.",
      );
    return host.runCurator(args === "" ? ["status"] : args.split(/\s+/));
  },
};
