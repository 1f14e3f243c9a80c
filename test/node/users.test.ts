/** A template lets callers choose a user, on a real node: with root of the node, and with a user namespace. @module */
import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { supportsUserNamespaces } from "../../dev/cluster/machine.ts";
import { AuthorizationError, SandboxClient } from "../../packages/sdk/mod.ts";
import { makeNamespace, sleeper } from "../integration/namespace.ts";
import { hasRealNode, suite } from "../integration/suite.ts";
import { ACCOUNT_MOUNTS, ACCOUNT_VOLUME, ACCOUNTS } from "./accounts.ts";
import { needsRuntime, SERVING } from "./runtimepods.ts";

/** Both, if this machine's runc can give a Pod users of its own. */
const HOST_USERS = supportsUserNamespaces() ? [true, false] : [true];

describe.runIf(hasRealNode)("a sandbox whose container starts as root", () => {
  beforeAll(needsRuntime);

  test.for(HOST_USERS)("runs calls as the user that they choose, with hostUsers: %s", async (hostUsers) => {
    const ns = await makeNamespace();
    await ns.apply(ACCOUNTS);
    const [container] = SERVING.containers;
    const capabilities = { drop: ["ALL"], add: ["SETUID", "SETGID"] };
    const spec = {
      hostUsers,
      containers: [{
        ...container,
        args: ["--user", "user", "--allow-users", "root"],
        securityContext: { runAsUser: 0, allowPrivilegeEscalation: false, capabilities },
        volumeMounts: ACCOUNT_MOUNTS,
      }],
      volumes: [ACCOUNT_VOLUME],
    };
    await ns.apply(sleeper("users", {}, spec));
    const sandbox = await new SandboxClient({ kubeconfig: suite.kubeconfig, namespace: ns.name }).connect("users");
    const { commands, files } = sandbox;
    expect((await commands.run("id -u; id -G; echo $HOME; echo > by-command")).stdout).toBe(
      "1000\n1000 2000\n/workspace\n",
    );
    expect((await commands.run("id -u; id -G; echo $HOME", { user: "root" })).stdout).toBe("0\n0\n/root\n");
    await files.write("by-request", "x");
    await files.write("of-root", "x", { user: "root" });
    const owners = await commands.run("stat -c %u:%g by-command by-request of-root");
    expect(owners.stdout).toBe("1000:1000\n1000:1000\n0:0\n");
    await files.write("/etc/secret", "x", { user: "root", mode: 0o600 });
    await expect(files.read("/etc/secret")).rejects.toThrow(AuthorizationError);
    expect(await files.read("/etc/secret", { user: "root" })).toBe("x");
    await expect(commands.run("id", { user: "other" })).rejects.toThrow("this sandbox allows only root, user");

    const sleeping = await commands.run("exec sleep 987654321", { user: "root", background: true });
    const [uid = -1] = uidsOnNode("sleep\0" + "987654321");
    expect(hostUsers ? uid === 0 : uid >= 65_536, `root of the sandbox is user ${uid} of the node`).toBe(true);
    await sleeping.kill();
    await sandbox.disconnect();
  });
});

/** Returns the users of the node that run this command. */
function uidsOnNode(command: string): number[] {
  const read = (pid: string, file: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "utf8");
    } catch {
      return "";
    }
  };
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && read(name, "cmdline").includes(command));
  return pids.map((pid) => Number(/^Uid:\s+(\d+)/m.exec(read(pid, "status"))?.[1]));
}
