/** A Python that has imported the client and runs programs as forks of itself, see forkserver.py. @module */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Kubectl } from "../integration/kubectl.ts";
import { makeTempFolder } from "../tempfolder.ts";

const SCRIPT = fileURLToPath(new URL("forkserver.py", import.meta.url));

/** A program that runs. */
export interface Fork {
  /** Its stdin and stdout. */
  stdio: Socket;
  stderr: Socket;
  /** Its exit code, or minus the number of the signal that ended it. */
  code: Promise<number>;
  /** Ends it, if it has not ended. */
  kill(): void;
}

export interface ForkServer {
  /** Runs a program to which `args` are given. @throws {Error} if the server has ended */
  fork(path: string, args: string[]): Promise<Fork>;
}

type Told = { socket: string; pid: number; code?: undefined } | { pid: number; code: number };

/** Starts the server, which ends with this process. The client finds the cluster as any user's does: by KUBECONFIG. */
export function startForkServer(python: string, { kubectl, kubeconfig }: Kubectl): ForkServer {
  // The client forwards a port by the kubectl that it finds.
  const PATH = `${dirname(kubectl)}:${process.env["PATH"]}`;
  // Neither other packages of the user nor files written next to the programs.
  const child = spawn(python, ["-E", "-s", "-B", SCRIPT], {
    env: { ...process.env, PATH, KUBECONFIG: kubeconfig },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const begun = new Map<string, (pid: number) => void>();
  const ends = new Map<number, (code: number) => void>();
  const gone = once(child, "close").then(([code]) => {
    throw new Error(`Cannot run Python programs: ${SCRIPT} ended with ${code}`);
  });
  gone.catch(() => {});
  createInterface({ input: child.stdout }).on("line", (line) => {
    const told: Told = JSON.parse(line);
    if (told.code === undefined) return begun.get(told.socket)?.(told.pid);
    ends.get(told.pid)?.(told.code);
    // It may soon be another's.
    ends.delete(told.pid);
  });
  return {
    async fork(path, args) {
      const socket = join(makeTempFolder(), "program.sock");
      const server = createServer();
      server.listen(socket);
      await once(server, "listening");
      const ended = Promise.withResolvers<number>();
      const started = new Promise<number>((resolve) =>
        begun.set(socket, (pid) => {
          ends.set(pid, ended.resolve);
          resolve(pid);
        })
      );
      child.stdin.write(`${JSON.stringify({ path, args, socket })}\n`);
      try {
        const connections = connectionsOf(server);
        const [stdio, stderr] = await Promise.race([connections, gone]);
        const pid = await started;
        const kill = () => {
          try {
            if (ends.has(pid)) process.kill(pid, "SIGKILL");
          } catch {
            // It has ended this moment.
          }
        };
        return { stdio, stderr, code: Promise.race([ended.promise, gone]), kill };
      } finally {
        server.close();
      }
    },
  };
}

/** Waits for two. */
async function connectionsOf(server: Server): Promise<[Socket, Socket]> {
  const connections: Socket[] = [];
  const both = Promise.withResolvers<void>();
  server.on("connection", (connection) => {
    // One that is killed says nothing any more.
    connection.on("error", () => {});
    if (connections.push(connection) === 2) both.resolve();
  });
  await both.promise;
  return connections as [Socket, Socket];
}
