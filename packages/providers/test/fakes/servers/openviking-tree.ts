// The files and folders of one account of the fake OpenViking, with listing, reading and search by shared words.
import { inflateRawSync } from "node:zlib";
import { rank } from "./fake-server.ts";

export type VikingFile = {
  readonly uri: string;
  content: string;
  modTime: string;
  /** Search finds a file once it is indexed. */
  isIndexed: boolean;
};

export type ContextType = "memory" | "resource" | "skill";

export type Entry = {
  readonly name: string;
  readonly rel_path: string;
  readonly size: number;
  readonly mode: number;
  readonly modTime: string;
  readonly isDir: boolean;
  readonly uri: string;
  readonly abstract: string;
};

export const ROOT = "viking://";

const ABSTRACT_CHARS = 100;

export class VikingTree {
  readonly files = new Map<string, VikingFile>();
  /** Each folder with the description it was made with. */
  readonly folders = new Map<string, { readonly description: string; readonly modTime: string }>();

  kindOf(uri: string): "file" | "folder" | undefined {
    if (this.files.has(uri)) return "file";
    return uri === ROOT || this.folders.has(uri) ? "folder" : undefined;
  }

  /** Makes the folder and those above it. */
  makeFolder(uri: string, description = ""): void {
    if (uri === ROOT || this.folders.has(uri)) return;
    this.makeFolder(parentOf(uri));
    this.folders.set(uri, { description, modTime: new Date().toISOString() });
  }

  put(uri: string, content: string, isIndexed = true): void {
    this.makeFolder(parentOf(uri));
    this.files.set(uri, { uri, content, isIndexed, modTime: new Date().toISOString() });
  }

  remove(uri: string): void {
    for (const kind of [this.files, this.folders])
      for (const each of kind.keys()) if (each === uri || each.startsWith(`${uri}/`)) kind.delete(each);
  }

  /** What is below a folder, in the order of the names. */
  below(uri: string, levels: number): readonly Entry[] {
    const prefix = uri === ROOT ? ROOT : `${uri}/`;
    return [...this.folders.keys(), ...this.files.keys()]
      .filter((each) => each.startsWith(prefix) && each.slice(prefix.length).split("/").length <= levels)
      .sort()
      .map((each) => this.entry(each, prefix));
  }

  entry(uri: string, prefix = `${parentOf(uri)}/`): Entry {
    const file = this.files.get(uri);
    const time = file?.modTime ?? this.folders.get(uri)?.modTime ?? new Date(0).toISOString();
    return {
      name: nameOf(uri),
      rel_path: uri.slice(prefix.length),
      size: Buffer.byteLength(file?.content ?? ""),
      mode: file === undefined ? 0o755 : 0o644,
      modTime: time,
      isDir: file === undefined,
      uri,
      abstract: this.abstract(uri),
    };
  }

  /** The first characters of a file; of a folder its description, else the first characters of what is in it. */
  abstract(uri: string): string {
    const file = this.files.get(uri);
    if (file !== undefined) return file.content.slice(0, ABSTRACT_CHARS);
    const description = this.folders.get(uri)?.description ?? "";
    if (description !== "") return description;
    const texts = [...this.files.values()].filter((each) => each.uri.startsWith(`${uri}/`));
    return texts
      .map(({ content }) => content)
      .join(" ")
      .slice(0, ABSTRACT_CHARS);
  }

  overview(uri: string): string {
    const lines = this.below(uri, 1).map(({ name, abstract }) => `- ${name}: ${abstract}`);
    return [`# ${nameOf(uri)}`, ...lines].join("\n");
  }

  /** Indexed files with a shared word that pass the filter, best first. */
  find(
    query: string,
    isWanted: (file: VikingFile) => boolean,
  ): readonly { readonly item: VikingFile; readonly score: number }[] {
    const files = [...this.files.values()].filter((file) => file.isIndexed && isWanted(file));
    return rank(query, files, ({ content }) => content);
  }
}

/**
 * The kind of context, by the place of the file. Version 0.4 no longer takes `user/<user>/agent/<agent>/memories` for a place of memories.
 */
export function contextTypeOf(uri: string, isAgentPathMemory: boolean): ContextType {
  const segments = uri.slice(ROOT.length).split("/");
  if (segments.includes("skills")) return "skill";
  const [scope, , third] = segments;
  if (!segments.includes("memories") || (scope === "user" && third === "agent" && !isAgentPathMemory))
    return "resource";
  return "memory";
}

export function isWithin(uri: string, folder: string): boolean {
  return folder === ROOT || uri === folder || uri.startsWith(`${folder}/`);
}

function parentOf(uri: string): string {
  const at = uri.lastIndexOf("/");
  return at < ROOT.length ? ROOT : uri.slice(0, at);
}

function nameOf(uri: string): string {
  return uri.slice(Math.max(uri.lastIndexOf("/") + 1, ROOT.length));
}

// ---- Archives

export type ArchiveMember = { readonly name: string; readonly content: string };

/** The files of a zip archive; undefined if it is none. */
export function readZip(bytes: Uint8Array): readonly ArchiveMember[] | undefined {
  const data = Buffer.from(bytes);
  const end = data.lastIndexOf("PK\x05\x06", undefined, "latin1");
  if (end === -1) return undefined;
  const members: ArchiveMember[] = [];
  let at = data.readUInt32LE(end + 16);
  for (let count = data.readUInt16LE(end + 10); count > 0; count -= 1) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) =>
      data.readUInt16LE(at + offset),
    );
    const name = data.toString("utf8", at + 46, at + 46 + (nameLength ?? 0));
    const start = data.readUInt32LE(at + 42);
    const body = start + 30 + data.readUInt16LE(start + 26) + data.readUInt16LE(start + 28);
    const packed = data.subarray(body, body + data.readUInt32LE(at + 20));
    const content = data.readUInt16LE(at + 10) === 0 ? packed : inflateRawSync(packed);
    if (!name.endsWith("/")) members.push({ name, content: content.toString("utf8") });
    at += 46 + (nameLength ?? 0) + (extraLength ?? 0) + (commentLength ?? 0);
  }
  return members;
}
