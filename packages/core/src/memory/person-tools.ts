// The tools of a person outside of a conversation: the MCP server and `hermes memory tool` show and run these entries.
import { existsSync } from "node:fs";
import { type CommittedWrite, curatedTools, hasArchive, memoryHistoryEntry } from "../curated/index.ts";
import { sessionSearchEntry, sessionSearchSettings } from "../sessions/index.ts";
import { skillManageSchema, skillTools } from "../skills/index.ts";
import type { Tool } from "../tools/index.ts";
import type { Person, ToolRules } from "./types.ts";

/** In the order they are shown. The names do not depend on config, so that an unknown one can be told from one that is off. */
export async function toolsOf(person: Person, rules: ToolRules): Promise<readonly Tool[]> {
  const { memory, scope } = person;
  const { home } = memory;
  const { inOrder = (work) => work(), origin = "tool", onWrites, log } = rules;
  const curated = () => person.curated({ log });
  // A config that cannot be read is reported by the calls.
  const config = await memory.memoryConfig().catch(() => undefined);
  return [
    ...curatedTools(
      (work) =>
        inOrder(async () => {
          const { writeApproval } = await memory.memoryConfig();
          const store = await curated();
          const writes: CommittedWrite[] = [];
          const onCommitted = (write: CommittedWrite) => void writes.push(write);
          const outcome = await work({ store, context: { home, writeApproval, origin, onCommitted } });
          await onWrites?.(writes);
          return outcome;
        }),
      hasArchive(person.directory, config?.overflow),
    ),
    // Without summaries: outside of a conversation there is no model. Without a database the tool itself says so.
    sessionSearchEntry({ summarize: false }, async (work) => {
      const config = await memory.config(); // it may forbid reading other profiles
      const settings = { ...sessionSearchSettings(config), summarize: "off" as const };
      return person.withSessions((store) => work({ store, context: { home, settings, scope } }));
    }),
    // Reading must not create the home.
    memoryHistoryEntry((work) =>
      inOrder(async () => work(existsSync(home) ? await curated() : { history: () => [] })),
    ),
    // Skills belong to the whole home: a user may read them, and only the owner's model may change them.
    ...skillTools(async (work) => {
      const { skills } = await memory.config();
      const store = await person.skills();
      return work({ store, context: { home, writeApproval: skills.writeApproval, origin: "tool" } });
    }).filter(({ name }) => person.user === undefined || name !== skillManageSchema.name),
  ];
}
