/** What the router passes on to the API server for the dashboard, and what it never does. @module */
import { expect, test } from "vitest";
import { isAllowed } from "../../../packages/router/dashboard/dashboard.ts";

const AGENTS = "/apis/agents.x-k8s.io/v1beta1";
const EXTENSIONS = "/apis/extensions.agents.x-k8s.io/v1beta1";

test.for([
  ["GET", `${AGENTS}/sandboxes`],
  ["GET", `${AGENTS}/namespaces/team-a/sandboxes`],
  ["GET", `${AGENTS}/namespaces/team-a/sandboxes/demo`],
  ["GET", `${EXTENSIONS}/sandboxwarmpools`],
  ["GET", `${EXTENSIONS}/namespaces/team-a/sandboxtemplates/agent`],
  ["GET", "/api/v1/namespaces/team-a/pods/demo"],
  ["GET", "/api/v1/namespaces/team-a/pods/demo/log"],
  ["GET", "/api/v1/nodes/n.example"],
  ["GET", "/apis"],
  ["GET", "/apis/metrics.k8s.io/v1beta1/namespaces/team-a/pods/demo"],
  ["POST", `${EXTENSIONS}/namespaces/team-a/sandboxclaims`],
  ["POST", `${EXTENSIONS}/namespaces/team-a/sandboxwarmpools`],
  ["PATCH", `${AGENTS}/namespaces/team-a/sandboxes/demo`],
  ["PATCH", `${EXTENSIONS}/namespaces/team-a/sandboxwarmpools/python`],
  ["PATCH", `${EXTENSIONS}/namespaces/team-a/sandboxclaims/session`],
  ["DELETE", `${AGENTS}/namespaces/team-a/sandboxes/demo`],
  ["DELETE", `${EXTENSIONS}/namespaces/team-a/sandboxclaims/session`],
])("%s %s is passed on", ([method, path]) => {
  expect(isAllowed(method!, path!)).toBe(true);
});

test.for([
  ["GET", "/api/v1/secrets"],
  ["GET", "/api/v1/namespaces/team-a/secrets/token"],
  ["GET", "/api/v1/namespaces/team-a/configmaps"],
  ["GET", "/api/v1/namespaces/team-a/pods/demo/exec"],
  ["POST", "/api/v1/namespaces/team-a/pods/demo/exec"],
  ["GET", "/api/v1/nodes/n/proxy/logs"],
  ["GET", "/api/v1/namespaces/team-a/services/web/proxy"],
  ["POST", "/api/v1/namespaces/team-a/pods"],
  ["POST", "/api/v1/namespaces/team-a/serviceaccounts/default/token"],
  ["PUT", `${AGENTS}/namespaces/team-a/sandboxes/demo`],
  ["DELETE", `${AGENTS}/namespaces/team-a/sandboxes`],
  ["DELETE", `${EXTENSIONS}/namespaces/team-a/sandboxwarmpools/python`],
  ["PATCH", `${AGENTS}/namespaces/team-a/sandboxes/demo/status`],
  ["GET", `${AGENTS}/namespaces/../../../../api/v1/secrets`],
  ["GET", `${AGENTS}/namespaces/%2e%2e/sandboxes`],
  ["GET", `${AGENTS}/namespaces/a//sandboxes`],
  ["GET", `${AGENTS}/sandboxes\n/x`],
  ["GET", "/apis/agents-x-k8s.io/v1beta1/sandboxes"],
  ["GET", "/apis/"],
  ["GET", "/apis/metrics.k8s.io/v1beta1/nodes"],
  ["POST", `${EXTENSIONS}/namespaces/team-a/sandboxtemplates`],
  ["GET", "/"],
  ["constructor", `${AGENTS}/sandboxes`],
])("%s %s is not", ([method, path]) => {
  expect(isAllowed(method!, path!)).toBe(false);
});
