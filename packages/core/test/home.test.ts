import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  defaultHome,
  ensureHome,
  type HomeContext,
  memoriesDirectory,
  parseProfileName,
  pendingWritesDirectory,
  profileHome,
  resolveHome,
  rootOf,
  selectHome,
  userMemoriesDirectory,
  userScopeName,
} from "../src/home.ts";
import { sha256 } from "../src/lib/index.ts";

let userHome: string;
beforeEach(() => {
  userHome = mkdtempSync(join(tmpdir(), "home-"));
});
afterEach(() => rmSync(userHome, { recursive: true, force: true }));

function context(env: HomeContext["env"] = {}): HomeContext {
  return { env, platform: "linux", userHome };
}
function standardHome(): string {
  return join(userHome, ".hermes");
}
function writeActive(root: string, content: string | Uint8Array): void {
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, "active_profile"), content);
}
function makeProfile(root: string, name: string): string {
  const home = join(root, "profiles", name);
  mkdirSync(home, { recursive: true });
  return home;
}

describe("the default home", () => {
  it("is ~/.hermes", () => {
    expect(defaultHome(context())).toBe(standardHome());
  });

  it("is below LOCALAPPDATA on Windows, or where that would be", () => {
    const windows: HomeContext = { env: {}, platform: "win32", userHome: "C:\\Users\\ada" };
    expect(defaultHome(windows)).toBe("C:\\Users\\ada\\AppData\\Local\\hermes");
    expect(defaultHome({ ...windows, env: { LOCALAPPDATA: "D:\\Local" } })).toBe("D:\\Local\\hermes");
    expect(defaultHome({ ...windows, env: { LOCALAPPDATA: "  " } })).toContain("AppData");
  });
});

describe("resolveHome", () => {
  it("takes HERMES_HOME trimmed, without expanding a tilde", () => {
    expect(resolveHome(context({ HERMES_HOME: "  ~/elsewhere \n" }))).toEqual({ home: "~/elsewhere" });
  });

  it("treats a blank HERMES_HOME as not set", () => {
    expect(resolveHome(context({ HERMES_HOME: "  " }))).toEqual({ home: standardHome() });
  });

  it("stays with the default home and gives a notice when a profile is active", () => {
    writeActive(standardHome(), "work\n");
    const { home, notice } = resolveHome(context());
    expect(home).toBe(standardHome());
    expect(notice).toMatch(/^\[HERMES_HOME fallback\].*"work".*#18594/s);
    expect(notice).not.toContain("\n");
  });

  it("is silent about an empty, default or undecodable active profile, and when HERMES_HOME is set", () => {
    for (const content of ["", "  \n", "default\n", Uint8Array.of(0xff, 0xfe, 0x41)]) {
      writeActive(standardHome(), content);
      expect(resolveHome(context())).toEqual({ home: standardHome() });
    }
    writeActive(standardHome(), "work");
    expect(resolveHome(context({ HERMES_HOME: "/srv/agent" }))).toEqual({ home: "/srv/agent" });
  });
});

describe("the profile root", () => {
  it("is the default home for anything inside it", () => {
    expect(rootOf(standardHome(), context())).toBe(standardHome());
    expect(rootOf(join(standardHome(), "profiles", "work"), context())).toBe(standardHome());
  });

  it("is the grandparent of a foreign profile and otherwise the home itself", () => {
    expect(rootOf("/srv/agent/profiles/work", context())).toBe("/srv/agent");
    expect(rootOf("/srv/agent", context())).toBe("/srv/agent");
  });

  it("is not fooled by a sibling with the same beginning, nor by a link into the default home", () => {
    expect(rootOf(`${standardHome()}-old`, context())).toBe(`${standardHome()}-old`);
    mkdirSync(join(standardHome(), "profiles", "work"), { recursive: true });
    const link = join(userHome, "link");
    symlinkSync(join(standardHome(), "profiles", "work"), link);
    expect(rootOf(link, context())).toBe(standardHome());
  });
});

describe("profile names", () => {
  it("are case-folded", () => {
    expect(parseProfileName("Work-2")).toEqual({ ok: true, value: "work-2" });
    expect(parseProfileName("DEFAULT")).toEqual({ ok: true, value: "default" });
  });

  it("refuse what the pattern does not allow, and reserved words", () => {
    for (const name of ["", "-x", "_x", "a b", "a/b", "..", "ä", "a".repeat(65), "a\nb"]) {
      expect(parseProfileName(name)).toMatchObject({ ok: false, error: { kind: "invalid-name" } });
    }
    for (const name of ["hermes", "Test", "tmp", "root", "sudo"]) {
      expect(parseProfileName(name)).toMatchObject({ ok: false, error: { kind: "reserved-name" } });
    }
  });

  it("never lead out of the profiles directory", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const name = parseProfileName(text);
        if (name.ok && name.value !== "default")
          expect(profileHome("/root-home", name.value)).toMatch(
            /^\/root-home\/profiles\/[a-z0-9][a-z0-9_-]*$/,
          );
      }),
    );
  });
});

describe("selectHome", () => {
  it("uses the default home when nothing is said", () => {
    const root = standardHome();
    expect(selectHome(context(), {})).toEqual({ ok: true, value: { home: root, root, profile: "default" } });
  });

  it("prefers the flag, case-folded, over HERMES_HOME and the sticky profile", () => {
    const root = standardHome();
    const home = makeProfile(root, "work");
    makeProfile(root, "other");
    writeActive(root, "other");
    const env = { HERMES_HOME: join(root, "profiles", "other") };
    expect(selectHome(context(env), { profile: "WORK" })).toEqual({
      ok: true,
      value: { home, root, profile: "work" },
    });
    expect(selectHome(context(env), { profile: "default" })).toMatchObject({ value: { home: root } });
  });

  it("prefers HERMES_HOME below profiles/ over the sticky profile", () => {
    const root = join(userHome, "srv");
    const home = makeProfile(root, "night");
    writeActive(root, "work");
    expect(selectHome(context({ HERMES_HOME: home }), {})).toEqual({
      ok: true,
      value: { home, root, profile: "night" },
    });
  });

  it("follows the sticky profile of the root, without the fallback notice", () => {
    const root = standardHome();
    const home = makeProfile(root, "work");
    writeActive(root, "Work\n");
    expect(selectHome(context(), {})).toEqual({ ok: true, value: { home, root, profile: "work" } });
  });

  it("follows the sticky profile of a HERMES_HOME that is a root of its own", () => {
    const root = join(userHome, "srv");
    const home = makeProfile(root, "work");
    expect(selectHome(context({ HERMES_HOME: root }), {})).toMatchObject({
      value: { home: root, root, profile: "default" },
    });
    writeActive(root, "work");
    expect(selectHome(context({ HERMES_HOME: root }), {})).toMatchObject({
      value: { home, root, profile: "work" },
    });
  });

  it("ignores the sticky profile in a supervised child, and says so", () => {
    makeProfile(standardHome(), "work");
    writeActive(standardHome(), "work");
    const selected = selectHome(context({ HERMES_S6_SUPERVISED_CHILD: "1" }), {});
    expect(selected).toMatchObject({ value: { home: standardHome(), profile: "default" } });
    expect(selected.ok && selected.value.notice).toContain("[HERMES_HOME fallback]");
  });

  it("calls a directory inside the default home that is no profile custom", () => {
    const env = { HERMES_HOME: join(standardHome(), "scratch") };
    expect(selectHome(context(env), {})).toMatchObject({
      value: { profile: "custom", root: standardHome() },
    });
  });

  it("refuses a profile that does not exist, with a remedy", () => {
    const byFlag = selectHome(context(), { profile: "gone" });
    expect(byFlag).toMatchObject({ ok: false, error: { kind: "missing-profile", name: "gone" } });
    expect(!byFlag.ok && byFlag.error.message).toContain("hermes profile create gone");
    writeActive(standardHome(), "gone");
    const sticky = selectHome(context(), {});
    expect(!sticky.ok && sticky.error.message).toContain("hermes profile use default");
  });

  it("refuses bad names from the flag and from active_profile", () => {
    expect(selectHome(context(), { profile: "../x" })).toMatchObject({ error: { kind: "invalid-name" } });
    writeActive(standardHome(), "../../etc");
    expect(selectHome(context(), {})).toMatchObject({ error: { kind: "invalid-name" } });
  });
});

describe("directories of a home", () => {
  it("have fixed places", () => {
    expect(memoriesDirectory("/h")).toBe("/h/memories");
    expect(pendingWritesDirectory("/h")).toBe("/h/pending/memory");
  });

  it("give each user a scope of platform and hash", () => {
    expect(userScopeName("telegram", "7")).toBe(`telegram-${sha256("telegram\u00007").slice(0, 20)}`);
    expect(userMemoriesDirectory("/h", "telegram", "7")).toBe(
      `/h/memories/users/${userScopeName("telegram", "7")}`,
    );
  });

  it("make every scope a safe file name, and different users different scopes", () => {
    const seen = new Map<string, string>();
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (platform, userId) => {
        const scope = userScopeName(platform, userId);
        expect(scope).toMatch(/^[A-Za-z0-9_-]{1,32}-[0-9a-f]{20}$/);
        const user = JSON.stringify([platform, userId]);
        expect(seen.get(scope) ?? user).toBe(user);
        seen.set(scope, user);
      }),
    );
    expect(userScopeName("../..", "x")).not.toContain("/");
  });
});

describe("ensureHome", () => {
  const modeOf = (path: string) => statSync(path).mode & 0o777;

  it("creates the home and its folders for the owner only", () => {
    const home = join(userHome, "deep", "home");
    ensureHome(home, {});
    for (const path of [home, join(home, "memories"), join(home, "pending")])
      expect(modeOf(path)).toBe(0o700);
  });

  it("takes HERMES_HOME_MODE as octal, whatever the umask, and falls back to 0700", () => {
    for (const [text, mode] of [
      ["0750", 0o750],
      ["770", 0o770],
      ["rwx", 0o700],
      ["999", 0o700],
      ["0", 0o700],
    ] as const) {
      const home = mkdtempSync(join(userHome, "mode-"));
      ensureHome(home, { HERMES_HOME_MODE: text });
      expect(modeOf(join(home, "memories"))).toBe(mode);
    }
  });

  it("leaves the mode of existing directories alone", () => {
    const home = join(userHome, "shared");
    mkdirSync(home);
    chmodSync(home, 0o755);
    ensureHome(home, {});
    expect(modeOf(home)).toBe(0o755);
  });

  it("says what is in the way", () => {
    const home = join(userHome, "file");
    writeFileSync(home, "");
    expect(() => ensureHome(home, {})).toThrowError(expect.objectContaining({ code: "home-not-usable" }));
  });
});
