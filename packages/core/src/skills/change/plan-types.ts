// What a call would do, as data: shown as a difference, staged, or carried out.
import type { CatalogContents } from "../catalog/catalog.ts";
import type { FrontmatterParser } from "../frontmatter/parse.ts";
import type { SkillStore } from "../store.ts";
import type { Skill, SkillAction, SkillOrigin } from "../types.ts";

/** Where a skill is, or will be. */
export type SkillPlace = Pick<Skill, "directoryName" | "relativePath" | "root" | "directory" | "isExternal">;

/** What the caller is told once it is done. */
export type Reply = Readonly<Record<string, unknown>>;

/** As the history has it. */
type ChangeAction = SkillAction | "archive" | "restore";

type Shared = { readonly action: ChangeAction; readonly place: SkillPlace; readonly reply: Reply };
type OneFile = { readonly file: string; readonly path: string };

export type Plan =
  | (Shared &
      OneFile & {
        readonly kind: "write";
        /** Undefined: the file is new. */
        readonly before: Uint8Array | undefined;
        readonly after: string;
      })
  | (Shared & OneFile & { readonly kind: "remove"; readonly before: Uint8Array })
  | (Shared & {
      readonly kind: "delete";
      /** Archived skills stay listed as such; deleted ones only the history can bring back. */
      readonly destination: "archive" | "deleted";
      readonly absorbedInto?: string;
    });

/** What a plan is made from: the disk as it is while the lock is held. */
export type Scene = {
  readonly store: SkillStore;
  readonly contents: CatalogContents;
  readonly parse: FrontmatterParser;
  readonly origin: SkillOrigin;
};
