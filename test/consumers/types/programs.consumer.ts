// The programs of this folder, type-checked against the packed packages and other people's, with TypeScript 5.9.
import { inRoot, installed, node } from "../kit.ts";

await node([installed("typescript", "bin", "tsc"), "-p", inRoot("test/consumers")]);
console.log("no complaint");
