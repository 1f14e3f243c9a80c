/** What becomes of errors: exit codes and lines. @module */
import { expect, test } from "vitest";
import { Ended, Failure, Interruption, reportOf, UsageError } from "../../packages/cli/failure.ts";
import { errorOfKube } from "../../packages/sdk/control/kube.ts";
import {
  AuthenticationError,
  ConnectionError,
  InvalidArgumentError,
  SandboxFailedError,
  TimeoutError,
} from "../../packages/sdk/errors.ts";
import { run } from "./fakecontext.ts";

test.for([
  [new Ended(7), 7, []],
  [new Interruption(), 130, []],
  [new Interruption(143), 143, []],
  [new UsageError("Cannot x"), 2, ["Cannot x"]],
  [new RangeError("Cannot use x"), 2, ["Cannot use x"]],
  [new RangeError("Invalid array length"), 1, ["Invalid array length"]],
  [new Failure("Cannot x", "Do y."), 1, ["Cannot x", "Do y."]],
  [new Error("Cannot reach"), 1, ["Cannot reach"]],
  [new InvalidArgumentError("Cannot a"), 2, ["Cannot a"]],
  [new SandboxFailedError("Cannot a", { remedy: "Do b." }), 1, ["Cannot a", "Do b."]],
  [new ConnectionError("Cannot a"), 1, ["Cannot a"]],
  [new TimeoutError("Cannot a", { remedy: "Raise `timeoutMs`." }), 124, ["Cannot a", "Raise --timeout."]],
  ...["raise `readyTimeoutMs`", "call `resume` with a `readyTimeoutMs`"].map((how) => [
    new TimeoutError("Cannot a", { remedy: `Add a node. To wait longer, ${how}.` }),
    124,
    [
      "Cannot a",
      "Add a node. To wait longer, run the command again; create and run have the option --ready-timeout.",
    ],
  ]),
  [
    new AuthenticationError("Cannot a", { remedy: "Give the option `token`, or HOOKBOX_TOKEN." }),
    1,
    ["Cannot a", "Give --token, or HOOKBOX_TOKEN."],
  ],
  ["text", 1, ["text"]],
] as [unknown, number, string[]][])("%s: code %i", ([error, code, lines]) => {
  expect(reportOf(error)).toEqual({ code, lines });
});

test("HOOKBOX_DEBUG adds the stack and its cause, nothing else does", async () => {
  const cause = new Error("the cause");
  const setting = { connectCluster: () => Promise.reject(new Error("Cannot reach it", { cause })) };
  expect(await run("get", setting)).toEqual({ code: 1, stdout: "", stderr: "Cannot reach it\n" });
  const { stderr } = await run("get", { ...setting, env: { HOOKBOX_DEBUG: "1" } });
  expect(stderr).toMatch(/^Cannot reach it\nError: Cannot reach it\n +at [^]*caused by Error: the cause\n/);
});

test.for([
  [
    'sandboxes.agents.x-k8s.io is forbidden: User "ann" cannot list resource "sandboxes" in API group "agents.x-k8s.io" in the namespace "a"',
    "Ask for ClusterRole hookbox-view: kubectl create rolebinding NAME --clusterrole=hookbox-view --user=ann -n a",
  ],
  [
    'x is forbidden: User "system:serviceaccount:a:bot" cannot create resource "sandboxclaims" in API group "extensions.agents.x-k8s.io" in the namespace "a"',
    "Ask for ClusterRole hookbox-edit: kubectl create rolebinding NAME --clusterrole=hookbox-edit --serviceaccount=a:bot -n a",
  ],
  [
    'sandboxes.agents.x-k8s.io is forbidden: User "ann" cannot list resource "sandboxes" in API group "agents.x-k8s.io" at the cluster scope',
    "Ask for ClusterRole hookbox-view: kubectl create clusterrolebinding NAME --clusterrole=hookbox-view --user=ann",
  ],
  [
    'pods "box" is forbidden: User "ann" cannot create resource "pods/portforward" in API group "" in the namespace "a"',
    "use the router: --router, or HOOKBOX_ROUTER_URL. It requires the right to connect. Ask for ClusterRole hookbox-edit",
  ],
  // A name must not add anything to the command, which an administrator may paste into a shell.
  [
    `x is forbidden: User "ann$(id) o'x" cannot list resource "sandboxes" in API group "agents.x-k8s.io" at the cluster scope`,
    `--clusterrole=hookbox-view --user='ann$(id) o'\\''x'`,
  ],
] as [string, string][])("a missing right names the role that has it: %s", ([message, remedy]) => {
  const object = { kind: "Sandbox", namespace: "a", name: "box" };
  const { lines } = reportOf(errorOfKube({ status: 403, body: { message } }, { action: "do it", object }));
  expect(lines).toEqual([`Cannot do it: ${message}`, expect.stringContaining(remedy)]);
});
