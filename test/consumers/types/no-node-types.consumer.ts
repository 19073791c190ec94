// A project without @types/node, outside of any other: it compiles as long as libraries are not checked, and if they are, the compiler
// says what to install. With @types/node there is nothing to complain about. TypeScript 5.9 and 7.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installed, tryNode } from "../kit.ts";

const project = mkdtempSync(join(tmpdir(), "hermes-consumer-"));
const copy = (name: string): void =>
  cpSync(installed(name), join(project, "node_modules", name), { recursive: true });
const compile = async (typescript: string, options: object): Promise<string> => {
  const compilerOptions = { noEmit: true, strict: true, module: "nodenext", target: "es2022", ...options };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["index.ts"] }));
  return (await tryNode([installed(typescript, "bin", "tsc"), "-p", "."], { cwd: project })).stdout;
};

try {
  copy("@hermes-memory/core");
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
  writeFileSync(
    join(project, "index.ts"),
    `import { openMemory } from "@hermes-memory/core";
     const memory = await openMemory({ home: "data" });
     const { id } = await memory.owner.add("Prefers metric units");
     export const text: string = id;
     // @ts-expect-error: a number, so the types are there
     export const wrong: number = id;`,
  );
  for (const typescript of ["typescript", "typescript7"]) {
    assert.equal(await compile(typescript, { skipLibCheck: true }), "");
    assert.match(await compile(typescript, { skipLibCheck: false }), /npm i --save-dev @types\/node/);
  }
  copy("@types/node");
  copy("undici-types");
  for (const typescript of ["typescript", "typescript7"])
    assert.equal(await compile(typescript, { skipLibCheck: false, types: ["node"] }), "");
} finally {
  rmSync(project, { recursive: true, force: true });
}
console.log("TypeScript 5.9 and 7, with and without @types/node");
