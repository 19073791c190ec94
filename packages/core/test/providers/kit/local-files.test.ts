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
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { MAX_UPLOAD_BYTES, openForUpload } from "../../../src/providers/kit/networked/local-files.ts";

/** A user's home directory with a Hermes home and a working directory in it, and a folder outside. */
function places() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "hermes-files-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const userHome = join(root, "home");
  const at = { home: join(userHome, ".hermes"), userHome, workingDirectory: join(userHome, "project") };
  for (const path of [...Object.values(at), join(root, "outside")]) mkdirSync(path, { recursive: true });
  const write = (path: string, text = "text"): string => {
    const full = join(root, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    return full;
  };
  const open = (path: string, isOwner = true) => openForUpload(path, { ...at, isOwner });
  return { root, at, write, open };
}

describe("a local file for upload", () => {
  it("is read from the working directory and from the owner's home directory", async () => {
    const { write, open } = places();
    write("home/project/docs/plan.md", "# Plan");
    write("home/notes.txt", "notes");
    const plan = await open("docs/plan.md");
    if (!plan.ok) throw new Error(plan.error);
    expect(plan.value).toMatchObject({ name: "plan.md", size: 6 });
    expect(plan.value.blob.type).toBe("text/markdown");
    expect(await plan.value.blob.text()).toBe("# Plan");
    expect((await open("~/notes.txt")).ok).toBe(true);
    expect((await open("../notes.txt")).ok).toBe(true);
  });

  it("is only taken from the working directory for a user of a gateway", async () => {
    const { write, open } = places();
    write("home/project/plan.md");
    write("home/notes.txt");
    expect((await open("plan.md", false)).ok).toBe(true);
    expect(await open("~/notes.txt", false)).toMatchObject({ ok: false });
  });

  it("is refused outside, also through a link", async () => {
    const { root, at, write, open } = places();
    const outside = write("outside/secret.txt");
    symlinkSync(outside, join(at.workingDirectory, "link.txt"));
    for (const path of [outside, "link.txt", join(root, "home/project/../../outside/secret.txt")])
      expect(await open(path)).toMatchObject({ ok: false, error: expect.stringContaining("outside") });
  });

  it.each([
    ".env",
    ".env.local",
    ".git/config",
    "sub/.git/HEAD",
    ".ssh/known_hosts",
    "id_ed25519",
    "server.pem",
    "TLS.KEY",
    "credentials.json",
    ".netrc",
  ])("is refused when it may hold keys: %s", async (name) => {
    const { write, open } = places();
    write(`home/project/${name}`);
    expect(await open(name)).toMatchObject({ ok: false, error: expect.stringContaining("never sent") });
  });

  it("is refused when it belongs to Hermes, unless the agent works there", async () => {
    const { at, write, open } = places();
    write("home/.hermes/state.db");
    write("home/.hermes/work/report.md");
    expect(await open("~/.hermes/state.db")).toMatchObject({ ok: false });
    const own = { ...at, workingDirectory: join(at.home, "work"), isOwner: false };
    expect((await openForUpload("report.md", own)).ok).toBe(true);
    expect((await openForUpload("../state.db", own)).ok).toBe(false);
  });

  it("is not found everywhere when the program works in the root of the disk", async () => {
    const { at, write } = places();
    const outside = write("outside/secret.txt");
    const rooted = { ...at, workingDirectory: "/", isOwner: true };
    expect(await openForUpload(outside, rooted)).toMatchObject({ ok: false });
  });

  it("is refused above 50 MB, as a folder, and when it does not exist", async () => {
    const { write, open } = places();
    truncateSync(write("home/project/large.bin"), MAX_UPLOAD_BYTES + 1);
    truncateSync(write("home/project/limit.bin"), MAX_UPLOAD_BYTES);
    expect(await open("large.bin")).toMatchObject({ ok: false, error: expect.stringContaining("52428801") });
    expect((await open("limit.bin")).ok).toBe(true);
    expect(await open(".")).toMatchObject({ ok: false, error: expect.stringContaining("Not a file") });
    expect(await open("missing.txt")).toEqual({ ok: false, error: "File not found: missing.txt" });
    expect(await open("nul\0byte")).toMatchObject({ ok: false });
  });
});
