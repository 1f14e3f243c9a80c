/** Tests of the dashboard in a real browser, on an installation of hookbox, used as a person uses it. @module */
import { Buffer } from "node:buffer";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { importRuntimeImage } from "../../dev/cluster/runtimeimage.ts";
import { eventually } from "../eventually.ts";
import { example, type Installed } from "../node/installed.ts";
import { say } from "./chromium.ts";
import { type Shown, signIn } from "./signin.ts";

/** For use in `describe`; in namespace `default`, which has nothing else during the test. */
export function testDashboard({ cluster, kubectl, apply, json }: Installed): void {
  beforeAll(async () => {
    await apply(`${example("template")}---\n${example("pool")}---\n${example("claim")}`);
    await kubectl("wait", "--for=condition=Ready", "sandboxclaim/session", "--timeout=600s");
    await kubectl("create", "serviceaccount", "ada");
    await kubectl("create", "rolebinding", "ada", "--clusterrole=edit-sandboxes", "--serviceaccount=default:ada");
    await apply(RIGHTS);
  });

  afterAll(() => kubectl("delete", "sandboxclaims,sandboxwarmpools,sandboxes", "--all", "--timeout=600s"));

  /** Opens it with the rights of a ServiceAccount in one namespace. */
  async function open(): Promise<Shown> {
    const { spec: { clusterIP } } = await json("-n", "agent-sandbox-system", "get", "service", "sandbox-router-svc");
    const token = (await kubectl("create", "token", "ada")).trim();
    return await signIn(`http://${clusterIP}:8080/.hookbox/#/sandboxes?namespace=default`, token);
  }

  test("lists, filters and explains sandboxes, live", async () => {
    const { page, wrong, picture } = await open();
    await page.getByRole("link", { name: "Claims" }).click();
    await page.getByRole("row", { name: /^session Running/ }).click();
    await page.getByText("Ready: Nothing is wrong").or(page.getByText(/^Ready: /)).waitFor();
    await eventually(async () => {
      // A sandbox that has just started has many events after this one.
      const all = page.getByRole("button", { name: /^Show all / });
      if (await all.isVisible()) await all.click();
      return await page.getByText("Assigned to claim").isVisible();
    }).toBe(true);
    await picture("claim");
    await page.getByRole("link", { name: "Sandboxes" }).click();
    await page.getByLabel("Filter").fill("no such words");
    await page.getByText('No sandboxes match "no such words".').waitFor();
    await page.getByLabel("Filter").fill("session");
    await eventually(() => page.getByRole("row").count()).toBe(2);
    await page.getByLabel("Filter").fill("");
    await apply(example("sandbox"));
    await page.getByRole("row", { name: /^demo Running/ }).waitFor();
    await picture("sandboxes");
    await page.getByRole("link", { name: "Pools" }).click();
    await page.getByRole("row", { name: /^agents/ }).click();
    await page.getByRole("region", { name: "History" }).getByText(ONE_SERVED).waitFor();
    await picture("pool");
    expect(wrong).toEqual([]);
  });

  test("suspends, resumes, creates and deletes, as far as its user may", async () => {
    const { page, picture } = await open();
    await apply(example("sandbox"));
    await page.getByRole("row", { name: /^demo Running/ }).click();
    await page.getByRole("button", { name: "Suspend" }).click();
    await page.getByRole("dialog").getByText("Deletes the Pod").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Suspend" }).click();
    await page.getByRole("row", { name: /^demo Suspended/ }).waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("row", { name: /^demo Running/ }).waitFor();
    await page.getByRole("button", { name: "New sandbox" }).click();
    await page.getByLabel("Pool or template").selectOption("pool/agents");
    await page.getByLabel("Name (optional)").fill("from-the-page");
    await picture("create");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "from-the-page" }).waitFor();
    await page.getByRole("region", { name: "Overview" }).getByText("Running", { exact: true }).waitFor();
    await page.getByRole("complementary").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("It no longer exists.").waitFor();
    await page.getByRole("link", { name: "Pools" }).click();
    await page.getByRole("row", { name: /^agents/ }).click();
    await page.getByLabel("Size").fill("5");
    await page.getByLabel("Size").press("Enter");
    await page.getByRole("alert").filter({ hasText: "cannot patch resource" }).waitFor();
    expect((await json("get", "sandboxwarmpool", "agents")).spec.replicas).toBe(3);
  });

  test(
    "says what is wrong with what does not start, and with a token that is not known",
    async () => {
      const { page, picture } = await open();
      await apply(JSON.stringify(BROKEN));
      await page.getByRole("row", { name: /^broken ErrImageNeverPull/ }).click();
      await page.getByText(/^ImageNotPresent: The node does not have the image/).waitFor();
      await picture("why");
      await page.getByLabel("Namespace").fill("");
      await page.getByLabel("Namespace").press("Enter");
      await page.getByRole("alert").filter({ hasText: "Your user may not list sandboxes in all namespaces." })
        .waitFor();
      await page.goBack();
      await page.getByRole("heading", { name: "broken" }).waitFor();
      await page.setViewportSize({ width: 400, height: 800 });
      await picture("phone");
      await page.emulateMedia({ colorScheme: "light" });
      await picture("light");
      await page.reload();
      await page.getByLabel("Token").fill("nobody");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").filter({ hasText: "is invalid or has expired" }).waitFor();
    },
  );

  test("shows the files of a sandbox, opens a terminal in it, and asks its ports", async () => {
    await importRuntimeImage(cluster().stateDir, { progress: say });
    await apply(example("agent"));
    // Why one is not Ready yet is asked of nodes, too, which this user may not see.
    await kubectl("wait", "--for=condition=Ready", "sandbox/agent", "--timeout=600s");
    const { page, wrong, picture } = await open();
    await page.getByRole("row", { name: /^agent Running/ }).click();
    await page.getByText("Files", { exact: true }).click();
    await page.getByLabel("Upload").setInputFiles({
      name: "note.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("hello from the page\n"),
    });
    await page.getByRole("button", { name: "note.txt", exact: true }).click();
    await page.getByText("hello from the page").waitFor();
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download", exact: true }).click();
    expect(await textOf(await (await downloading).createReadStream())).toBe("hello from the page\n");
    await page.getByText("Terminal", { exact: true }).click();
    await page.locator(".xterm-rows").filter({ hasText: /[#$]/ }).waitFor();
    await page.keyboard.type("cat note.txt; echo $((6*7))");
    await page.keyboard.press("Enter");
    await page.locator(".xterm-rows").filter({ hasText: /hello from the page.*42/s }).waitFor();
    await picture("inside");
    await page.getByText("Ports", { exact: true }).click();
    await page.getByLabel("Port", { exact: true }).fill("8888");
    await page.getByRole("button", { name: "Send GET" }).click();
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.getByText("200 OK, application/json").waitFor();
    await answer.getByText("Sandbox Runtime is active").waitFor();
    await picture("port");
    expect(wrong).toEqual([]);
  });
}

/** What a claim gets that comes together with its pool is a race. */
const ONE_SERVED = /(1 from the pool, 0|0 from the pool, 1) made for the claim/;

/** Sandboxes and claims; pools are only looked at. */
const RIGHTS = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: edit-sandboxes
rules:
  - apiGroups: [agents.x-k8s.io, extensions.agents.x-k8s.io]
    resources: ["*"]
    verbs: [get, list, watch]
  - apiGroups: [agents.x-k8s.io, extensions.agents.x-k8s.io]
    resources: [sandboxes, sandboxclaims]
    verbs: [create, patch, delete, connect]
  - apiGroups: [""]
    resources: [pods, pods/log, events, persistentvolumeclaims]
    verbs: [get, list, watch]
`;

const BROKEN = {
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "broken" },
  spec: { podTemplate: { spec: { containers: [{ name: "main", image: "tool:1", imagePullPolicy: "Never" }] } } },
};
