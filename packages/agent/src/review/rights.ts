// What a background review may do, and the prompt that asks for it. It runs without the user, so its rights are per operation: it may
// add and correct, but remove nothing. Pure.
import { isRecord, preview } from "@hermes-memory/core/internal/lib";
import type { ToolArguments } from "@hermes-memory/core/internal/tools";
import type { ReviewScope } from "./schedule.ts";

/** `actions`: the allowed values of the argument `action`; undefined for a tool that only reads. */
type Right = { readonly for: keyof ReviewScope | "either"; readonly actions?: readonly string[] };

const RIGHTS: Readonly<Record<string, Right>> = {
  read_result: { for: "either" }, // for reading a long skill in parts
  memory: { for: "memory", actions: ["add", "replace", "search_archive"] },
  skills_list: { for: "skills" },
  skill_view: { for: "skills" },
  skill_manage: { for: "skills", actions: ["create", "patch", "edit", "write_file"] },
};

const SHOWN_CHARS = 40;

/** Undefined when the call may run; otherwise the text for the model. */
export function refusal(name: string, args: ToolArguments, scope: ReviewScope): string | undefined {
  const right = Object.hasOwn(RIGHTS, name) ? RIGHTS[name] : undefined;
  if (right === undefined) return notAllowed(name);
  if (right.for !== "either" && !scope[right.for])
    return `This review is about ${scope.memory ? "memory" : "skills"} only, so '${name}' was not run.`;
  const { action, operations } = args;
  if (name === "memory" && operations !== undefined && operations !== null) {
    const steps: readonly unknown[] = Array.isArray(operations) ? operations : [operations];
    // Every operation of a batch is checked by itself. An empty batch is refused by the tool.
    const refused = steps
      .map((step) => refusal(name, { action: isRecord(step) ? step.action : undefined }, scope))
      .find((answer) => answer !== undefined);
    if (refused !== undefined || steps.length > 0) return refused;
  }
  if (right.actions === undefined || (typeof action === "string" && right.actions.includes(action)))
    return undefined;
  const asked = typeof action === "string" ? `action '${preview(action, SHOWN_CHARS)}'` : "no action";
  return `A review may not use '${name}' with ${asked}; allowed are: ${right.actions.join(", ")}. Nothing was changed.`;
}

/** Other programs match on this wording. */
export function notAllowed(name: string): string {
  return `Background review denied non-whitelisted tool: ${name}. Only memory/skill tools are allowed.`;
}

// The prompt: the newest message, after the whole conversation

export function reviewPrompt(scope: ReviewScope): string {
  const parts =
    scope.memory && scope.skills
      ? [COMBINED, `## Memory\n${MEMORY}`, `## Skills\n${SKILLS}`]
      : [scope.skills ? SKILLS : MEMORY];
  return [...parts, ONLY_THESE].join("\n\n");
}

const COMBINED =
  "Step back from the conversation above and look after two things: what should be remembered about the user, and what should be " +
  "learnt about the work. Act on whichever has something to it, on both if both do. If neither has, answer 'Nothing to save.' and stop.";

const MEMORY =
  "Look over the conversation above for what will still matter in other conversations. Did the user reveal who they are, what they " +
  "wish for, what they prefer, or details of their life and surroundings? Did they say how they want you to behave or to work? Save " +
  "such things with the memory tool, as short statements of fact, and correct entries that have turned out wrong. What is true only for " +
  "this task does not belong there. If nothing stands out, answer 'Nothing to save.' and stop.";

const SKILLS = `Look over the conversation above for what would make the next piece of work of this kind go better, and put it into a skill. Be active: most conversations with real work in them teach something, and a pass that changes nothing is usually a missed chance.

What to look for:
- The user corrected style, tone, format or length. Annoyance ("stop doing that", "remember this", "too long") is a strong sign: how a task is to be done belongs into the skill for that task, not only into memory.
- The user corrected the order or the way of working.
- A technique, a fix or a way around a problem was found that others would have to find again.
- A skill that was used turned out to be wrong, outdated or to lack a step.

What a good skill is: one for a class of tasks, with a rich SKILL.md and details in references/, not one for a single session. In this order:
1. Improve a skill that was loaded in this conversation.
2. Improve an existing one that covers the field: find it with skills_list and look at it with skill_view.
3. Add a file to it: references/ for details and condensed knowledge, templates/ for starting points to copy, scripts/ for checks that can be run again. Point to it with one line in SKILL.md.
4. Only when nothing fits, create a new one for the whole class of tasks. Its name says what the class is: no ticket numbers, error texts, code names, bare library names or traces of this session.

Leave alone: skills that came with the program or from the hub. Pinned ones may be improved. Where two skills overlap, mention it and go on; the curator merges them.
Do not write down failures of this machine, claims that a tool does not work, passing errors or one-off stories. Write down what fixed them.
'Nothing to save.' is a possible answer, but not the usual one.`;

const ONLY_THESE =
  "[Only the memory and skill tools may be called now; calls of any other tool are refused. Nobody reads your answer, so keep it to a line.]";
