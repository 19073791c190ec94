/** JSON that no memory service sends as an answer. */
export const FORMS: readonly string[] = ['{"hello":1}', "[]", "null", '"ok"', "[1]"];
