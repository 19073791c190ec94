// Imports point down the picture in AGENTS.md. This reads the import lines and names every edge that does not.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { describe, expect, it } from "vitest";

const source = resolve(import.meta.dirname, "../src");

/** From the ground up. A room may import rooms of lower floors, and itself. */
const FLOORS: readonly (readonly string[])[] = [
  ["lib"],
  ["security", "home", "version"],
  ["config", "profiles"],
  ["curated", "providers", "sessions", "skills"],
  ["prompt", "context", "models"],
  ["agent", "curator", "migrate"],
  ["mcp", "gateway"],
  ["cli", "index"],
];

type Edge = { readonly file: string; readonly target: string; readonly from: string; readonly to: string };

const edges = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .flatMap(edgesOf);

describe("architecture", () => {
  it("knows the floor of every room", () => {
    const rooms = new Set(edges.flatMap(({ from, to }) => [from, to]));
    expect([...rooms].filter((room) => floorOf(room) === undefined)).toEqual([]);
  });

  it("lets imports point down only", () => {
    const upward = edges.filter(({ from, to }) => from !== to && (floorOf(from) ?? 0) <= (floorOf(to) ?? 0));
    expect(upward.map(show)).toEqual([]);
  });

  it("keeps the memory layers apart", () => {
    const layers = FLOORS[3] as readonly string[];
    const crossing = edges.filter(
      ({ from, to }) => from !== to && layers.includes(from) && layers.includes(to),
    );
    expect(crossing.map(show)).toEqual([]);
  });

  it("enters other rooms through their door", () => {
    const around = edges.filter(
      ({ from, to, target }) => from !== to && target.includes(sep) && target !== join(to, "index.ts"),
    );
    // The logger stays outside lib's door: hardly any command writes a log, and none should load it unasked.
    expect(around.filter(({ target }) => target !== join("lib", "logger.ts")).map(show)).toEqual([]);
  });

  it("prints to the console only through the terminal", () => {
    const loud = edges.filter(({ file }) => /\bconsole\./.test(readFileSync(join(source, file), "utf8")));
    expect([...new Set(loud.map(({ file }) => file))]).toEqual([]);
  });
});

/** Static and dynamic imports of our own files. */
function edgesOf(file: string): Edge[] {
  const text = readFileSync(join(source, file), "utf8");
  const specifiers = [...text.matchAll(/(?:from\s+|import\()\s*"(\.[^"]+\.ts)"/g)].map(
    (match) => match[1] as string,
  );
  return specifiers.map((specifier) => {
    const target = relative(source, resolve(dirname(join(source, file)), specifier));
    return { file, target, from: roomOf(file), to: roomOf(target) };
  });
}

function roomOf(file: string): string {
  const [first = ""] = file.split(sep);
  return first.replace(/\.ts$/, "");
}

function floorOf(room: string): number | undefined {
  const floor = FLOORS.findIndex((rooms) => rooms.includes(room));
  return floor < 0 ? undefined : floor;
}

function show({ file, target }: Edge): string {
  return `${file} -> ${target}`;
}
