import { describe, expect, it } from "vitest";
import { launchOf, managerOf } from "../../src/cli/gateway/service.ts";

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
