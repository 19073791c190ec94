// The `skill_manage` tool: untyped arguments in, the tool's JSON out. Whoever calls it says who is writing, and which
// actions that writer has.
import { isApprovalOn } from "../../config/index.ts";
import { stagePendingSkill, summaryOf } from "../approval/pending.ts";
import { parseSkillCall, type SkillCall } from "../change/call.ts";
import { performCall, previewCall } from "../change/perform.ts";
import { pendingSkillsDirectory } from "../paths.ts";
import type { SkillStore } from "../store.ts";
import type { SkillAction, SkillOrigin } from "../types.ts";
import { answered, failure, UNAVAILABLE } from "./result.ts";

export type SkillManageContext = {
  /** Default `tool`. */
  readonly origin?: SkillOrigin;
  /** The only actions this writer has; absent: all. */
  readonly allowed?: readonly SkillAction[];
  /** Config `skills.write_approval`: a boolean, or one of the words that mean yes. */
  readonly writeApproval?: boolean | string;
  /** Where staged changes go; default the store's own home. */
  readonly home?: string;
  readonly sessionId?: string;
  /** Staged changes with the same name belong together. */
  readonly group?: string;
};

/** Never throws. */
export function skillManageTool(
  store: SkillStore | undefined,
  args: unknown,
  context: SkillManageContext = {},
): Promise<object> {
  return answered(async () => {
    if (!store) return UNAVAILABLE;
    const asked = (args as { readonly action?: unknown } | null | undefined)?.action;
    const { origin = "tool", allowed } = context;
    const call = parseSkillCall(args);
    if (!call.ok && call.error.kind === "bad_action") return failure(call.error);
    // Both what was asked for and what it comes down to: writing SKILL.md as a file is an edit.
    const wanted = [asked, ...(call.ok ? [call.value.action] : [])];
    if (allowed && !wanted.every((action) => allowed.some((each) => each === action))) {
      const message = `The action '${String(asked)}' is not available here. Use: ${allowed.join(", ")}`;
      return failure({ kind: "not_allowed", message });
    }
    if (!call.ok) return failure(call.error);
    if (isApprovalOn(context.writeApproval) && origin !== "cli") return stage(store, call.value, context);
    const done = await performCall(store, call.value, { origin, sessionId: context.sessionId });
    if (!done.ok) return failure(done.error);
    const { reply, changeId, warning } = done.value;
    return { success: true, ...reply, change_id: changeId, ...(warning === undefined ? {} : { warning }) };
  });
}

/** Nobody is asked about what would be refused anyway. */
async function stage(store: SkillStore, call: SkillCall, context: SkillManageContext): Promise<object> {
  const { origin = "tool", group } = context;
  const plan = await previewCall(store, call, origin);
  if (!plan.ok) return failure(plan.error);
  const directory = pendingSkillsDirectory(context.home ?? store.home);
  const record = stagePendingSkill(directory, { call, origin, group }, store.clock.now());
  if (!record.ok) return failure(record.error);
  return {
    success: true,
    staged: true,
    pending_id: record.value.id,
    gist: summaryOf(call),
    message:
      "Staged for approval (skills.write_approval is on). Not yet saved — review with /skills pending.",
  };
}
