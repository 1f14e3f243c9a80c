/** Our Python packages for frameworks of others, built as for PyPI, with the frameworks at pinned versions. @module */
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { type Packages, pythonWith } from "../clients/python.ts";
import { aPool, aTemplate, untilFull } from "../integration/pools.ts";
import { makeTempFolder } from "../tempfolder.ts";
import type { Checks, Consumer } from "./consumer.ts";
import { hostFolders, podSpecOf, programOf, PROGRAMS, say, type Stage } from "./stage.ts";

const SOURCES = fileURLToPath(new URL("../../packages/integrations/", import.meta.url));

/** Frameworks with a package of ours. */
const FRAMEWORKS = {
  harbor: { packages: packagesOf("harbor"), program: "harbor_environment.py" },
  openenv: { packages: packagesOf("openenv"), program: "openenv_provider.py" },
};

/** The requirements were resolved for Python 3.12, which Harbor needs. */
function packagesOf(name: string): Packages {
  const requirements = fileURLToPath(new URL(`requirements-${name}.txt`, import.meta.url));
  return { name, label: name, requirements, atLeast: 12 };
}

type Framework = keyof typeof FRAMEWORKS;

const RUNS = "npm run soak -- consumers" as const;
const ROOT_NOTE = "The container must run as root, as Harbor's tasks expect.";
const HARBOR = { client: "harbor", version: "0.26.0", runs: RUNS } as const;

/** The rows of the packages. */
export const PYTHON_PACKAGES: Consumer[] = [
  {
    ...HARBOR,
    way: "`hookbox-harbor`, port-forward to the Pod (default)",
    note: ROOT_NOTE,
    run: (stage) => harbor(stage, {}),
  },
  {
    ...HARBOR,
    way: "`hookbox-harbor`, `api_url` of the router, bearer token",
    note: `${ROOT_NOTE} The router ends a command after 180 s without output headers (\`--response-header-timeout\`).`,
    run: (stage) => harbor(stage, { api_url: stage.router, headers: { Authorization: `Bearer ${stage.token}` } }),
  },
  {
    client: "openenv",
    version: "0.10.0",
    way: "`hookbox-openenv`, port-forward to the Pod (default), and the router",
    runs: RUNS,
    note: "For the router: `--path-routing-prefix`, and a bearer token.",
    run: openenv,
  },
];

async function harbor(stage: Stage, connection: object): Promise<Checks> {
  const { containers: [main], ...podSpec } = podSpecOf(stage.image);
  const containers = [{ ...main, securityContext: { runAsUser: 0 } }];
  await stage.ns.apply(aTemplate("harbor", {}, { ...podSpec, containers }), aPool("harbor", 1));
  await untilFull(stage.ns, "harbor");
  const settings = { namespace: stage.ns.name, ...connection };
  return await checkPackage(stage, "harbor", { pool: "harbor", namespace: stage.ns.name, settings });
}

async function openenv(stage: Stage): Promise<Checks> {
  const { ns, router, token } = stage;
  const python = await pythonWith(FRAMEWORKS.openenv.packages, say);
  const folders = await hostFolders(stage.here, python);
  const container = {
    name: "main",
    image: stage.image,
    command: [python, "-B", join(PROGRAMS, "openenv_server.py")],
    ports: [{ containerPort: 8000 }],
    readinessProbe: { httpGet: { path: "/health", port: 8000 }, periodSeconds: 1 },
    securityContext: { runAsUser: 0 },
    volumeMounts: folders.volumeMounts,
  };
  const podSpec = { terminationGracePeriodSeconds: 1, containers: [container], volumes: folders.volumes };
  await ns.apply(aTemplate("openenv", { envVarsInjectionPolicy: "Allowed" }, podSpec), aPool("openenv", 1));
  await routeByPath(stage);
  await untilFull(ns, "openenv");
  const headers = { Authorization: `Bearer ${token}` };
  const options = { pool: "openenv", namespace: ns.name, router_url: `${router}/s`, headers };
  return await checkPackage(stage, "openenv", options);
}

/** Makes the router accept paths that name a sandbox. */
async function routeByPath({ here, cluster }: Stage): Promise<void> {
  const value = "--path-routing-prefix=/s";
  const patch = [{ op: "add", path: "/spec/template/spec/containers/0/args/-", value }];
  const router = ["-n", "agent-sandbox-system", "deployment/sandbox-router"];
  await here(cluster.kubectl, ["patch", ...router, "--type=json", "-p", JSON.stringify(patch)]);
  await here(cluster.kubectl, ["rollout", "status", ...router, "--timeout=600s"]);
}

/** Checks the types and the format of a package, builds it, and runs its program. */
async function checkPackage({ here }: Stage, name: Framework, options: object): Promise<Checks> {
  const { packages, program } = FRAMEWORKS[name];
  const python = await pythonWith(packages, say);
  const folder = makeTempFolder();
  const source = join(SOURCES, name);
  const run = (...args: string[]) => here(python, args, { cwd: folder });
  const outcome = (running: Promise<string>) => running.then(() => "ok", (error: Error) => error.message);
  const types = ["-m", "mypy", "--strict", "--follow-untyped-imports", "--cache-dir", join(folder, "mypy")];
  const checked = {
    types: await outcome(run(...types, join(source, `hookbox_${name}.py`))),
    format: await outcome(
      run("-m", "ruff", "format", "--isolated", "--no-cache", "--line-length=100", "--check", source),
    ),
  };
  await run("-m", "flit_core.wheel", "--outdir", folder, source);
  await run("-m", "zipfile", "-e", join(folder, `hookbox_${name}-0.2.0-py3-none-any.whl`), join(folder, "built"));
  const env = { PYTHONPATH: join(folder, "built") };
  const said = await here(python, [programOf(program), JSON.stringify(options)], { cwd: folder, env });
  return { ...checked, ...JSON.parse(said.trimEnd().split("\n").at(-1) ?? "") };
}
