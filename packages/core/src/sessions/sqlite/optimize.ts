// What `hermes sessions optimize` does: finishes and merges our search index, then gives free space back.
import type { LongWork, OptimizeOutcome, SessionStore } from "../store.ts";
import type { StoreContext } from "./context.ts";
import { databaseBytes, giveSpaceBack, mergeIndex } from "./maintenance.ts";

export type OptimizeOperations = Pick<SessionStore, "optimize">;

export function optimizeOperations({ connection, index }: StoreContext): OptimizeOperations {
  return {
    async optimize(work: LongWork & { readonly vacuum?: boolean } = {}): Promise<OptimizeOutcome> {
      connection.refuseIfReadOnly();
      const { signal, onProgress } = work;
      const bytesBefore = await databaseBytes(connection);
      const outcome = async (
        vacuum: OptimizeOutcome["vacuum"],
        finished: boolean,
      ): Promise<OptimizeOutcome> => ({
        bytesBefore,
        bytesAfter: await databaseBytes(connection),
        vacuum,
        finished,
      });
      const isBuilt = await index.finish({
        ...(signal && { signal }),
        onProgress: (done, total) => onProgress?.({ step: "building the search index", done, total }),
      });
      if (!isBuilt) return outcome("not-asked", false);
      onProgress?.({ step: "merging the search index", done: 0, total: 1 });
      await mergeIndex(connection, signal);
      if (signal?.aborted) return outcome("not-asked", false);
      if (work.vacuum === false) return outcome("not-asked", true);
      onProgress?.({ step: "giving space back", done: 0, total: 1 });
      return outcome(await giveSpaceBack(connection), true);
    },
  };
}
