/** mitmproxy with hookbox's addon, as a process of this machine that asks a policy of the test. @module */
import { execFileSync, spawn } from "node:child_process";
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { freePorts } from "../../dev/cluster/ports.ts";
import { type ImageSpec, librariesFor } from "../../dev/cluster/images.ts";
import type { Answer, Question } from "../../packages/egress/answer.ts";
import { canConnect } from "../../packages/egress/enforcement.ts";
import { createEgressMetrics, type EgressMetrics } from "../../packages/egress/metrics.ts";
import { createRefusalLog } from "../../packages/egress/refusallog.ts";
import { serveProxy } from "../../packages/egress/socket.ts";
import { systemClock } from "../../packages/process/clock.ts";
import { createLog } from "../../packages/process/log.ts";
import { createRegistry } from "../../packages/process/observability.ts";
import { type Packages, pythonWith } from "../clients/python.ts";
import { until } from "../eventually.ts";

const DEPLOY = fileURLToPath(new URL("../../deploy/egress/", import.meta.url));

const MITMPROXY: Packages = {
  name: "mitmproxy",
  label: "mitmproxy",
  requirements: fileURLToPath(new URL("requirements.txt", import.meta.url)),
};

export interface Proxy {
  port: number;
  /** The certificate authority of the proxy, PEM. */
  ca: string;
  /** What the proxy has logged. */
  log(): string;
  /** What the policy has logged. */
  policyLog: string[];
  metrics: EgressMetrics;
  /** The most memory that the proxy has used so far, in bytes. */
  peakMemory(): number;
  stop(): Promise<void>;
}

/** Makes a certificate that is its own authority. @param name its subject @param extensions as for `-addext` of openssl-req(1) */
export function selfSigned(name: string, ...extensions: string[]): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), "hookbox-egress-"));
  const files = ["key", "cert"].map((name) => join(folder, name)) as [string, string];
  const more = extensions.flatMap((extension) => ["-addext", extension]);
  const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", `/CN=${name}`, ...more];
  execFileSync("openssl", [...args, "-keyout", files[0], "-out", files[1]], { stdio: "pipe" });
  const [key = "", cert = ""] = files.map((file) => readFileSync(file, "utf8"));
  rmSync(folder, { recursive: true });
  return { key, cert };
}

/**
 * Starts both.
 *
 * @param ask answers its questions; undefined: nobody does
 * @param upstream certificate authority of the servers, PEM
 */
export async function startProxy(
  ask: ((question: Question) => Promise<Answer>) | undefined,
  upstream: string,
): Promise<Proxy> {
  const python = await pythonWith(MITMPROXY, () => {});
  const folder = mkdtempSync(join(tmpdir(), "hookbox-egress-"));
  const { key, cert } = selfSigned("proxy", "basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign");
  const confdir = join(folder, "conf");
  mkdirSync(confdir);
  writeFileSync(join(confdir, "mitmproxy-ca.pem"), key + cert);
  writeFileSync(join(folder, "ca.crt"), upstream);
  const socket = join(folder, "egress.sock");
  const policyLog: string[] = [];
  const stop = new AbortController();
  const log = createLog("debug", (line) => policyLog.push(line));
  const metrics = createEgressMetrics(createRegistry(false), () => "unknown", () => performance.now());
  const { signal } = stop;
  const logRefusal = createRefusalLog(log, systemClock, signal);
  const serving = ask && serveProxy(socket, { answer: ask, log, logRefusal, metrics, signal }).done;
  const [port = 0] = await freePorts(1);
  const args = deployed().args.map((arg) =>
    arg.replace("regular@3128", `regular@127.0.0.1:${port}`)
      .replace("/etc/hookbox/addon.py", join(DEPLOY, "addon.py"))
      .replace("/run/mitmproxy", confdir)
  );
  const env = { ...process.env, HOOKBOX_EGRESS_SOCKET: socket, HOOKBOX_EGRESS_UPSTREAM_CA: join(folder, "ca.crt") };
  const child = spawn(join(python, "../mitmdump"), args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => output += text);
  const ended = new Promise((resolve) => child.once("close", resolve));
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`mitmproxy has ended: ${output}`);
    return await canConnect("127.0.0.1", port);
  });
  return {
    ...{ port, ca: cert, log: () => output, policyLog, metrics },
    peakMemory() {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
    },
    async stop() {
      child.kill("SIGKILL");
      stop.abort();
      await Promise.all([ended, serving]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The image that deploy/egress names, from files of this machine: an interpreter, its library and the packages.
 *
 * @throws {Error} as `startProxy` does if there is no Python
 */
export async function mitmproxyImage(): Promise<ImageSpec> {
  const python = await pythonWith(MITMPROXY, () => {});
  const folder = join(python, "../..");
  const ask = "import sys, sysconfig; print(sys._base_executable); print(sysconfig.get_paths()['stdlib'])";
  const [base = "", library = ""] = execFileSync(python, ["-c", ask], { encoding: "utf8" }).split("\n");
  const natives = [join(library, "lib-dynload"), folder].flatMap((each) => globSync(join(each, "**/*.so")));
  const libraries = [realpathSync(base), ...natives].flatMap(librariesFor);
  // What is left out is large, and not the library's own.
  const unused = /^(test|idlelib|config-.*|site-packages|dist-packages)$/;
  const modules = readdirSync(library).filter((name) => !unused.test(name)).map((name) => join(library, name));
  const links = globSync(join(folder, "bin/python*")).map((link) => readlinkSync(link)).filter(isAbsolute);
  const { image } = deployed();
  return {
    name: `docker.io/${image}`,
    files: [
      ...[folder, ...modules].map((path) => ({ path, from: path })),
      ...[base, ...links].map((path) => ({ path, from: realpathSync(base), mode: 0o755 })),
      { path: "/usr/bin/mitmdump", link: join(folder, "bin/mitmdump") },
      { path: "/tmp", folder: true, mode: 0o777 },
      ...new Map(libraries.map((file) => [file.path, file])).values(),
    ],
    env: { PATH: "/usr/bin" },
  };
}

/** The container that deploy/egress has for it. */
function deployed(): { image: string; args: string[] } {
  const [deployment] = readFileSync(join(DEPLOY, "proxy.yaml"), "utf8").split("---\n").map((text) => parse(text));
  const { containers } = deployment.spec.template.spec;
  return containers.find(({ name }: { name: string }) => name === "proxy");
}
