// Where things are in a home.
export {
  type HomeContext,
  memoriesDirectory,
  pendingWritesDirectory,
  resolveHome,
  type SessionFiles,
  sessionFiles,
  systemHomeContext,
  userMemoriesDirectory,
} from "../home.ts";
