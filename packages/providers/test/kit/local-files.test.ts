// Which local files a model may send to a memory service.
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  MAX_UPLOAD_BYTES,
  openFile,
  openFileOrFolder,
  UPLOAD_ROOTS,
  type UploadPolicy,
  uploadPolicy,
} from "../../src/kit/networked/local-files.ts";

/** A user's home directory with a Hermes home and a working directory in it, and a folder outside. */
const roots = (value: unknown) => UPLOAD_ROOTS.read(value, () => {});

function places() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "hermes-files-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const userHome = join(root, "home");
  const at = { home: join(userHome, "agent"), userHome, workingDirectory: join(userHome, "project") };
  for (const path of [...Object.values(at), join(root, "outside")]) mkdirSync(path, { recursive: true });
  const write = (path: string, text = "text"): string => {
    const full = join(root, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    return full;
  };
  const policy: UploadPolicy = { ...at, isOwner: true, roots: [] };
  const open = (path: string, own: Partial<UploadPolicy> = {}) => openFile(path, { ...policy, ...own });
  return { root, at, policy, write, open };
}

const OUTSIDE = { ok: false, error: expect.stringContaining("outside the working directory") };
const PRIVATE = { ok: false, error: expect.stringContaining("never sent") };

describe("a local file for upload", () => {
  it("is read from the working directory, and not from the rest of the home directory", async () => {
    const { write, open } = places();
    write("home/project/docs/plan.md", "# Plan");
    write("home/notes.txt", "notes");
    const plan = await open("docs/plan.md");
    if (!plan.ok) throw new Error(plan.error);
    expect(plan.value.name).toBe("plan.md");
    expect(await plan.value.blob.text()).toBe("# Plan");
    expect((await open("~/project/docs/plan.md")).ok).toBe(true);
    for (const path of ["~/notes.txt", "../notes.txt"]) expect(await open(path)).toMatchObject(OUTSIDE);
  });

  it("is read from upload_roots for the owner, and not for a user of a gateway", async () => {
    const { at, write, open } = places();
    const notes = write("home/notes/a.txt");
    write("home/project/plan.md");
    for (const roots of [[join(at.userHome, "notes")], ["~/notes"], ["/no/such/folder", "../notes"]]) {
      expect((await open(notes, { roots })).ok).toBe(true);
      expect(await open(notes, { roots, isOwner: false })).toMatchObject(OUTSIDE);
      expect((await open("plan.md", { roots, isOwner: false })).ok).toBe(true);
    }
  });

  it("is refused outside, also through a link, and nothing tells whether it exists", async () => {
    const { root, at, write, open } = places();
    const outside = write("outside/secret.txt");
    symlinkSync(outside, join(at.workingDirectory, "link.txt"));
    symlinkSync(dirname(outside), join(at.workingDirectory, "linked"));
    for (const path of [
      outside,
      "link.txt",
      "linked/secret.txt",
      join(root, "home/project/../../outside/secret.txt"),
      join(root, "outside/missing.txt"),
    ])
      expect(await open(path)).toMatchObject(OUTSIDE);
  });

  it.each([
    ".env",
    ".env.local",
    ".envrc",
    "prod.env",
    ".git/config",
    "sub/.git/HEAD",
    ".ssh/known_hosts",
    ".aws/config",
    ".hermes/state.db",
    "id_ed25519",
    "id_rsa.pub",
    "deploy_ed25519",
    "server.pem",
    "TLS.KEY",
    "vault.kdbx",
    "credentials.json",
    "client_secret_1.json",
    "secrets.yaml",
    "secrets/database.txt",
    "auth.json",
    ".netrc",
    ".npmrc",
    ".bash_history",
  ])("is refused when it may hold keys: %s", async (name) => {
    const { write, open } = places();
    write(`home/project/${name}`);
    expect(await open(name)).toMatchObject(PRIVATE);
  });

  it.each([
    "environment.md",
    "keyboard.ts",
    "github.md",
    ".gitignore",
    "monkey",
    "secretary.md",
    "history.md",
    "rsa.md",
  ])("is allowed when only its name is similar: %s", async (name) => {
    const { write, open } = places();
    write(`home/project/${name}`);
    expect((await open(name)).ok).toBe(true);
  });

  it("is refused when it belongs to Hermes, whatever is allowed, and by a link to it", async () => {
    const { at, write, open } = places();
    const state = write("home/agent/state.db");
    symlinkSync(state, join(at.workingDirectory, "notes.md"));
    const Hermes = { ok: false, error: expect.stringContaining("belongs to Hermes") };
    const roots = [at.userHome];
    for (const path of [state, "~/agent/state.db", "notes.md"])
      expect(await open(path, { roots })).toMatchObject(Hermes);
    expect(await open("state.db", { workingDirectory: at.home })).toMatchObject(Hermes);
  });

  it("is refused when the program works in the root of the disk or in a home directory", async () => {
    const { root, at, write, open } = places();
    const notes = write("home/notes.txt");
    for (const workingDirectory of ["/", root, at.userHome]) {
      expect(await open(notes, { workingDirectory })).toMatchObject(OUTSIDE);
      expect((await open(notes, { workingDirectory, roots: ["~"] })).ok).toBe(true);
    }
  });

  it("is refused above 50 MB, as a folder, and when it does not exist", async () => {
    const { write, open } = places();
    truncateSync(write("home/project/large.bin"), MAX_UPLOAD_BYTES + 1);
    truncateSync(write("home/project/limit.bin"), MAX_UPLOAD_BYTES);
    expect(await open("large.bin")).toMatchObject({ ok: false, error: expect.stringContaining("50 MB") });
    expect((await open("limit.bin")).ok).toBe(true);
    expect(await open(".")).toMatchObject({ ok: false, error: expect.stringContaining("Not a file") });
    expect(await open("missing.txt")).toEqual({ ok: false, error: "File not found: missing.txt" });
    for (const path of ["nul\0byte", "x".repeat(5_000)]) expect((await open(path)).ok).toBe(false);
    if (process.platform === "linux")
      expect(await open("/dev/null", { roots: ["/dev"] })).toMatchObject({ ok: false });
  });
});

describe("a local folder for upload", () => {
  it("has its files without links, private ones and the Hermes home", async () => {
    const { at, policy, write } = places();
    for (const name of [
      "a.md",
      "sub/deep/b.md",
      "sub/.git/config",
      ".env",
      "keys/server.pem",
      "secrets/x.md",
    ])
      write(`home/project/${name}`, name);
    write("home/agent/state.db");
    symlinkSync(write("outside/secret.txt"), join(at.workingDirectory, "link.txt"));
    symlinkSync(join(at.userHome, ".."), join(at.workingDirectory, "linked"));
    const names = async (path: string, roots: readonly string[] = []) => {
      const opened = await openFileOrFolder(path, { ...policy, roots });
      if (!opened.ok || opened.value.kind !== "folder") throw new Error(JSON.stringify(opened));
      return opened.value.files.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()]);
    };
    expect(await names(".")).toEqual(["a.md", "sub/deep/b.md"].map((name) => [name, name]));
    expect((await names("~", ["~"])).map(([name]) => name)).toEqual([
      "project/a.md",
      "project/sub/deep/b.md",
    ]);
  });

  it("is refused when it is empty, outside, or larger than 50 MB and 5,000 files together", async () => {
    const { at, policy, write } = places();
    for (const name of ["empty", "many", "large"]) mkdirSync(join(at.workingDirectory, name));
    for (const name of ["a", "b"])
      truncateSync(write(`home/project/large/${name}`), MAX_UPLOAD_BYTES / 2 + 1);
    for (let number = 0; number <= 5_000; number += 1)
      writeFileSync(join(at.workingDirectory, "many", String(number)), "");
    const error = async (path: string) => {
      const opened = await openFileOrFolder(path, policy);
      return opened.ok ? "" : opened.error;
    };
    expect(await error("empty")).toContain("no files");
    expect(await error("large")).toContain("at most 50 MB and 5000 files");
    expect(await error("many")).toContain("at most 50 MB and 5000 files");
    expect(await error("..")).toContain("outside");
    expect(await error("empty/none")).toContain("File not found");
  });
});

describe("the policy of a connection", () => {
  const of = (options: { user_id?: string }) =>
    uploadPolicy({ home: "/h", env: { HOME: "/u" }, options: { hermes_home: "/h", ...options } }, ["/r"]);

  it("knows the owner by the absence of a user, whoever shares the memory", () => {
    expect(of({})).toEqual({
      home: "/h",
      isOwner: true,
      roots: ["/r"],
      workingDirectory: process.cwd(),
      userHome: "/u",
    });
    expect(of({ user_id: "42" }).isOwner).toBe(false);
  });

  it("reads upload_roots like a search path", () => {
    expect(roots(["/a", " ~/b ", "", "/c"].join(delimiter))).toEqual(["/a", "~/b", "/c"]);
    for (const odd of [undefined, "", {}, ["/a"]]) expect(roots(odd)).toEqual([]);
  });
});
