// Plugins as users copy them into a home.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Writes `<home>/plugins/<name>/<file>` for each file and returns the plugin's directory. */
export function writePlugin(home: string, name: string, files: Readonly<Record<string, string>>): string {
  const directory = join(home, "plugins", name);
  mkdirSync(directory, { recursive: true });
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), text);
  }
  return directory;
}

/** Members of an object or class body: the required members of a provider, and more. */
export function members(more = ""): string {
  return `
    isAvailable() { return true; }
    initialize() {}
    getToolSchemas() { return []; }
    ${more}
  `;
}

/** The source of an exported class, valid as JavaScript and as TypeScript. */
export function providerClass(className: string, options: { name?: string; more?: string } = {}): string {
  return `export class ${className} {
    get name() { return ${JSON.stringify(options.name ?? "sample")}; }
    ${members(options.more)}
  }
`;
}

/** The source of a plugin that registers the class as the documentation shows. */
export function registeringPlugin(options: { name?: string; more?: string } = {}): string {
  return `${providerClass("SampleMemoryProvider", options)}
export function register(ctx) { ctx.registerMemoryProvider(new SampleMemoryProvider()); }
`;
}

export const MANIFEST_TEXT = 'name: sample\nversion: 1.10\ndescription: "Keeps samples"\n';
