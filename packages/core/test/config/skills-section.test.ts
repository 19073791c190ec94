import { describe, expect, it } from "vitest";
import { checkConfig, loadConfig } from "../../src/config/index.ts";
import { tempHome } from "./support.ts";

describe("the keys of skills", () => {
  it("are read whole; a single text is a list of one", async () => {
    using temp = tempHome();
    temp.writeConfig(`
skills:
  write_approval: yes
  external_dirs: ~/team
  disabled: [a, b]
  platform_disabled: {telegram: c, cli: }
  template_vars: no
  allow_secrets: yes
  guard_agent_created: true
  inline_shell: false
  inline_shell_timeout: 10
`);
    const config = await loadConfig(temp.home);
    expect(config.ok && config.value.skills).toEqual({
      writeApproval: true,
      creationNudgeInterval: 10,
      externalDirs: ["~/team"],
      disabled: ["a", "b"],
      platformDisabled: { telegram: ["c"], cli: [] },
      templateVars: false,
      allowSecrets: true,
    });
    expect(await checkConfig(temp.home)).toMatchObject({ errors: [], warnings: [], unknownKeys: [] });
  });

  it.each([
    ["skills: {external_dirs: 5}", "skills.external_dirs must be a list of directories"],
    ["skills: {disabled: [1]}", "must be a list of skill names"],
    ["skills: {platform_disabled: [a]}", "skills.platform_disabled must be a section"],
    ["skills: {template_vars: maybe}", "skills.template_vars must be true or false"],
  ])("refuse %s", async (text, message) => {
    using temp = tempHome();
    temp.writeConfig(text);
    const config = await loadConfig(temp.home);
    expect(!config.ok && config.error.message).toContain(message);
  });
});
