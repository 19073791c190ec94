// Most of a child's life is spent on stripping types from our sources; Node can keep the result. Measured: 0.14 instead of 0.36 s of
// processor time for `hermes config check`.
import { join } from "node:path";

export const NODE_COMPILE_CACHE = join(import.meta.dirname, "../../../../node_modules/.cache/compile");
