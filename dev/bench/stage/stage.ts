/** What a run is performed on: an API server and, where they are known, the processes behind the API. No behaviour. @module */
import type { Api } from "../../../packages/kube/api.ts";
import type { Command } from "../load/command.ts";
import type { SandboxClient } from "../../../packages/sdk/client.ts";
import type { Watched } from "../measure/processes.ts";
import type { RequestLog } from "../measure/requestlog.ts";

export interface Stage {
  api: Api;
  requests: RequestLog;
  /** Processes to account for; the load's own comes last. */
  processes: Watched[];
  /** Base URLs whose `/metrics` tell of hook calls. */
  hookURLs: string[];
  /** What applies the hooks' answers, for the reader; undefined where that is not ours. */
  engine?: string;
  /** Runs a command in a Pod; undefined where nodes run no containers. */
  command?: Command;
  /** The SDK, by port-forward; undefined where nodes run no runtime. */
  sdk?: SandboxClient;
  /** Takes CPU profiles from now on, for as long as one lasts; undefined unless asked for. */
  profile?: () => Promise<void>;
  close(): Promise<void>;
}
