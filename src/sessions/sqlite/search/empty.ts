// Why a search shows nothing: there may be something where the filters forbid to look.
import { readScope } from "../../scope.ts";
import type { EmptyReason, SearchOptions } from "../../search/types.ts";

/** `finds`: whether the same query has an answer under other options. */
export function whyEmpty(options: SearchOptions, finds: (options: SearchOptions) => boolean): EmptyReason {
  if (options.excludeSessionIds?.length && finds({ ...options, excludeSessionIds: [] }))
    return "excluded-sessions";
  if (options.excludeSources?.length && finds({ ...options, excludeSources: [] })) return "hidden-sources";
  if (!isFiltered(options)) return "no-match";
  const { includeInactive } = options;
  // What belongs to others, and what was taken back, is not there at all.
  const bare: SearchOptions = {
    ...readScope(options),
    ...(includeInactive ? { includeInactive } : {}),
  };
  return finds(bare) ? "filtered" : "no-match";
}

function isFiltered(options: SearchOptions): boolean {
  const { sourceFilter, sessionIds, after, before } = options;
  const { excludeSources, excludeSessionIds, excludeMessageIds, roleFilter } = options;
  return (
    [sourceFilter, sessionIds, after, before].some((filter) => filter !== undefined) ||
    [excludeSources, excludeSessionIds, excludeMessageIds, roleFilter].some((list) => (list?.length ?? 0) > 0)
  );
}
