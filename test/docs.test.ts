import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { commandReference } from "../scripts/command-reference.ts";
import { withConfigTable } from "../scripts/config-reference.ts";
import { withRouteTable } from "../scripts/route-reference.ts";

const root = resolve(import.meta.dirname, "..");
const pages = [
  "README.md",
  "AGENTS.md",
  ...readdirSync(join(root, "packages"))
    .map((name) => `packages/${name}/README.md`)
    .filter((page) => existsSync(join(root, page))),
  "CHANGELOG.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

describe("the documentation", () => {
  it("lists the commands as they are (npm run docs writes the page)", async () => {
    expect(readFileSync(join(root, "docs", "commands.md"), "utf8")).toBe(await commandReference());
  });

  it("lists the config keys as they are (npm run docs writes the table)", () => {
    const page = readFileSync(join(root, "docs", "config.md"), "utf8");
    expect(page).toBe(withConfigTable(page));
  });

  it("lists the routes of the gateway as they are (npm run docs writes the table)", () => {
    const page = readFileSync(join(root, "docs", "gateway.md"), "utf8");
    expect(page).toBe(withRouteTable(page));
  });

  /** Those that the packages contain (FOR_MAINTAINERS in scripts/build.ts). */
  const published = pages.filter((page) => !/^(?:AGENTS|docs\/(?:architecture|style|decisions))/.test(page));
  it.each(published)("%s sends nobody into the sources", (page) => {
    const text = readFileSync(join(root, page), "utf8");
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map((match) => match[1] as string);
    expect(links.filter((link) => /(?:^|\/)(?:src|test|testing|scripts|bench)\//.test(link))).toEqual([]);
  });

  it.each(pages)("%s links only to what exists", (page) => {
    const text = readFileSync(join(root, page), "utf8");
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map((match) => match[1] as string);
    expect(links.filter((link) => !existsSync(resolve(root, dirname(page), link)))).toEqual([]);
  });
});
