// The `User` folders of VS Code and the editors made from it, and the project that belongs to a folder of `workspaceStorage`.
import { join, posix, win32 } from "node:path";
import { fileURLToPath } from "node:url";
import type { Place } from "../reader.ts";
import { recordAt } from "./json-array.ts";
import { configFolder } from "./places.ts";
import { textOf } from "./values.ts";

/** The names of the editors' configuration folders, with the folder that their remote server makes in the home of the remote user. */
const SERVERS: Readonly<Record<string, string>> = {
  Code: ".vscode-server",
  "Code - Insiders": ".vscode-server-insiders",
  VSCodium: ".vscodium-server",
  Cursor: ".cursor-server",
  Windsurf: ".windsurf-server",
};

/** Where each of the `apps` (all that are known, if missing) keeps its `User` folder, here and as a remote host. They need not exist. */
export function vscodeUserFolders(place: Place, apps: readonly string[] = Object.keys(SERVERS)): string[] {
  const base = configFolder(place);
  return apps.flatMap((app) => {
    const server = SERVERS[app];
    const remote = server === undefined ? [] : [join(place.home, server, "data", "User")];
    return [join(base, app, "User"), ...remote];
  });
}

const UNTITLED = /[\\/]Workspaces[\\/][^\\/]+[\\/][^\\/]+$/;

/** The project folder that `workspace.json` in a folder of `workspaceStorage` names. Undefined if the file is missing or unreadable. */
export async function workspaceFolderOf(storageFolder: string): Promise<string | undefined> {
  const found = await recordAt(join(storageFolder, "workspace.json")); // a window without a folder has none
  const folder = pathOfUri(found?.folder);
  if (folder !== undefined) return folder;
  const file = pathOfUri(found?.workspace ?? found?.configuration);
  // An untitled workspace of several folders lies in the editor's own `Workspaces` folder, which says nothing about the project.
  if (file === undefined || UNTITLED.test(file)) return undefined;
  return isWindowsPath(file) ? win32.dirname(file) : posix.dirname(file);
}

/** The path in a `file:` or `vscode-remote:` URI; a plain absolute path is given back as it is. */
export function pathOfUri(value: unknown): string | undefined {
  const text = textOf(value);
  if (text === undefined) return undefined;
  if (text.startsWith("/") || isWindowsPath(text)) return text;
  try {
    const { protocol, host, pathname } = new URL(text);
    if (protocol === "vscode-remote:") return decodeURIComponent(pathname);
    if (protocol !== "file:") return undefined;
    return fileURLToPath(text, { windows: host !== "" || /^\/[a-z](?::|%3a)/i.test(pathname) });
  } catch {
    return undefined;
  }
}

function isWindowsPath(path: string): boolean {
  return /^(?:[a-z]:[\\/]|\\\\)/i.test(path);
}
