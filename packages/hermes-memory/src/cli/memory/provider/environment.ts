// Variables of this process that a setup has just saved.

/** What was saved a moment ago counts from now on, whatever it was before. */
export function useVariables(variables: Readonly<Record<string, string>>): void {
  Object.assign(process.env, variables);
}
