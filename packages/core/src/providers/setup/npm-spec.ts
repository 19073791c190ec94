// What a plugin may ask npm for. Pure.
import { pyStrip } from "../../lib/index.ts";

const PACKAGE_NAME = /^(?:@[A-Za-z0-9._~-]+\/)?[A-Za-z0-9_~][A-Za-z0-9._~-]*$/;

/** Nothing that npm would take for an option, and nothing that has no business in a list of packages. */
export function isUsableSpec(spec: string): boolean {
  return spec !== "" && pyStrip(spec) === spec && !spec.startsWith("-") && !/[\x00-\x1f\x7f]/.test(spec);
}

/** `@scope/name@^1` -> `@scope/name`. Undefined where the spec is an address or a path, which tells no name. */
export function packageNameOf(spec: string): string | undefined {
  const at = spec.indexOf("@", 1);
  const name = pyStrip(at === -1 ? spec : spec.slice(0, at));
  return PACKAGE_NAME.test(name) ? name : undefined;
}
