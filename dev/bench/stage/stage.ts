/** The environment of a run: an API server and, if they are known, the processes of the implementation. @module */
import type { Api } from "../../../packages/kube/api.ts";
import type { Command } from "../load/command.ts";
import type { SandboxClient } from "../../../packages/sdk/client.ts";
import type { Watched } from "../measure/processes.ts";
import type { RequestLog } from "../measure/requestlog.ts";

export interface Stage {
  api: Api;
  requests: RequestLog;
  /** Processes to measure. The load's own comes last. */
  processes: Watched[];
  /** Base URLs of hooks that have `/metrics` about their calls. */
  hookURLs: string[];
  /** What applies the hooks' answers, for readers; undefined: the bench has not started it. */
  engine?: string;
  /** Runs a command in a Pod; undefined: the nodes run no containers. */
  command?: Command;
  /** The SDK, which uses port-forward; undefined: the nodes do not run the runtime. */
  sdk?: SandboxClient;
  /** Takes CPU profiles from now on; undefined: the options do not ask for them. */
  profile?: () => Promise<void>;
  close(): Promise<void>;
}
