// The agent's own tools. The same list is made twice: for the conversation, and for the reviewer, whose writes have another
// origin and go to nobody else.
import type { ApprovalCallback } from "@hermes-memory/core/curated";
import { sessionFiles } from "@hermes-memory/core/home";
import type { TextModel } from "@hermes-memory/core/lib";
import { scopeOfUser, sessionSearchSettings } from "@hermes-memory/core/sessions";
import type { SkillStore } from "@hermes-memory/core/skills";
import type { AgentCore } from "../core.ts";
import { mirrorWrite } from "../memory-mirror.ts";
import {
  type AgentTool,
  fits,
  memoryAgentTool,
  readResultAgentTool,
  sessionSearchAgentTool,
  skillAgentTools,
  todoAgentTool,
} from "../tools/index.ts";

export type OwnToolsInput = {
  readonly hasMemory: boolean;
  /** Undefined: none for this agent. */
  readonly skills: SkillStore | undefined;
  readonly approve: ApprovalCallback | undefined;
  readonly summarizer: TextModel;
  /** For a review of this session: it goes on in it, whichever the user is in by then. */
  readonly reviewOf?: string;
};

export function ownTools(core: AgentCore, input: OwnToolsInput): AgentTool[] {
  const { config, home, memory, store, user, clock, todo } = core.parts;
  const isReview = input.reviewOf !== undefined;
  const sessionId = (): string => input.reviewOf ?? core.sessionId;
  return [
    ...(input.hasMemory
      ? [
          memoryAgentTool({
            store: memory,
            home,
            writeApproval: config.memory.writeApproval,
            approve: isReview ? undefined : input.approve,
            sessionId,
            ...(isReview ? { origin: "review" as const } : {}),
            onWrite: (write, { taskId, callId }) =>
              isReview
                ? core.emit({ type: "memory-write", action: write.op.action, target: write.target })
                : mirrorWrite(core, write, { taskId, toolCallId: callId }),
          }),
        ]
      : []),
    sessionSearchAgentTool({
      store: () => store,
      home,
      settings: sessionSearchSettings(config),
      scope: scopeOfUser(user),
      summarizer: input.summarizer,
      clock,
      fits: (text) => fits(text, core.resultLimits),
    }),
    readResultAgentTool({
      directory: sessionFiles(home).resultsDir,
      store: () => store,
      scope: scopeOfUser(user),
      limits: () => core.resultLimits,
    }),
    todoAgentTool(todo),
    ...(input.skills === undefined
      ? []
      : skillAgentTools({
          store: input.skills,
          home,
          writeApproval: config.skills.writeApproval,
          sessionId,
          origin: isReview ? "review" : "tool",
        })),
  ];
}
