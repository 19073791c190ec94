// The three skill tools in the agent's table.
import {
  type SkillOrigin,
  type SkillStore,
  skillManagePreview,
  skillManageSchema,
  skillManageTool,
  skillsListPreview,
  skillsListSchema,
  skillsListTool,
  skillViewPreview,
  skillViewSchema,
  skillViewTool,
} from "@hermes-memory/core/skills";
import { jsonOutcome } from "./outcome.ts";
import type { AgentTool } from "./tool.ts";

export type SkillAgentToolDeps = {
  readonly store: SkillStore;
  readonly home: string;
  readonly writeApproval: boolean | string;
  readonly sessionId: () => string;
  readonly origin: SkillOrigin;
};

const TOOLSET = "skills";

export function skillAgentTools({
  store,
  home,
  writeApproval,
  sessionId,
  origin,
}: SkillAgentToolDeps): AgentTool[] {
  return [
    {
      schema: skillsListSchema,
      toolset: TOOLSET,
      isReadOnly: true,
      preview: skillsListPreview,
      run: async (args) => jsonOutcome(await skillsListTool(store, args)),
    },
    {
      schema: skillViewSchema,
      toolset: TOOLSET,
      isReadOnly: true,
      preview: skillViewPreview,
      run: async (args) => jsonOutcome(await skillViewTool(store, args, { sessionId: sessionId() })),
    },
    {
      schema: skillManageSchema,
      toolset: TOOLSET,
      isReadOnly: false,
      isHousekeeping: true,
      preview: skillManagePreview,
      run: async (args) =>
        jsonOutcome(
          await skillManageTool(store, args, { home, writeApproval, origin, sessionId: sessionId() }),
        ),
    },
  ];
}
