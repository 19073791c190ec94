import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { launchOf, managerOf } from "../../src/cli/gateway/service.ts";
import { runHermes, runJson } from "./run.ts";

const PROGRAM = { node: "/opt/node 24/bin/node", script: "/opt/100%/$hermes/main.ts" };
const selected = (profile: string, home: string) => ({ home: { home, root: "/data/root", profile } });

describe("the service", () => {
  it("starts 'hermes serve' with the home and the profile of now", () => {
    expect(launchOf(PROGRAM, selected("default", "/data/root"))).toMatchObject({
      words: [PROGRAM.node, PROGRAM.script, "--profile", "default", "serve"],
      env: { HERMES_HOME: "/data/root" },
    });
    expect(launchOf(PROGRAM, selected("work", "/data/root/profiles/work"))).toMatchObject({
      words: [PROGRAM.node, PROGRAM.script, "--profile", "work", "serve"],
      env: { HERMES_HOME: "/data/root" },
    });
    expect(launchOf(PROGRAM, selected("custom", "/data/root/odd"))).toMatchObject({
      words: [PROGRAM.node, PROGRAM.script, "serve"],
      env: { HERMES_HOME: "/data/root/odd", HERMES_S6_SUPERVISED_CHILD: "1" },
    });
  });

  it("is a systemd user unit named hermes-memory, with every character of its paths", () => {
    const { path, render } = managerOf("linux", { HOME: "/home/me" });
    expect(path).toBe("/home/me/.config/systemd/user/hermes-memory.service");
    expect(managerOf("linux", { HOME: "/home/me", XDG_CONFIG_HOME: "/cfg" }).path).toBe(
      "/cfg/systemd/user/hermes-memory.service",
    );
    const unit = render(launchOf(PROGRAM, selected("default", '/data/a "b" \\ c')));
    expect(unit).toContain(
      'ExecStart="/opt/node 24/bin/node" "/opt/100%%/$$hermes/main.ts" "--profile" "default" "serve"\n',
    );
    expect(unit).toContain('Environment="HERMES_HOME=/data/a \\"b\\" \\\\ c"\n');
    expect(unit).toContain("TimeoutStopSec=45\n");
    expect(unit).not.toContain("hermes-gateway");
  });

  it("is a launchd agent named hermes-memory on a Mac", () => {
    const { path, render, afterInstall } = managerOf("darwin", { HOME: "/Users/me" });
    expect(path).toBe("/Users/me/Library/LaunchAgents/hermes-memory.plist");
    const plist = render(launchOf(PROGRAM, selected("default", "/data/<a> & b")));
    expect(plist).toContain("<key>Label</key><string>hermes-memory</string>");
    expect(plist).toContain("<key>HERMES_HOME</key><string>/data/&lt;a&gt; &amp; b</string>");
    expect(plist).toContain("<string>/data/&lt;a&gt; &amp; b/logs/gateway-service.log</string>");
    expect(afterInstall.join()).toContain("launchctl bootstrap");
  });

  it("is refused elsewhere, with another way", () => {
    expect(() => managerOf("win32", {})).toThrow("systemd");
  });
});

describe.skipIf(process.platform !== "linux")("hermes service", () => {
  const place = () => {
    const home = tempDirectory();
    const env = { HOME: home, XDG_CONFIG_HOME: join(home, "config") };
    return { home, env, unit: join(home, "config", "systemd", "user", "hermes-memory.service") };
  };

  it("shows the file as a diff and changes nothing in a dry run", async () => {
    const { home, env, unit } = place();
    const { stdout, code } = await runHermes(["service", "install", "--dry-run"], { home, env });
    expect(code).toBe(0);
    expect(stdout).toContain(`+++ ${unit}\n`);
    expect(stdout).toContain(`+Environment="HERMES_HOME=${home}"\n`);
    expect(stdout).toContain("Nothing was changed");
    expect(existsSync(unit)).toBe(false);
  });

  it("writes the file once, keeps a backup of another one, and removes it again", async () => {
    const { home, env, unit } = place();
    mkdirSync(dirname(unit), { recursive: true });
    writeFileSync(join(dirname(unit), "hermes-gateway.service"), "[Unit]\n");
    const installed = await runHermes(["service", "install"], { home, env });
    expect(installed.stdout).toContain("systemctl --user enable --now hermes-memory");
    const text = readFileSync(unit, "utf8");
    expect(await runJson(["service", "install"], { home, env })).toMatchObject({
      action: "unchanged",
      backup: null,
    });
    writeFileSync(unit, `${text}# mine\n`);
    const again = (await runJson(["service", "install"], { home, env })) as {
      action: string;
      backup: string;
    };
    expect(again.action).toBe("updated");
    expect(readFileSync(again.backup, "utf8")).toBe(`${text}# mine\n`);
    expect(readFileSync(unit, "utf8")).toBe(text);
    expect(await runJson(["service", "path"], { home, env })).toEqual({ path: unit });
    expect(await runJson(["service", "status"], { home, env })).toMatchObject({
      installed: true,
      current: true,
    });
    expect(await runJson(["service", "uninstall"], { home, env })).toMatchObject({ action: "removed" });
    expect(existsSync(unit)).toBe(false);
    expect(await runJson(["service", "uninstall"], { home, env })).toMatchObject({ action: "absent" });
    expect(readdirSync(dirname(unit))).toContain("hermes-gateway.service");
    expect((await runHermes(["service", "status"], { home, env })).stdout).toContain(
      "hermes service install",
    );
  });
});
