/** E2B's published SDKs on an installation by Helm: two projects, their keys, hosts and headers, and killed replicas. @module */
import { execFile, spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Sandbox as CodeInterpreter } from "@e2b/code-interpreter";
import { AuthenticationError, NotFoundError, Sandbox, type SandboxOpts } from "e2b";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { importRuntimeImage, RUNTIME_IMAGE } from "../../dev/cluster/runtimeimage.ts";
import { upgrade } from "../../dev/deploy/install.ts";
import { E2B, pythonWith } from "../clients/python.ts";
import { eventually } from "../eventually.ts";
import { until } from "../integration/kubectl.ts";
import { fetchFrom } from "../router/client.ts";
import { ACCOUNT_MOUNTS, ACCOUNT_VOLUME, ACCOUNTS } from "./accounts.ts";
import { runCommands } from "./e2bcli.ts";
import { useMethods } from "./e2bmethods.ts";
import { usePythonMethods } from "./e2bpython.ts";
import { type Installed, progress } from "./installed.ts";

const COMMAND = fileURLToPath(new URL("../../packages/cli/main.ts", import.meta.url));
const PROGRAM = fileURLToPath(new URL("programs/e2bclients.py", import.meta.url));
const DOMAIN = "sandboxes.example";
const PROJECTS = ["e2b-one", "e2b-two"] as const;

/** For use in `describe`, on an installation whose node has the runtime's image. */
export function testE2B({ cluster, json, kubectl, apply }: Installed): void {
  const keys: Record<string, string> = {};
  let urls: { apiUrl: string; sandboxUrl: string };
  /** Ends with the test, even if that fails: the node has room for few. */
  const create = async (options: SandboxOpts) => {
    const sandbox = await Sandbox.create(options);
    onTestFinished(async () => void await sandbox.kill().catch(() => {}));
    return sandbox;
  };
  const as = (project: (typeof PROJECTS)[number]) => ({ ...urls, apiKey: keys[project] ?? "" });
  const hookbox = async (...args: string[]) => {
    const env = { ...process.env, KUBECONFIG: cluster().kubeconfig };
    return (await promisify(execFile)(process.execPath, [COMMAND, ...args], { env })).stdout;
  };

  beforeAll(async () => {
    await importRuntimeImage(cluster().stateDir, { progress });
    const values = ["e2b.enabled=true", `e2b.domain=${DOMAIN}`, `router.args={--domain=${DOMAIN}}`];
    await upgrade(cluster(), values, { progress });
    for (const project of PROJECTS) {
      const args = ["project", "create", project, "--image", RUNTIME_IMAGE, "--cpu", "500m", "--memory", "512Mi"];
      keys[project] = (await hookbox(...args, "--storage", "64Mi", "--size", "1")).trim();
    }
    const addressOf = async (service: string) =>
      (await json("-n", "agent-sandbox-system", "get", "service", service)).spec.clusterIP as string;
    urls = {
      apiUrl: `http://${await addressOf("hookbox-e2b")}:3000`,
      sandboxUrl: `http://${await addressOf("sandbox-router-svc")}:8080`,
    };
    for (const project of PROJECTS) {
      const pool = () => json("-n", project, "get", "sandboxwarmpool", "base");
      await until(pool, ({ status }) => status?.readyReplicas === 1);
    }
  }, 1_800_000);

  test("the JavaScript SDK creates, uses, pauses, resumes and kills a sandbox", async () => {
    const options = as("e2b-one");
    const sandbox = await create({ ...options, envs: { COLOUR: "green" }, metadata: { user: "me" } });
    const { labels } = (await json("-n", "e2b-one", "get", "sandboxclaim", sandbox.sandboxId)).metadata;
    expect(labels).toMatchObject({ "e2b.agents.x-k8s.io/sandbox": "true" });
    const ran = await sandbox.commands.run("echo $COLOUR $E2B_SANDBOX_ID");
    expect(ran.stdout).toBe(`green ${sandbox.sandboxId}\n`);
    await sandbox.files.write("kept.txt", "kept");
    expect(await sandbox.getMetrics()).toMatchObject([{ cpuCount: expect.any(Number), memTotal: expect.any(Number) }]);
    expect(await sandbox.pause()).toBe(true);
    expect((await sandbox.getInfo()).state).toBe("paused");
    await eventually(() => sandbox.isRunning()).toBe(false);
    const again = await Sandbox.connect(sandbox.sandboxId, options);
    expect(await again.files.read("kept.txt")).toBe("kept");
    expect((await again.commands.run("echo $COLOUR")).stdout).toBe("green\n");
    const running = await again.commands.run("sleep 300", { background: true });
    const ended = running.wait().then(() => "ended", (error: Error) => error.message);
    expect(await again.kill()).toBe(true);
    expect(await ended).toContain("killed or reached its end of life");
    expect(await again.isRunning()).toBe(false);
  });

  test("the Python SDKs do the same, synchronous and asynchronous", async () => {
    const python = await pythonWith(E2B, progress);
    const env = { ...process.env, ...variablesOf(as("e2b-one")) };
    const child = spawn(python, [PROGRAM], { env, stdio: ["ignore", "pipe", "inherit"] });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (part) => printed += part);
    await new Promise((resolve) => child.once("close", resolve));
    expect(JSON.parse(printed)).toEqual({
      run: "green true\n",
      read: "héllo",
      listed: ["ü.txt"],
      exit: 3,
      found: 1,
      state: "running",
      "killed again": false,
      code: "42",
      error: "ZeroDivisionError",
      async: "async\n",
      cut: "SandboxNotRunningException",
      running: false,
    });
  });

  test("every exported method of the JavaScript SDKs does what docs/e2b.md says", async () => {
    const options = as("e2b-one");
    const sandbox = await CodeInterpreter.create(options);
    onTestFinished(async () => void await sandbox.kill());
    const outcomes = await useMethods({ sandbox, options });
    await expect(`${JSON.stringify(outcomes, null, 2)}\n`).toMatchFileSnapshot("../e2b/methods.json");
  });

  test("every exported method of the Python SDKs, sync and async, does what docs/e2b.md says", async () => {
    const outcomes = await usePythonMethods(await pythonWith(E2B, progress), variablesOf(as("e2b-one")));
    await expect(`${JSON.stringify(outcomes, null, 2)}\n`).toMatchFileSnapshot("../e2b/methods-python.json");
  });

  test("every command of E2B's command line does what docs/e2b.md says", async () => {
    const outcomes = await runCommands(await pythonWith(E2B, progress), variablesOf(as("e2b-one")));
    await expect(`${JSON.stringify(outcomes, null, 2)}\n`).toMatchFileSnapshot("../e2b/commands.json");
  });

  test("a key reaches no sandbox of the other project; its tokens open no other sandbox", async () => {
    const [one, two] = [as("e2b-one"), as("e2b-two")];
    const sandbox = await create(one);
    const { sandboxId: id } = sandbox;
    await expect(Sandbox.connect(id, two)).rejects.toThrow(NotFoundError);
    await expect(Sandbox.getInfo(id, two)).rejects.toThrow(NotFoundError);
    expect(await Sandbox.kill(id, two)).toBe(false);
    expect(await Sandbox.list(two).nextItems()).toEqual([]);
    const other = await create(two);
    const start = (token: string) =>
      fetch(`${urls.sandboxUrl}/process.Process/List`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "E2b-Sandbox-Id": id, "X-Access-Token": token },
        body: "{}",
      }).then(({ status }) => status);
    const tokenOf = async (url: string, sandboxId: string, key: string) => {
      const answer = await fetch(`${url}/sandboxes/${sandboxId}`, { headers: { "X-API-KEY": key } });
      return (await answer.json() as { envdAccessToken: string }).envdAccessToken;
    };
    expect(await start(await tokenOf(urls.apiUrl, id, one.apiKey))).toBe(200);
    expect(await start(await tokenOf(urls.apiUrl, other.sandboxId, two.apiKey))).toBe(401);
    await hookbox("project", "key", "create", "e2b-two", "short");
    await hookbox("project", "key", "revoke", "e2b-two", "default");
    const listing = () => Sandbox.list(two).nextItems().then(() => undefined, (error: unknown) => error);
    await eventually(async () => await listing() instanceof AuthenticationError).toBe(true);
    await Promise.all([sandbox.kill(), kubectl("-n", "e2b-two", "delete", "sandboxclaim", other.sandboxId)]);
  });

  test("hosts of ports reach programs; a signed URL reads a file without a token", async () => {
    const sandbox = await create(as("e2b-one"));
    await sandbox.files.write("signed file.txt", "signed");
    const program = 'require("http").createServer((_, answer) => answer.end("hi")).listen(3000)';
    await sandbox.commands.run(`node -e '${program}'`, { background: true });
    const ask = (host: string, path: string) => {
      const { hostname, port } = new URL(urls.sandboxUrl);
      return fetchFrom(Number(port), { host: hostname, path, headers: { Host: host } });
    };
    expect(sandbox.getHost(3000)).toBe(`3000-${sandbox.sandboxId}.${DOMAIN}`);
    await eventually(async () => (await ask(sandbox.getHost(3000), "/")).text).toBe("hi");
    const closed = await ask(sandbox.getHost(3001), "/");
    expect([closed.status, JSON.parse(closed.text).message]).toEqual([
      502,
      "The sandbox is running but port is not open",
    ]);
    const url = new URL(await sandbox.downloadUrl("signed file.txt", { useSignatureExpiration: 60 }));
    const host = sandbox.getHost(49_983);
    expect((await ask(host, `${url.pathname}${url.search}`)).text).toBe("signed");
    expect((await ask(host, `${url.pathname}${url.search.replace("signed+file", "other")}`)).status).toBe(401);
    await sandbox.kill();
  });

  test("in a project with --root, clients choose the user root, and are user otherwise", async () => {
    const project = "e2b-root";
    const args = ["--cpu", "500m", "--memory", "512Mi", "--size", "0", "--storage", "64Mi", "--root", "--host-users"];
    const apiKey = (await hookbox("project", "create", project, "--image", RUNTIME_IMAGE, ...args)).trim();
    onTestFinished(async () => void await kubectl("delete", "namespace", project, "--wait=false"));
    await apply(JSON.stringify({ ...ACCOUNTS, metadata: { ...ACCOUNTS.metadata, namespace: project } }));
    const pod = "/spec/podTemplate/spec";
    const added = [
      { op: "add", path: `${pod}/volumes/-`, value: ACCOUNT_VOLUME },
      ...ACCOUNT_MOUNTS.map((value) => ({ op: "add", path: `${pod}/containers/0/volumeMounts/-`, value })),
    ];
    const patch = (name: string, changes: object[]) =>
      kubectl("-n", project, "patch", name, "--type=json", "-p", JSON.stringify(changes));
    await patch("sandboxtemplate/base", added);
    await patch("sandboxwarmpool/base", [{ op: "replace", path: "/spec/replicas", value: 1 }]);
    await until(
      () => json("-n", project, "get", "sandboxwarmpool", "base"),
      ({ status }) => status?.readyReplicas === 1,
    );
    const sandbox = await create({ ...urls, apiKey });
    expect((await sandbox.commands.run("id -un; echo > by-command")).stdout).toBe("user\n");
    expect((await sandbox.commands.run("id -un", { user: "root" })).stdout).toBe("root\n");
    await sandbox.files.write("/etc/of-root", "x", { user: "root" });
    const owners = await sandbox.commands.run("stat -c %U by-command /etc/of-root");
    expect(owners.stdout).toBe("user\nroot\n");
    await expect(sandbox.files.write("/etc/of-root", "y")).rejects.toThrow("permission denied");
    await sandbox.kill();
  });

  test("killed replicas lose nothing: sandboxes live on, and the others answer", async () => {
    const options = as("e2b-one");
    const made = await Promise.all(Array.from({ length: 3 }, () => create(options)));
    const pods =
      (await json("-n", "agent-sandbox-system", "get", "pods", "-l", "app.kubernetes.io/name=hookbox-e2b")).items;
    for (const { metadata: { name } } of pods) {
      await kubectl("-n", "agent-sandbox-system", "delete", "pod", name, "--grace-period=0", "--force");
      await kubectl("-n", "agent-sandbox-system", "rollout", "status", "deployment/hookbox-e2b", "--timeout=180s");
      const listed = await eventuallyListed(options, made.length);
      expect(listed).toEqual(made.map(({ sandboxId }) => sandboxId).sort());
    }
    await Promise.all(made.map(async (sandbox) => {
      expect((await sandbox.commands.run("echo alive")).stdout).toBe("alive\n");
      expect(await sandbox.kill()).toBe(true);
    }));
  });
}

/** Returns the variables that a user sets. */
function variablesOf({ apiKey, apiUrl, sandboxUrl }: SandboxOpts): Record<string, string> {
  return { E2B_API_KEY: `${apiKey}`, E2B_API_URL: `${apiUrl}`, E2B_SANDBOX_URL: `${sandboxUrl}` };
}

/** Lists IDs, once the Service has left the killed Pod. */
async function eventuallyListed(options: Parameters<typeof Sandbox.list>[0], count: number): Promise<string[]> {
  let ids: string[] = [];
  await eventually(async () => {
    const items = await Sandbox.list(options).nextItems().catch(() => []);
    ids = items.map(({ sandboxId }) => sandboxId).sort();
    return ids.length;
  }).toBe(count);
  return ids;
}
