// Preloaded into a child process: makes the native module behind file locks fail to load, as on a platform without a build.
import { registerHooks } from "node:module";

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier === "koffi") throw new Error("koffi has no build for this platform");
    return nextResolve(specifier, context);
  },
});
