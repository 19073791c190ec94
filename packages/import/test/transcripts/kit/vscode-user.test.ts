import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { pathOfUri, vscodeUserFolders, workspaceFolderOf } from "../../../src/transcripts/kit/vscode-user.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "hermes-vscode-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const place = { home: "/home/ana", env: {}, platform: "linux", cwd: "/home/ana" } as const;

it("lists the User folders of the named editors, with those of their remote servers", () => {
  expect(vscodeUserFolders(place, ["Cursor", "Antigravity"])).toEqual([
    "/home/ana/.config/Cursor/User",
    "/home/ana/.cursor-server/data/User",
    "/home/ana/.config/Antigravity/User",
  ]);
  expect(vscodeUserFolders({ ...place, platform: "darwin" }, ["Code"])[0]).toBe(
    "/home/ana/Library/Application Support/Code/User",
  );
  expect(vscodeUserFolders({ ...place, env: { XDG_CONFIG_HOME: "/home/ana/etc" } })[0]).toBe(
    "/home/ana/etc/Code/User",
  );
});

it("reads paths from file and remote URIs of every platform", () => {
  expect(pathOfUri("file:///home/ana/my%20project")).toBe("/home/ana/my project");
  expect(pathOfUri("file:///c%3A/Users/ana/shop")).toBe("c:\\Users\\ana\\shop");
  expect(pathOfUri("vscode-remote://ssh-remote%2Bbox/srv/shop")).toBe("/srv/shop");
  expect(pathOfUri("/home/ana/shop")).toBe("/home/ana/shop");
  expect(pathOfUri("untitled:Untitled-1")).toBeUndefined();
  expect(pathOfUri(7)).toBeUndefined();
});

it.each([
  ['{"folder":"file:///home/ana/shop"}', "/home/ana/shop"],
  ['{"workspace":"file:///home/ana/shop/all.code-workspace"}', "/home/ana/shop"],
  ['{"workspace":"file:///home/ana/.config/Code/User/Workspaces/17/workspace.json"}', undefined],
  ['{"folder"', undefined],
])("finds the project of a workspace: %s", async (text, expected) => {
  await mkdir(join(folder, "a1"));
  await writeFile(join(folder, "a1", "workspace.json"), text);
  expect(await workspaceFolderOf(join(folder, "a1"))).toBe(expected);
  expect(await workspaceFolderOf(join(folder, "missing"))).toBeUndefined();
});
