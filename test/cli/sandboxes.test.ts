/** Commands that make sandboxes and end them, on a cluster in memory. @module */
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { CommandContext } from "../../packages/cli/commandcontext.ts";
import type { Api } from "../../packages/kube/api.ts";
import { SandboxClient } from "../../packages/sdk/client.ts";
import { until } from "../eventually.ts";
import { Interruption } from "../../packages/cli/failure.ts";
import { run } from "./fakecontext.ts";
import { someSandboxes } from "./sandboxcontext.ts";

test("create prints the name and nothing else, and says what was asked for", async () => {
  const { setting, cluster } = await someSandboxes();
  const line = "create --pool python --name mine --label team=a --annotation job=7=x --timeout 1h --idle 10m";
  expect(await run(line, setting)).toEqual({ code: 0, stdout: "mine\n", stderr: "" });
  const claim = cluster.get("SandboxClaim", "mine");
  expect(claim).toMatchObject({
    metadata: { labels: { team: "a" }, annotations: { job: "7=x" } },
    spec: { warmPoolRef: { name: "python" }, lifecycle: { shutdownTime: expect.any(String) } },
  });
  expect(cluster.get("Sandbox", claim?.status.sandbox.name)?.metadata.annotations).toMatchObject({
    "router.agents.x-k8s.io/idle-seconds": "600",
  });
  expect((await run("create --pool python -o name", setting)).stdout).toMatch(
    /^sandboxclaim.extensions.agents.x-k8s.io\/sandbox-\w{8}\n$/,
  );
  expect(await run("create --pool python --name mine", setting)).toMatchObject({ code: 1, stdout: "" });
});

test("create and run narrow what the sandbox reaches, if its template has rules", async () => {
  const { setting, cluster } = await someSandboxes();
  const refused = await run("create --pool python --allow-egress pypi.org", setting);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching("has neither annotation") });
  const template = cluster.get("SandboxTemplate", "python")!;
  const annotations = { "agents.x-k8s.io/egress-allow": "pypi.org, *.example.com" };
  await cluster.apply({ ...template, metadata: { ...template.metadata, annotations } });
  const line =
    "create --pool python --name mine --allow-egress pypi.org,a.example.com --allow-egress b.example.com:443";
  expect(await run(line, setting)).toMatchObject({ code: 0, stderr: "" });
  expect(cluster.get("SandboxClaim", "mine")?.metadata.annotations).toMatchObject({
    "agents.x-k8s.io/egress-allow": "pypi.org, a.example.com, b.example.com:443",
  });
  expect(await run("run --pool python --allow-egress https://pypi.org -- true", setting)).toMatchObject({
    ...{ code: 2, stderr: expect.stringMatching('"https://pypi.org" is not a host name') },
  });
});

test("create and run name Secrets for variables and files, and a start command", async () => {
  const { setting, cluster } = await someSandboxes();
  const line = "create --pool python --name mine --no-wait --secret-env A=keys/a --secret-env B=keys/b";
  const more = ["--secret-file", "~/.netrc=keys/netrc", "--start-command", "serve --port 80"];
  expect(await run([...line.split(" "), ...more], setting)).toMatchObject({ code: 0, stderr: "" });
  expect(cluster.get("SandboxClaim", "mine")?.metadata.annotations).toMatchObject({
    "agents.x-k8s.io/secret-env": "A=keys/a,B=keys/b",
    "agents.x-k8s.io/secret-files": "~/.netrc=keys/netrc",
    "agents.x-k8s.io/start-command": "serve --port 80",
  });
  expect((await run("describe mine", setting)).stdout).toMatch(
    /Variables: +A, B\n.*Files: +~\/\.netrc\n.*Starts: +serve --port 80\n/s,
  );
  expect(await run("run --pool python --secret-env A -- true", setting)).toMatchObject({
    ...{ code: 2, stderr: expect.stringMatching('--secret-env "A": it is not KEY=VALUE') },
  });
});

test("create and run ask for CPU and memory", async () => {
  const { setting, cluster } = await someSandboxes();
  const line = "create --pool python --name mine --no-wait --cpu 500m --memory 1Gi";
  expect(await run(line.split(" "), setting)).toMatchObject({ code: 0, stderr: "" });
  expect(cluster.get("SandboxClaim", "mine")?.metadata.annotations).toMatchObject({
    "agents.x-k8s.io/resources": "cpu=500m,memory=1Gi",
  });
  expect(await run("run --pool python --cpu many -- true", setting)).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('cpu "many" is not an amount like "2", "0.5" or "500m"') },
  });
});

test("create from an image takes ports, volumes and a command; --no-wait returns at once", async () => {
  const { setting, cluster } = await someSandboxes();
  const line = "create --image box --name own --port 80 --port 81 --volume work:1Gi:/work -e A=1 --no-wait -o json";
  const ran = await run([...line.split(" "), "--", "sleep", "-x"], setting);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(ran.stdout)).toMatchObject({ kind: "Sandbox", metadata: { name: "own" } });
  const [container] = cluster.get("Sandbox", "own")?.spec.podTemplate.spec.containers ?? [];
  expect(container).toMatchObject({
    command: ["sleep", "-x"],
    ports: [{ containerPort: 80 }, { containerPort: 81 }],
    volumeMounts: [{ name: "work", mountPath: "/work" }],
    env: [{ name: "A", value: "1" }],
  });
});

test("create of what cannot be tells the cause and the remedy, and leaves nothing", async () => {
  const { setting, cluster, claims } = await someSandboxes();
  const { code, stdout, stderr } = await run("create --pool none --name lost", setting);
  expect({ code, stdout, claims: claims() }).toEqual({ code: 1, stdout: "", claims: [] });
  expect(stderr).toMatch(
    /^Cannot .*none.*\n.+\nWhat was created for it has been deleted again\. hookbox create keeps it with --keep-failed\.\n$/,
  );
  await run("create --pool none --name kept --keep-failed", setting);
  expect(claims()).toEqual(["kept"]);
  expect(await run("create --template typo --keep-failed", setting)).toEqual({
    code: 1,
    stdout: "",
    stderr:
      'Cannot find a pool of template default/typo: SandboxTemplate "typo" does not exist in namespace "default"\n' +
      "Create it, or name one that exists: kubectl get sandboxtemplates -n default\n",
  });
  expect(claims()).toEqual(["kept"]);
  expect(cluster.objects("SandboxWarmPool").map(({ metadata }) => metadata.name)).toEqual(["python"]);
});

test("create says what it could not delete again, also after Ctrl-C", async () => {
  const { setting, cluster } = await someSandboxes();
  const api: Api = {
    ...cluster.api,
    send: (request) =>
      request.method === "DELETE"
        ? Promise.resolve({ status: 403, body: { message: "it is forbidden" } })
        : cluster.api.send(request),
  };
  const client = new SandboxClient({ api, namespace: "default" });
  const transportTo = () => Promise.reject(new Error("none"));
  const connect = () => Promise.resolve({ client, way: "forward" as const, transportTo });
  const left = (name: string) =>
    `SandboxClaim default/${name} may still exist (Cannot delete claim default/${name}: it is forbidden). ` +
    `To delete: kubectl delete -n default sandboxclaim/${name}\n`;
  const failed = await run("create --pool none --name lost", { ...setting, connect });
  expect(failed).toMatchObject({ code: 1, stdout: "" });
  expect(failed.stderr).toContain(left("lost"));
  expect(failed.stderr).not.toContain("has been deleted again");
  // With a variable, the claim needs a Pod of its own, which does not start.
  const template = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default/sandboxtemplates/python";
  await cluster.api.send({ method: "PATCH", path: template, body: { spec: { envVarsInjectionPolicy: "Allowed" } } });
  cluster.pods.plan("*", { fault: "hangs" });
  const stop = new AbortController();
  const creating = run("create --template python -e A=1 --name stopped", { ...setting, connect, signal: stop.signal });
  await until(() => cluster.get("SandboxClaim", "stopped") !== undefined);
  stop.abort(new Interruption());
  expect(await creating).toEqual({ code: 130, stdout: "", stderr: left("stopped") });
});

test("create sets no end unless it is asked for; --idle needs a router", async () => {
  const { setting, cluster } = await someSandboxes();
  await run("create --pool python --name claim", setting);
  await run("create --image box --name own --no-wait", setting);
  await run("run --pool python --name kept --keep -- true", setting);
  expect(cluster.get("SandboxClaim", "claim")?.spec).not.toHaveProperty("lifecycle");
  expect(cluster.get("SandboxClaim", "kept")?.spec).not.toHaveProperty("lifecycle");
  expect(cluster.get("Sandbox", "own")?.spec).not.toHaveProperty("shutdownTime");
  const client = new SandboxClient({ api: cluster.api, namespace: "default" });
  const transportTo = () => Promise.reject(new Error("none"));
  const connect = () => Promise.resolve({ client, way: "forward" as const, transportTo });
  for (
    const line of ["create --pool python --name idle --idle 5m", "create --image box --name idle --idle 5m --no-wait"]
  ) {
    expect(await run(line, { ...setting, connect })).toEqual({
      code: 2,
      stdout: "",
      stderr: "Cannot create a sandbox that is suspended when it is idle: the router suspends idle sandboxes, and no " +
        "router is named\nGive --router, or set HOOKBOX_ROUTER_URL, or leave out --idle.\n",
    });
  }
  expect([cluster.get("SandboxClaim", "idle"), cluster.get("Sandbox", "idle")]).toEqual([undefined, undefined]);
});

test.for([
  ["create", /exactly one of --pool, --template and --image/],
  ["create --pool a --image b", /exactly one of --pool, --template and --image/],
  ["create --pool a --timeout soon", /--timeout "soon": use a length of time/],
  ["create --pool a --label team", /--label "team": it is not KEY=VALUE/],
  ["create --image a --volume work", /--volume "work": it is not NAME:SIZE/],
  ["create --image a --port 99999", /--port "99999": use a whole number from 1 to 65535/],
  ["create --pool a --port 80", /ports can be set only with `image`/],
  ["create --pool a --name A_b", /not a valid Kubernetes name/],
  ["create --pool a --idle 5m --no-wait", /--idle with --no-wait/],
  ["run --pool a", /Put it after --/],
  ["run --pool a --idle 5m -- ls", /--idle without --keep/],
  ["rm", /use either names, --all or -l/],
  ["rm a --all", /use either names, --all or -l/],
  ["top --source guess", /it is metrics or runtime/],
  ["url a http", /port "http"/],
  ["cp a b", /neither is SANDBOX:PATH/],
  ["cp box:a box:b", /between sandboxes/],
  ["ls ./here", /it is not SANDBOX or SANDBOX:PATH/],
] as [string, RegExp][])("%s: code 2", async ([line, words]) => {
  const { setting } = await someSandboxes();
  const { code, stdout, stderr } = await run(line, setting);
  expect(stderr).toMatch(words);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
});

test("rm deletes by name, by label or all, and says what is not there", async () => {
  const { setting, claims } = await someSandboxes();
  for (const name of ["a", "b", "c"]) {
    await run(`create --pool python --name ${name} --label of=${name === "c" ? "x" : "y"}`, setting);
  }
  expect(await run("rm a a none", setting)).toEqual({
    code: 1,
    stdout: "a deleted\n",
    stderr: "Cannot delete none: there is neither a claim nor a Sandbox of that name\n",
  });
  expect(await run("rm none --ignore-not-found", setting)).toEqual({ code: 0, stdout: "", stderr: "" });
  expect((await run("rm -l of=x", setting)).stdout).toBe("c deleted\n");
  expect(claims()).toEqual(["b"]);
  expect((await run("rm --all", setting)).stdout).toBe("b deleted\n");
  expect(await run("rm --all", setting)).toEqual({ code: 0, stdout: "", stderr: "No sandboxes found.\n" });
});

test.for(["", ".", ".."])("rm %j, as with a variable that is not set, deletes nothing", async (name) => {
  const asked: string[] = [];
  const { setting, claims } = await someSandboxes({}, (api) => ({
    ...api,
    send: (request) => (asked.push(request.method), api.send(request)),
  }));
  await run("create --pool python --name a", setting);
  asked.length = 0;
  const ran = await run(["rm", name], setting);
  expect(ran).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining("a name is empty or consists of dots"),
  });
  expect([asked, claims()]).toEqual([[], ["a"]]);
});

test("rm --all asks on a terminal, names what it is about to delete, and takes --yes for an answer", async () => {
  const { setting, claims } = await someSandboxes();
  for (const name of ["a", "b"]) await run(`create --pool python --name ${name}`, setting);
  const onTerminal = (answer: string) => ({
    ...setting,
    isTTY: true,
    stdin: Object.assign(Readable.from([answer]), { isTTY: true }) as CommandContext["stdin"],
  });
  const question = "Delete 2 sandboxes of namespace default, with volumes: a, b? [y/N] ";
  expect(await run("rm --all", onTerminal("no\n"))).toEqual({
    code: 1,
    stdout: "",
    stderr: `${question}Nothing was deleted.\n`,
  });
  expect(claims()).toEqual(["a", "b"]);
  expect(await run("rm --all", onTerminal("y\n"))).toEqual({
    code: 0,
    stdout: "a deleted\nb deleted\n",
    stderr: question,
  });
  await run("create --pool python --name c", setting);
  expect(await run("rm --all -y", onTerminal(""))).toEqual({ code: 0, stdout: "c deleted\n", stderr: "" });
});

test("rm --older-than leaves the younger ones", async () => {
  const { setting, cluster } = await someSandboxes();
  await run("create --pool python --name old", setting);
  const later = { ...setting, api: { ...cluster.api, now: () => cluster.clock.now() + 2 * 86_400_000 } };
  expect((await run("rm --all --older-than 3d", later)).stderr).toBe("No sandboxes found.\n");
  expect((await run("rm --all --older-than 1d12h", later)).stdout).toBe("old deleted\n");
  expect(await run("rm old --older-than 1d", setting)).toMatchObject({ code: 2 });
});

test("rm does not delete a claim's Sandbox from under it", async () => {
  const { setting, cluster } = await someSandboxes();
  await run("create --pool python --name mine", setting);
  const sandbox = cluster.get("SandboxClaim", "mine")?.status.sandbox.name;
  const { code, stderr } = await run(`rm ${sandbox}`, setting);
  expect(code).toBe(1);
  expect(stderr).toContain(`it is the Sandbox of claim mine. Delete the claim: hookbox rm mine.`);
  expect(cluster.get("Sandbox", sandbox)).toBeDefined();
});

test("suspend and resume change the mode, and wait for what comes of it", async () => {
  const { setting, cluster } = await someSandboxes();
  await run("create --image box --name own", setting);
  expect(await run("suspend own own", setting)).toEqual({ code: 0, stdout: "own suspended\n", stderr: "" });
  expect(cluster.get("Pod", "own")).toBeUndefined();
  expect(await run("resume own", setting)).toEqual({ code: 0, stdout: "own resumed\n", stderr: "" });
  expect(cluster.get("Pod", "own")?.status.phase).toBe("Running");
  expect(await run("suspend none", setting)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/neither a claim nor a Sandbox/),
  });
});

test("what is not ready in time ends with 124, an interruption with its own code and without a word", async () => {
  const { setting, cluster, claims } = await someSandboxes();
  cluster.pods.plan(() => true, { startMs: 1e9 });
  const late = await run("create --image slow --name slow --ready-timeout 50ms", setting);
  expect(late).toMatchObject({ code: 124, stdout: "" });
  expect(late.stderr).toMatch(/\nWhat was created for it has been deleted again\./);
  expect(late.stderr).not.toMatch(/^Wait\./m);
  const stop = new AbortController();
  const creating = run("create --image slow --name slower", { ...setting, signal: stop.signal });
  setTimeout(() => stop.abort(new Interruption()), 100);
  expect(await creating).toEqual({ code: 130, stdout: "", stderr: "" });
  expect(claims()).toEqual([]);
});

test("url prints the address, signed where that is asked for; open opens it, or prints it where nothing can", async () => {
  const { setting } = await someSandboxes();
  await run("create --pool python --name mine", setting);
  const url = await run("url mine 3000", setting);
  expect(url).toMatchObject({ code: 0, stderr: "" });
  expect(url.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/s\/default\/python-\S+\/3000\n$/);
  expect((await run("url mine 3000 --signed-for 1h", setting)).stdout).toMatch(/\/3000\/?\?token=\S+\n$/);
  const opened: string[] = [];
  const browse = (address: string) => Promise.resolve(opened.push(address) > 0);
  const open = await run("open mine --router http://r", { ...setting, browse });
  expect(opened).toEqual([expect.stringMatching(/\/s\/default\/python-\S+\/8080\/\.hookbox\/terminal\/$/)]);
  expect(open).toEqual({ code: 0, stdout: "", stderr: `Opened ${opened[0]}\n` });
  expect((await run("open mine 3000", setting)).stdout).toBe(url.stdout);
  const local = await run("url mine 3000 --local-port 3000", setting);
  expect(local).toMatchObject({ code: 2, stderr: expect.stringContaining("no port is forwarded") });
  expect(await run("open mine", setting)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/no router is named\n.*hookbox exec -it mine\n$/),
  });
});
