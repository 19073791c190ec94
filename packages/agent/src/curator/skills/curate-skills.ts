// The skills part of a run: marks, archive, umbrellas. Every change of a skill is made by `skill_manage`, with its checks and its
// history.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { sha256 } from "@hermes-memory/core/internal/lib";
import {
  changeUsage,
  expectedPath,
  isoTime,
  markReplaced,
  pendingSkillsDirectory,
  provenanceOf,
  readOrigins,
  readPendingSkills,
  readUsage,
  type Skill,
  type SkillStore,
  skillManageTool,
  skillsDirectory,
  type UsageChange,
} from "@hermes-memory/core/internal/skills";
import {
  type CuratorMode,
  type Decided,
  NOTHING,
  type Outcome,
  type RunContext,
  type RunPart,
  type SkillMark,
  type SkillProposal,
} from "../proposals.ts";
import {
  hasAbsorbed,
  isCandidate,
  type Member,
  type Transition,
  transitionOf,
  type UmbrellaDropped,
} from "./skill-rules.ts";

export async function curateSkills(run: RunContext): Promise<RunPart> {
  const { home, clock, owner } = run.memory;
  if (!existsSync(skillsDirectory(home))) return NOTHING;
  const { curator } = await run.memory.config();
  const store = await owner.skills();
  const origins = readOrigins(store);
  if (!origins.isReliable)
    return {
      ...NOTHING,
      notes: ["Skills were left alone: the lists of bundled and hub skills cannot be read."],
    };
  const { skills } = await store.contents();
  const usage = readUsage(store);
  const own = skills.filter((skill) =>
    isCandidate(skill.directoryName, provenanceOf(skill, origins), usage.get(skill.directoryName)),
  );
  const now = clock.now();
  const texts = new Map(own.flatMap(textOf));
  const steps = own.flatMap((skill): { skill: Skill; step: Transition }[] => {
    const record = usage.get(skill.directoryName);
    const step = record && transitionOf(record, now, curator);
    return step === undefined ? [] : [{ skill, step }];
  });
  const archive = steps.filter(({ step }) => step === "archive").map(({ skill }) => skill.directoryName);
  const isFree = (skill: Skill): boolean =>
    !archive.includes(skill.directoryName) && usage.get(skill.directoryName)?.pinned !== true;
  const members = own
    .filter(isFree)
    .flatMap((skill) => memberOf(skill, texts.get(skill.directoryName)) ?? []);
  const notes: string[] = [];
  const umbrellas = await umbrellasOf(members, skills, run, notes);
  const proposals: SkillProposal[] = [
    ...archive.map((name) => archiveProposal(name, `was not used for ${curator.archiveAfterDays} days`)),
    ...absorbed(members),
    ...umbrellas.proposals,
  ];
  const marks = steps.flatMap(({ skill, step }): SkillMark[] =>
    step === "archive" ? [] : [{ skill: skill.directoryName, mark: step }],
  );
  const decided: Decided[] = [];
  const proposed: string[] = [];
  for (const proposal of proposals) {
    const key = sha256(JSON.stringify([proposal.kind, proposal.skills, proposal.into?.name ?? ""]));
    const calls = callsOf(proposal, run.mode, texts, now);
    const outcome = await decide({ proposal, key, calls }, store, run, notes);
    if (outcome.kind === "staged") proposed.push(key);
    decided.push({ proposal, outcome });
  }
  const back = skills.filter(
    (skill) =>
      provenanceOf(skill, origins) === "agent" && usage.get(skill.directoryName)?.state === "archived",
  );
  if (run.mode !== "dry-run") notes.push(...(await mark(store, marks, back)));
  return { ...NOTHING, decided, marks, dropped: umbrellas.dropped, notes, proposed };
}

function archiveProposal(name: string, reason: string): SkillProposal {
  return { layer: "skills", kind: "archive", by: "rules", skills: [name], reason };
}

/** Skills that another skill contains word for word, which is so after an umbrella was approved. */
function absorbed(members: readonly Member[]): SkillProposal[] {
  const gone = new Set<string>();
  return members.flatMap((part): SkillProposal[] => {
    const host = members.find((other) => !gone.has(other.name) && hasAbsorbed(other, part));
    if (!host) return [];
    gone.add(part.name);
    const reason = `is in '${host.name}' word for word`;
    return [{ ...archiveProposal(part.name, reason), into: { name: host.name, isNew: false, content: "" } }];
  });
}

/** The SKILL.md that this run has read. A change is refused if the file has another content by then. */
type SkillText = { readonly path: string; readonly bytes: Uint8Array };
type SkillTexts = ReadonlyMap<string, SkillText>;

function textOf(skill: Skill): readonly (readonly [string, SkillText])[] {
  try {
    return [[skill.directoryName, { path: expectedPath(skill), bytes: readFileSync(skill.file) }]];
  } catch {
    return []; // it was just removed, or cannot be read
  }
}

/** Undefined for a skill with more than its text: moving it would break references to its files. */
function memberOf(skill: Skill, read: SkillText | undefined): Member | undefined {
  if (!read) return undefined;
  const { header } = skill;
  const isBound = [header.platforms, header.environments, header.requiresTools, header.requiresToolsets].some(
    (list) => list.length > 0,
  );
  if (isBound || skill.isFlat || skill.isExternal || skill.name !== skill.directoryName) return undefined;
  try {
    if (readdirSync(skill.directory).some((name) => name !== "SKILL.md" && !name.startsWith(".")))
      return undefined;
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(read.bytes);
    const body = text.replace(/^\ufeff?---\r?\n[\s\S]*?\r?\n---\r?\n/, "");
    return { name: skill.name, description: header.description, text, body };
  } catch {
    return undefined; // it was just removed, or cannot be read
  }
}

async function umbrellasOf(
  members: readonly Member[],
  skills: readonly Skill[],
  { calls, onProgress }: RunContext,
  notes: string[],
): Promise<{ proposals: readonly SkillProposal[]; dropped: readonly UmbrellaDropped[] }> {
  if (!calls || members.length < 2) return { proposals: [], dropped: [] };
  const { askForUmbrellas, judgeUmbrellas } = await import("./umbrellas.ts");
  onProgress?.(`Asking the model about ${members.length} skills.`);
  const asked = await askForUmbrellas(members, calls);
  if (asked.ok)
    return judgeUmbrellas(
      asked.value,
      members,
      new Set(skills.flatMap((each) => [each.name, each.directoryName])),
    );
  notes.push(`The model gave no usable answer about the skills: ${asked.error.message}`);
  return { proposals: [], dropped: [] };
}

/** If another proposal of the same run has already archived the skills, the tool refuses this one. */
async function decide(
  { proposal, key, calls }: { proposal: SkillProposal; key: string; calls: readonly ToolCall[] },
  store: SkillStore,
  run: RunContext,
  notes: string[],
): Promise<Outcome> {
  if (run.mode === "dry-run") return { kind: "proposed" };
  if (run.mode === "propose" && run.isScheduled && run.known.includes(key))
    return { kind: "waiting", reason: "was proposed before and not approved" };
  if (run.mode === "propose") {
    const waiting = waitingFor(run.memory.home, calls[0] ?? {});
    if (waiting !== undefined) return { kind: "waiting", reason: `is staged already, as ${waiting}` };
  }
  const ids: string[] = [];
  for (const call of calls) {
    const context = { origin: "curator", writeApproval: run.mode === "propose", group: run.group } as const;
    const answer = await skillManageTool(store, call, { ...context, sessionId: sessionOf(run.group) });
    const { success, error, pending_id, change_id } = answer as Record<string, unknown>;
    if (success !== true) {
      const reason = typeof error === "string" ? error : "The change was refused.";
      if (ids.length === 0) return { kind: "refused", reason };
      // The calls before this one stay done and can be rolled back; a later run finds the remaining members.
      const into = proposal.into?.name ?? "";
      notes.push(`'${into}' is done only in part; it stopped at archiving '${String(call.name)}': ${reason}`);
      return { kind: "applied", ids };
    }
    if (typeof pending_id === "string") return { kind: "staged", id: pending_id };
    if (typeof change_id === "string") ids.push(change_id);
  }
  return { kind: "applied", ids };
}

/** The session id under which the history of skills keeps the changes of a run. */
export function sessionOf(group: string): string {
  return `curator-${group}`;
}

type ToolCall = Readonly<Record<string, unknown>>;

/**
 * An umbrella is staged alone: its members can be archived only once it exists. The next run finds them in it word for word and
 * proposes to archive them.
 */
function callsOf(
  { kind, skills, into }: SkillProposal,
  mode: CuratorMode,
  texts: SkillTexts,
  now: Date,
): ToolCall[] {
  const asRead = (names: readonly string[]): Readonly<Record<string, string>> =>
    Object.fromEntries(
      names.flatMap((name) => {
        const read = texts.get(name);
        return read ? [[read.path, sha256(read.bytes)]] : [];
      }),
    );
  // The host must be unchanged if it is only the reason for archiving; an umbrella's first call changes its host itself.
  const host = kind === "archive" && into !== undefined ? [into.name] : [];
  const leave = skills.map((name) => ({
    action: "delete",
    name,
    expected: asRead([name, ...host]),
    ...(into === undefined ? { unused_since: isoTime(now) } : { absorbed_into: into.name }),
  }));
  if (kind === "archive" || into === undefined) return leave;
  const expected = asRead([...skills, ...(into.isNew ? [] : [into.name])]);
  const arrive = { action: into.isNew ? "create" : "edit", name: into.name, content: into.content, expected };
  return mode === "apply" ? [arrive, ...leave] : [arrive];
}

function waitingFor(home: string, call: ToolCall): string | undefined {
  const { records } = readPendingSkills(pendingSkillsDirectory(home));
  return records.find(({ payload }) => payload.action === call.action && payload.name === call.name)?.id;
}

/** `back`: skills whose usage record still belongs to an archived skill of the same name. */
async function mark(
  store: SkillStore,
  marks: readonly SkillMark[],
  back: readonly Skill[],
): Promise<string[]> {
  if (marks.length + back.length === 0) return [];
  const changes = marks.map(({ skill, mark: state }): [string, UsageChange] => [
    skill,
    (_current, now) => (state === "seed" ? { created_at: now } : { state }),
  ]);
  const replaced = back.map((skill): [string, UsageChange] => [skill.directoryName, markReplaced]);
  const done = await changeUsage(store, new Map([...changes, ...replaced]));
  return done.ok ? [] : [`The marks were not saved: ${done.error.message}`];
}
