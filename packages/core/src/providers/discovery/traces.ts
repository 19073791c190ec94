// What bundled providers that are not active still hold of a text, from an earlier time when they were. None of them is started.
import { BUNDLED_PROVIDERS } from "./bundled.ts";

/** One sentence for each that holds it, or may. */
export async function findTracesElsewhere(
  home: string,
  active: string,
  text: string,
): Promise<readonly { readonly provider: string; readonly found: string }[]> {
  const found = await Promise.all(
    BUNDLED_PROVIDERS.filter(({ name }) => name !== active).map(async ({ name, findTraces }) => {
      const told = await findTraces?.(home, text);
      return told === undefined ? [] : [{ provider: name, found: told }];
    }),
  );
  return found.flat();
}

/** Stores of the home's users, whichever provider is active: none of them is the owner's, so no command here erases in them. */
export async function findTracesOfUsers(
  home: string,
  text: string,
): Promise<readonly { readonly path: string; readonly reach: string }[]> {
  const found = await Promise.all(BUNDLED_PROVIDERS.map((each) => each.findUserTraces?.(home, text) ?? []));
  return found.flat();
}
