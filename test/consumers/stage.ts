/** Prepares an installation for clients: a pool, an account with its rights, and a Pod for clients inside the cluster. @module */
import { spawn } from "node:child_process";
import { dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "../../dev/cluster/binaries.ts";
import type { Kubectl } from "../integration/kubectl.ts";
import { makeNamespace, type Namespace } from "../integration/namespace.ts";
import { aPool, aTemplate, untilFull } from "../integration/pools.ts";
import type { Installed } from "../node/installed.ts";

/** An installation, with a namespace for clients. */
export interface Stage {
  cluster: Kubectl;
  ns: Namespace;
  /** The image of sandboxes. */
  image: string;
  /** Address of the router's Service. */
  router: string;
  /** Of the ServiceAccount `client`, which may use and reach the sandboxes of the namespace. */
  token: string;
  /** Takes note of what is to be done when the tests are over. */
  atEnd: (end: () => Promise<void>) => void;
  /** Runs a program on this machine, as an administrator of the cluster. */
  here(command: string, args: string[], options?: Options): Promise<string>;
  /** Runs a Python of this machine in a Pod, as the ServiceAccount `client`. */
  inside(python: string, args: string[]): Promise<string>;
}

interface Options {
  env?: Record<string, string>;
  cwd?: string;
  /** Whether to return what the program prints even if it fails. */
  anyhow?: boolean;
}

/** A pool whose sandboxes only the router may reach, and one whose sandboxes the Pod `client` may reach, too. */
export const POOL = "python";
export const OPEN_POOL = "open";

/** The folder of programs. */
export const PROGRAMS = fileURLToPath(new URL("programs", import.meta.url));
const CLIENT = { name: "client", labels: { app: "client" } };

/** Returns the path of a program in `programs/`. */
export function programOf(name: string): string {
  return `${PROGRAMS}/${name}`;
}

/** Prints a line about what takes long. */
export function say(line: string): void {
  process.stdout.write(`consumers: ${line}\n`);
}

/** @param atEnd takes note of what is to be done when the tests are over */
export async function prepare(
  { cluster, json }: Installed,
  image: string,
  atEnd: (end: () => Promise<void>) => void,
): Promise<Stage> {
  const ns = await makeNamespace(cluster(), atEnd);
  await ns.apply(aTemplate(POOL, {}, podSpecOf(image)), aPool(POOL, 1));
  await ns.kubectl("create", "serviceaccount", CLIENT.name);
  for (const role of ["edit", "hookbox-sandbox-user"]) {
    await ns.kubectl(
      "create",
      "rolebinding",
      role,
      `--clusterrole=${role}`,
      `--serviceaccount=${ns.name}:${CLIENT.name}`,
    );
  }
  await untilFull(ns, POOL);
  const { spec } = await json("-n", "agent-sandbox-system", "get", "service", "sandbox-router-svc");
  let ready: Promise<void> | undefined;
  const here: Stage["here"] = (command, args, options) => runHere(cluster(), command, args, options);
  return {
    cluster: cluster(),
    ns,
    image,
    router: `http://${spec.clusterIP}:8080`,
    token: (await ns.kubectl("create", "token", CLIENT.name)).trim(),
    atEnd,
    here,
    inside: async (python, args) => {
      ready ??= hostFolders(here, python).then((folders) => startInside(ns, image, folders));
      await ready;
      return await ns.kubectl("exec", CLIENT.name, "--", python, "-B", ...args);
    },
  };
}

/** Folders of this machine for a Pod, which runs on it: programs, environments and the Python that they are made of. */
export async function hostFolders(here: Stage["here"], python: string) {
  const prefix = (await here(python, ["-c", "import sys; print(sys.base_prefix)"])).trim();
  const folders = [PROGRAMS, cacheFolder(), ...prefix === "/usr" ? [] : [prefix]];
  return {
    volumes: folders.map((path, index) => ({ name: `f${index}`, hostPath: { path } })),
    volumeMounts: folders.map((mountPath, index) => ({ name: `f${index}`, mountPath, readOnly: true })),
  };
}

/** Starts the Pod that clients run in, and the pool whose sandboxes the Pod may reach. */
async function startInside(
  ns: Namespace,
  image: string,
  { volumes, volumeMounts }: Awaited<ReturnType<typeof hostFolders>>,
): Promise<void> {
  const from = [{ podSelector: { matchLabels: CLIENT.labels } }];
  const networkPolicy = { ingress: [{ from }], egress: [{}] };
  await ns.apply(aTemplate(OPEN_POOL, { networkPolicy, service: true }, podSpecOf(image)), aPool(OPEN_POOL, 1));
  const securityContext = { runAsUser: 0 };
  const container = { name: "main", image, command: ["sleep", "86400"], volumeMounts, securityContext };
  const spec = { serviceAccountName: CLIENT.name, terminationGracePeriodSeconds: 0, containers: [container], volumes };
  await ns.apply({ apiVersion: "v1", kind: "Pod", metadata: CLIENT, spec });
  await ns.kubectl("wait", "--for=condition=Ready", `pod/${CLIENT.name}`, "--timeout=600s");
  await untilFull(ns, OPEN_POOL);
}

/** Runs a program of a user. @returns what it printed @throws {Error} with its output if it fails */
function runHere(
  { kubectl, kubeconfig }: Kubectl,
  command: string,
  args: string[],
  { env = {}, cwd, anyhow = false }: Options = {},
): Promise<string> {
  const PATH = `${dirname(kubectl)}:${process.env["PATH"]}`;
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, PATH, KUBECONFIG: kubeconfig, PYTHONDONTWRITEBYTECODE: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (part) => said.stdout += part);
  child.stderr.setEncoding("utf8").on("data", (part) => said.stderr += part);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0 || anyhow) return resolve(said.stdout);
      reject(new Error(`${command} ${args.join(" ")} ended with ${code}\n${said.stdout}${said.stderr}`));
    });
  });
}

/** The pod spec of sandboxes, as in examples/python.yaml. */
export function podSpecOf(image: string) {
  const readinessProbe = { httpGet: { path: "/v1/health", port: 8080 }, periodSeconds: 1, timeoutSeconds: 10 };
  const ports = [{ containerPort: 8888 }, { containerPort: 8080 }, { containerPort: 9090 }];
  return {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image, imagePullPolicy: "IfNotPresent", ports, readinessProbe }],
  };
}
