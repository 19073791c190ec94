// The agent's own tools. The same list is made twice: for the conversation, and for the reviewer, whose writes have another
// origin and go to nobody else.
import { type ApprovalCallback, curatedTools } from "@hermes-memory/core/curated";
import { sessionFiles } from "@hermes-memory/core/home";
import type { TextModel } from "@hermes-memory/core/lib";
import {
  readResultEntry,
  scopeOfUser,
  sessionSearchEntry,
  sessionSearchSettings,
} from "@hermes-memory/core/sessions";
import { type SkillStore, skillTools } from "@hermes-memory/core/skills";
import type { Tool } from "@hermes-memory/core/tools";
import type { AgentCore } from "../core.ts";
import { mirrorWrite } from "../memory-mirror.ts";
import { fits, todoEntry } from "../tools/index.ts";

export type OwnToolsInput = {
  readonly hasMemory: boolean;
  /** Undefined: none for this agent. */
  readonly skills: SkillStore | undefined;
  readonly approve: ApprovalCallback | undefined;
  readonly summarizer: TextModel;
  /** For a review of this session: it goes on in it, whichever the user is in by then. */
  readonly reviewOf?: string;
};

export function ownTools(core: AgentCore, input: OwnToolsInput): Tool[] {
  const { config, home, memory, store, user, clock, todo } = core.parts;
  const { approve, summarizer, reviewOf } = input;
  const isReview = reviewOf !== undefined;
  const sessionId = (): string => reviewOf ?? core.sessionId;
  const settings = sessionSearchSettings(config);
  return [
    ...(input.hasMemory
      ? curatedTools((work, { taskId, callId }) =>
          work({
            store: memory,
            context: {
              home,
              writeApproval: config.memory.writeApproval,
              ...(approve === undefined || isReview ? {} : { approve }),
              ...(isReview ? { origin: "review" as const } : {}),
              sessionId: sessionId(),
              onCommitted: (write) =>
                isReview
                  ? core.emit({ type: "memory-write", action: write.op.action, target: write.target })
                  : mirrorWrite(core, write, { taskId, toolCallId: callId }),
            },
          }),
        )
      : []),
    sessionSearchEntry({ summarize: settings.summarize !== "off" }, (work) =>
      work({
        store,
        context: {
          home,
          settings,
          ...scopeOfUser(user),
          summarizer,
          clock,
          fits: (text) => fits(text, core.resultLimits),
        },
      }),
    ),
    readResultEntry({
      directory: sessionFiles(home).resultsDir,
      store: () => store,
      scope: scopeOfUser(user),
      isKeptHere: (id) => core.keptResults.has(id),
      limits: () => core.resultLimits,
      fits,
    }),
    todoEntry(todo),
    ...(input.skills === undefined
      ? []
      : skillTools((work) =>
          work({
            store: input.skills,
            context: {
              home,
              writeApproval: config.skills.writeApproval,
              sessionId: sessionId(),
              origin: isReview ? "review" : "tool",
            },
          }),
        )),
  ];
}
