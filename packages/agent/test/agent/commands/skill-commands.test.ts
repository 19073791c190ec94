import { skillManageTool } from "@hermes-memory/core/internal/skills";
import { describe, expect, it } from "vitest";
import { skillsCommand } from "../../../src/agent/commands/memory-commands.ts";
import { runSlashCommand } from "../../../src/agent/index.ts";
import { openChat, textOf } from "./fake-agent.ts";

const CONTENT = "---\nname: glazes\ndescription: How to mix glazes.\n---\n\n# Glazes\n\nStir twice.\n";

function create(chat: Awaited<ReturnType<typeof openChat>>, writeApproval: boolean): Promise<object> {
  const args = { action: "create", name: "glazes", content: CONTENT };
  return skillManageTool(chat.agent.skills, args, { writeApproval, origin: "review" });
}

describe("/skills", () => {
  it("lists what there is and says where to put more", async () => {
    const chat = await openChat();
    expect(textOf(await chat.expect("/skills", "text"))).toContain("There are no skills yet.");
    await create(chat, false);
    expect(textOf(await chat.expect("/skills list", "text"))).toContain("glazes  How to mix glazes.");
  });

  it("shows, saves and drops staged changes", async () => {
    const chat = await openChat();
    expect(textOf(await chat.expect("/skills pending", "text"))).toBe("No pending skill changes.");
    expect(await create(chat, true)).toMatchObject({ staged: true });
    const { pending_id: id } = (await create(chat, true)) as { pending_id: string };
    const listed = textOf(await chat.expect("/skills pending", "text"));
    expect(listed).toContain("Pending skill changes (2):");
    expect(listed).toContain(`${id} [auto]`);
    expect(textOf(await chat.expect(`/skills diff ${id}`, "text"))).toContain("+Stir twice.");
    await chat.expect(`/skills approve ${id}`, "text");
    expect((await chat.agent.skills.visible()).skills.map(({ name }) => name)).toEqual(["glazes"]);
    // The other change would create a skill that exists by now.
    expect(textOf(await chat.expect("/skills approve all", "error"))).toContain(
      "Approved 0 skill change(s).",
    );
    expect(textOf(await chat.expect("/skills reject all", "text"))).toBe(
      "Rejected 1 pending skill change(s).",
    );
  });

  it("explains itself when it is used wrongly", async () => {
    const chat = await openChat();
    expect(textOf(await chat.expect("/skills approve", "error"))).toBe(
      `Usage: /skills ${skillsCommand.usage}`,
    );
    expect(textOf(await chat.expect("/skills diff nothere", "error"))).toContain("nothere");
  });
});

describe("/curator", () => {
  it("runs the words as 'hermes curator' does, and shows the status without any", async () => {
    const chat = await openChat();
    const ran: (readonly string[])[] = [];
    const runCurator = async (words: readonly string[]) => {
      ran.push(words);
      return { kind: "text" as const, lines: ["done"], json: null };
    };
    const host = { config: chat.config, confirm: async () => true, runCurator };
    expect(await runSlashCommand(chat.agent, "/curator run --dry-run", host)).toMatchObject({
      lines: ["done"],
    });
    await runSlashCommand(chat.agent, "/curator", host);
    expect(ran).toEqual([["run", "--dry-run"], ["status"]]);
    expect(textOf(await chat.expect("/curator", "error"))).toContain("hermes curator");
  });
});
