// Replacing a file: old or new, never anything between, and nothing left lying about.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { resolveLinks, writeFileAtomic } from "../../src/lib/index.ts";
import { startMounted, whyNoMounts } from "../fakes/mounts.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const modeOf = (path: string): number => statSync(path).mode & 0o7777;

describe("a new file", () => {
  it("is private unless asked otherwise", () => {
    const dir = tempDirectory();
    writeFileAtomic(join(dir, "a"), "text");
    writeFileAtomic(join(dir, "b"), "text", { mode: 0o644 });
    expect([modeOf(join(dir, "a")), modeOf(join(dir, "b"))]).toEqual([0o600, 0o644]);
    expect(readdirSync(dir).sort()).toEqual(["a", "b"]);
  });
});

describe("an existing file", () => {
  it("keeps its mode", () => {
    const path = join(tempDirectory(), "shared");
    writeFileSync(path, "old");
    chmodSync(path, 0o664);
    writeFileAtomic(path, "new");
    expect([readFileSync(path, "utf8"), modeOf(path)]).toEqual(["new", 0o664]);
  });

  it("gets the mode that is forced upon it", () => {
    const path = join(tempDirectory(), "secret");
    writeFileSync(path, "old");
    chmodSync(path, 0o644);
    writeFileAtomic(path, "new", { forceMode: 0o600 });
    expect(modeOf(path)).toBe(0o600);
  });

  it.skipIf(process.getuid?.() !== 0)("keeps its owner when root writes it", () => {
    const path = join(tempDirectory(), "theirs");
    writeFileSync(path, "old");
    execFileSync("chown", ["1234:4321", path]);
    writeFileAtomic(path, "new");
    expect(statSync(path)).toMatchObject({ uid: 1234, gid: 4321 });
  });
});

describe("an existing file in a directory that hands its group on", () => {
  it.skipIf(process.getuid?.() !== 0)("keeps its own group", () => {
    const dir = tempDirectory();
    const path = join(dir, "ours");
    writeFileSync(path, "old");
    execFileSync("chgrp", ["4321", dir]);
    chmodSync(dir, 0o2770);
    writeFileAtomic(path, "new");
    expect(statSync(path).gid).toBe(process.getgid?.());
  });
});

describe("a symbolic link", () => {
  it("stays a link, and its target gets the content", () => {
    const dir = tempDirectory();
    writeFileSync(join(dir, "real"), "old");
    symlinkSync("real", join(dir, "link"));
    expect(writeFileAtomic(join(dir, "link"), "new")).toBe(join(dir, "real"));
    expect(lstatSync(join(dir, "link")).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(dir, "real"), "utf8")).toBe("new");
  });

  it("that dangles has its target created", () => {
    const dir = tempDirectory();
    mkdirSync(join(dir, "far"));
    symlinkSync("far/real", join(dir, "link"));
    writeFileAtomic(join(dir, "link"), "new");
    expect(readFileSync(join(dir, "far", "real"), "utf8")).toBe("new");
    expect(readlinkSync(join(dir, "link"))).toBe("far/real");
  });

  it("is followed through a chain, with the temporary file beside its end", () => {
    const dir = tempDirectory();
    mkdirSync(join(dir, "far"));
    writeFileSync(join(dir, "far", "real"), "old");
    symlinkSync("far/real", join(dir, "second"));
    symlinkSync("second", join(dir, "first"));
    let seen: string[] = [];
    writeFileAtomic(join(dir, "first"), "new", {
      tempName: "half-done",
      beforeReplace: () => {
        seen = readdirSync(join(dir, "far")).sort();
      },
    });
    expect(seen).toEqual(["half-done", "real"]);
    expect(readFileSync(join(dir, "far", "real"), "utf8")).toBe("new");
  });

  it("is read as the system reads it when its directory is a link too", () => {
    const dir = tempDirectory();
    mkdirSync(join(dir, "deep", "home"), { recursive: true });
    writeFileSync(join(dir, "deep", "notes"), "old");
    symlinkSync("../notes", join(dir, "deep", "home", "link"));
    symlinkSync("deep/home", join(dir, "short"));
    writeFileAtomic(join(dir, "short", "link"), "new");
    expect(readFileSync(join(dir, "short", "link"), "utf8")).toBe("new");
    expect(readFileSync(join(dir, "deep", "notes"), "utf8")).toBe("new");
  });

  it("that leads in a circle is an error, not an endless loop", () => {
    const dir = tempDirectory();
    symlinkSync("b", join(dir, "a"));
    symlinkSync("a", join(dir, "b"));
    expect(() => resolveLinks(join(dir, "a"))).toThrow(expect.objectContaining({ code: "ELOOP" }));
  });
});

describe("a write that fails", () => {
  it("before the replacement leaves the target and no temporary file", () => {
    const dir = tempDirectory();
    writeFileSync(join(dir, "a"), "old");
    const stop = (): never => {
      throw new Error("changed my mind");
    };
    expect(() => writeFileAtomic(join(dir, "a"), "new", { beforeReplace: stop })).toThrow("changed my mind");
    expect(readFileSync(join(dir, "a"), "utf8")).toBe("old");
    expect(readdirSync(dir)).toEqual(["a"]);
  });

  it("shows the new content complete on disk before it replaces anything", () => {
    const dir = tempDirectory();
    const path = join(dir, "a");
    writeFileSync(path, "old");
    let both: string[] = [];
    writeFileAtomic(path, "new", {
      tempName: "t",
      beforeReplace: () => {
        both = [path, join(dir, "t")].map((each) => readFileSync(each, "utf8"));
      },
    });
    expect(both).toEqual(["old", "new"]);
  });

  it("because a directory is in the way leaves the directory and no temporary file", () => {
    const dir = tempDirectory();
    mkdirSync(join(dir, "a", "b"), { recursive: true });
    expect(() => writeFileAtomic(join(dir, "a"), "new")).toThrow();
    expect(readdirSync(dir)).toEqual(["a"]);
    expect(existsSync(join(dir, "a", "b"))).toBe(true);
  });

  it("never touches a temporary file that another writer owns", () => {
    const dir = tempDirectory();
    writeFileSync(join(dir, "t"), "theirs");
    expect(() => writeFileAtomic(join(dir, "a"), "new", { tempName: "t" })).toThrow(/EEXIST/);
    expect(readFileSync(join(dir, "t"), "utf8")).toBe("theirs");
  });
});

const MODULE = join(import.meta.dirname, "../../src/lib/files.ts");
const WRITE = `import { writeFileAtomic } from ${JSON.stringify(MODULE)};
  import { readdirSync, readFileSync, statSync } from "node:fs";
  const [dir, length] = process.argv.slice(1);
  let error;
  try { writeFileAtomic(dir + "/file", "n".repeat(Number(length)), { tempName: "t.tmp" }); } catch (cause) { error = cause; }
  const names = readdirSync(dir).sort();
  const kept = names.find((name) => name !== "file" && readFileSync(dir + "/" + name, "utf8") === "n".repeat(Number(length)));
  console.log(JSON.stringify({ code: error?.code, message: error?.message, names, kept, start: readFileSync(dir + "/file", "utf8").slice(0, 3),
    size: statSync(dir + "/file").size, mode: (statSync(dir + "/file").mode & 0o777).toString(8) }));`;

describe.skipIf(whyNoMounts)(
  `a single file mounted into a directory${whyNoMounts ? `: ${whyNoMounts}` : ""}`,
  () => {
    async function write(setUp: string, length: number): Promise<Record<string, unknown>> {
      const [dir, other] = [tempDirectory(), tempDirectory()];
      writeFileSync(join(dir, "file"), "");
      const child = startMounted(
        setUp,
        [dir, other],
        [process.execPath, "--input-type=module", "-e", WRITE, dir, String(length)],
      );
      return JSON.parse((await child.rest())[0]!) as Record<string, unknown>;
    }

    it("is overwritten in place, because nothing can be renamed onto it", async () => {
      const setUp =
        'printf "a longer old text" > "$2/real"; chmod 640 "$2/real"; mount --bind "$2/real" "$1/file"';
      expect(await write(setUp, 3)).toMatchObject({ names: ["file"], start: "nnn", size: 3, mode: "640" });
    });

    it("whose disk is full keeps the whole new content beside it, under a name nobody tidies away", async () => {
      const setUp =
        'mount -t tmpfs -o size=16k tmpfs "$2"; printf old > "$2/real"; head -c 9000 /dev/zero > "$2/ballast"; mount --bind "$2/real" "$1/file"';
      const outcome = await write(setUp, 9000);
      expect(outcome).toMatchObject({
        code: "overwrite-failed",
        message: expect.stringContaining("part-way"),
      });
      expect(outcome.kept).toBeDefined();
      expect(outcome.kept).not.toMatch(/\.tmp$/);
      expect(outcome.message).toContain(outcome.kept);
    });
  },
);
