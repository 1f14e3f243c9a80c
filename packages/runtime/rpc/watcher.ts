/** Implements watcher.v1.FileWatcherService, which published clients use. @module */
import type { ServiceImpl } from "@connectrpc/connect";
import { FileEventType, type FileWatcherService } from "../../runtime-api/gen/watcher/v1/watcher_pb.ts";
import type { Root } from "../confine.ts";
import { type Change, changesIn } from "../files/changes.ts";
import { wirePath } from "../http/httppath.ts";
import { codedError } from "./errors.ts";
import { throwIfBrokenOff } from "./lookup.ts";

/** Options of the service. */
export interface WatcherServiceOptions {
  root: Root;
  /** Aborts when the runtime begins to stop; absent: the runtime never stops. */
  stop?: AbortSignal;
}

const TYPES: Record<Change["type"], FileEventType> = {
  create: FileEventType.CREATE,
  write: FileEventType.WRITE,
  remove: FileEventType.REMOVE,
  rename: FileEventType.RENAME,
  chmod: FileEventType.CHMOD,
  error: FileEventType.ERROR,
};

/** Creates the service. */
export function createWatcherService({ root, stop }: WatcherServiceOptions): ServiceImpl<typeof FileWatcherService> {
  return {
    watchDir: async function* ({ path, recursive }, { signal: left }) {
      const signal = stop ? AbortSignal.any([left, stop]) : left;
      try {
        const folder = await wirePath(root, path || ".", "relative");
        for await (const change of changesIn(root, folder, { recursive, signal })) yield messageOf(change);
      } catch (error) {
        throw codedError(error);
      }
      throwIfBrokenOff(left);
    },
  };
}

function messageOf(change: Change) {
  const { type, path } = change;
  const oldPath = type === "rename" ? change.oldPath : "";
  return { type: TYPES[type], path, oldPath, error: type === "error" ? change.error : "" };
}
