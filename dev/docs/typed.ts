/** Records which test types the commands of a page unchanged, and which commands no test types, and why. @module */

/** The test that types the commands of a page, by page or by a pattern of pages. */
export const TYPED: Readonly<Record<string, string>> = {
  "docs/cli.md": "test/node/cli-transcript.test.ts",
  "docs/hooks.md": "test/integration/docs-steps.test.ts",
  "docs/howto/*.md": "test/node/howtos.ts",
  "docs/howto/two-clusters.md": "test/integration/two-clusters.test.ts",
  "docs/index.md": "test/integration/docs-steps.test.ts",
  "docs/install.md": "test/integration/docs-steps.test.ts",
  "docs/migration.md": "test/integration/docs-steps.test.ts",
  "docs/replay.md": "test/node/howtos.ts",
};

/** A block with commands that no test types. */
interface Untyped {
  page: string;
  /** A text that only this block of the page contains. */
  has: string;
  /** Why no test types it, and what is tested instead, if anything is. */
  why: string;
}

/**
 * All such blocks, in the order of the pages. They include blocks without a language, because these may contain
 * commands.
 */
export const UNTYPED: readonly Untyped[] = [
  {
    page: "docs/concepts.md",
    has: "kubectl apply -f examples/template.yaml",
    why: "`kubectl get -w` never ends; test/node/examples.test.ts applies the same files",
  },
  {
    page: "docs/clients.md",
    has: "create serviceaccount agent",
    why: "the namespace is the reader's own; test/consumers/stage.ts makes an account with the same roles",
  },
  {
    page: "docs/cloudevents.md",
    has: "kubectl -n hookbox-system create secret generic",
    why: "takes an installation by Helm; test/integration/chart.test.ts renders these values, and " +
      "test/wiring/cloudevents.test.ts has a keeper with such a secret",
  },
  {
    page: "docs/cloudevents.md",
    has: "node cloudevents.ts",
    why: "runs until it is stopped; test/wiring/cloudevents.test.ts has the keeper send to it",
  },
  {
    page: "docs/dashboard.md",
    has: "hookbox dashboard",
    why: "runs until it is stopped; test/browser/command.test.ts opens what it prints",
  },
  {
    page: "docs/dashboard.md",
    has: "--resource-name=hookbox-e2b-keys",
    why: "project and user are the reader's own; test/integration/userroles.test.ts creates the same role",
  },
  {
    page: "docs/dashboard.md",
    has: "kubectl -n agent-sandbox-system port-forward",
    why: "runs until it is stopped, and the port may be in use; test/browser/page.test.ts starts a router",
  },
  {
    page: "docs/dashboard.md",
    has: "kubectl create token NAME",
    why: "names stand for the reader's own; test/browser/dashboard.ts signs in with such a token",
  },
  {
    page: "docs/dashboard.md",
    has: "oauth2-proxy --provider=oidc",
    why: "takes an identity provider, and runs until it is stopped",
  },
  {
    page: "docs/e2b.md",
    has: "export E2B_SANDBOX_URL=",
    why: "key and hosts are the reader's own; test/node/e2b.ts sets the same variables",
  },
  {
    page: "docs/e2b.md",
    has: "--set e2b.enabled=true",
    why: "changes an installation; test/node/e2b.ts upgrades with the same value",
  },
  {
    page: "docs/e2b.md",
    has: "kubectl apply -k deploy/e2b",
    why: "changes an installation; test/integration/deploy.test.ts applies the same folder",
  },
  {
    page: "docs/e2b.md",
    has: "--storage 2Gi",
    why: "the registry is the reader's own; test/node/e2b.ts creates a project with a local image",
  },
  {
    page: "docs/e2b.md",
    has: "hookbox-agent:0.2.0 --root",
    why: "the registry is the reader's own; test/node/e2b.ts creates such a project, too",
  },
  {
    page: "docs/e2b.md",
    has: "hookbox project key revoke demo ci",
    why: "needs the project of the block before; test/cli/project.test.ts runs the same commands",
  },
  {
    page: "docs/examples.md",
    has: "npm run pack",
    why:
      "a hundred sandboxes take minutes; test/node/examples.test.ts runs a packed project and the program with eight",
  },
  {
    page: "docs/examples.md",
    has: "python examples/batch.py",
    why: "a hundred episodes take minutes; test/node/examples.test.ts runs the program with a few",
  },
  {
    page: "docs/howto/e2b.md",
    has: "kind create cluster",
    why: "takes kind and docker; test/node/e2b.ts creates a project and uses the SDKs",
  },
  {
    page: "docs/howto/e2b.md",
    has: "k3s ctr images import",
    why: "takes k3s and docker",
  },
  {
    page: "docs/howto/e2b.md",
    has: "gcloud container clusters create",
    why: "takes an account with Google",
  },
  {
    page: "docs/howto/e2b.md",
    has: "rollout restart deployment/sandbox-router",
    why: "changes an installation; test/integration/deploy.test.ts applies the same folder",
  },
  {
    page: "docs/howto/e2b.md",
    has: "--storage 1Gi > key.txt",
    why: "names an image of the reader; test/node/e2b.ts creates projects",
  },
  {
    page: "docs/howto/e2b.md",
    has: "cat > first.mjs",
    why: "needs the project of the block before; test/node/e2b.ts calls the same methods",
  },
  {
    page: "docs/howto/e2b.md",
    has: "--set e2b.domain=",
    why: "takes an installation by Helm; test/node/e2b.ts upgrades with the same values",
  },
  {
    page: "docs/howto/e2b.md",
    has: "--router-arg=--domain=",
    why: "installs another image; test/cli/install.test.ts checks both options",
  },
  {
    page: "docs/howto/e2b.md",
    has: "kubectl apply -f hosts.yaml",
    why: "takes an ingress controller",
  },
  {
    page: "docs/howto/e2b.md",
    has: "mkcert -install",
    why: "changes what the machine trusts; test/clients/e2btls.test.ts has such hosts with a certificate",
  },
  {
    page: "docs/howto/e2b.md",
    has: "kubectl delete namespace my-project",
    why: "removes what the blocks before have created",
  },
  {
    page: "docs/howto/quickstart.md",
    has: "npm run demo -- --context",
    why: "takes kind and docker; test/integration/demo.test.ts plays the demo on the cluster of the tests",
  },
  {
    page: "docs/howto/quickstart.md",
    has: "kind create cluster",
    why: "takes kind and docker",
  },
  {
    page: "docs/howto/quickstart.md",
    has: "k3s ctr images import",
    why: "takes k3s and docker",
  },
  {
    page: "docs/howto/quickstart.md",
    has: "gcloud container clusters create",
    why: "takes an account with Google",
  },
  {
    page: "docs/howto/quickstart.md",
    has: "npm install -g ./hookbox-cli",
    why: "that test has hookbox already; test/integration/docs-steps.test.ts types the same of docs/install.md",
  },
  {
    page: "docs/install.md",
    has: "kubectl delete -k crds",
    why:
      "it deletes all Sandboxes; test/integration/kept.test.ts types the other commands and checks that Sandboxes stay",
  },
  {
    page: "docs/mcp.md",
    has: "head -c 24 /dev/urandom",
    why: "runs until it is stopped; test/wiring/mcp.test.ts starts the server with such a file, on a free port",
  },
  {
    page: "docs/mcp.md",
    has: "claude mcp add --transport stdio",
    why: "needs Claude Code; test/cli/mcp/docs.test.ts parses its command line of hookbox",
  },
  {
    page: "docs/mcp.md",
    has: "claude mcp add --transport http",
    why: "needs Claude Code; test/cli/mcp/docs.test.ts compares its address with that of the server",
  },
  {
    page: "docs/performance.md",
    has: "npm run bench -- comparison",
    why: "takes binaries that no registry has, and hours",
  },
  {
    page: "docs/performance.md",
    has: "npm run bench -- episodes-sdk",
    why: "takes binaries that no registry has, and half an hour",
  },
  {
    page: "docs/reliability.md",
    has: "kubectl annotate sandboxwarmpool shells",
    why: "the pool is the reader's own; test/wiring/hooks.test.ts deletes children after it sets that annotation",
  },
  {
    page: "docs/replay.md",
    has: "hookbox serve --record",
    why: "runs until it is stopped, and the folder is the reader's; test/cli/replay/processes.test.ts records",
  },
  {
    page: "docs/replay.md",
    has: "321 requests",
    why: "shows a recording that was made once; test/cli/replay/run.test.ts replays one of its own",
  },
  {
    page: "docs/replay.md",
    has: "175 requests",
    why: "shows a recording that was made once; test/cli/replay/run.test.ts replays one of its own",
  },
  {
    page: "docs/router.md",
    has: "hookbox router --kubeconfig",
    why: "runs until it is stopped; test/router/main.test.ts starts it on free ports",
  },
  {
    page: "docs/router.md",
    has: "helm upgrade hookbox deploy/chart",
    why: "test/node/deploy-helm.test.ts upgrades so, and has the Python client come through",
  },
  {
    page: "docs/router.md",
    has: "hookbox token demo -n team-a --secret-file",
    why: "the secret is the reader's own; test/wiring/router-access.test.ts has the same command sign",
  },
  {
    page: "docs/router.md",
    has: "openssl genpkey",
    why: "the key is the reader's own; test/cli/token.test.ts has the same command sign",
  },
  {
    page: "docs/router.md",
    has: "http://127.0.0.1:8080/s/team-a",
    why: "addresses, and no commands",
  },
  {
    page: "docs/router.md",
    has: "deno run --allow-net",
    why: "runs until it is stopped; test/router/main.test.ts starts it with these permissions",
  },
  {
    page: "docs/runtime.md",
    has: "npm run hookbox -- runtime",
    why: "runs until it is stopped; test/runtime starts it on free ports",
  },
  {
    page: "docs/runtime.md",
    has: "docker build -f deploy/runtime/Containerfile",
    why: "takes docker; test/soak/agentimage.test.ts builds from the same file without it, in `npm run soak`",
  },
  {
    page: "docs/runtime.md",
    has: "deno run --allow-net=127.0.0.1 --allow-read",
    why: "runs until it is stopped",
  },
  {
    page: "docs/sdk.md",
    has: "cd ../my-project && npm install ../hookbox/hookbox-",
    why: "the project is the reader's; test/integration/package.test.ts installs what is packed",
  },
  {
    page: "docs/why.md",
    has: "$ hookbox why claim/job",
    why: "a line of an answer; test/node/why.test.ts asks the command about each fault",
  },
  {
    page: "docs/tracing.md",
    has: "--set tracing.endpoint",
    why:
      "there is no collector in the cluster; test/integration/chart.test.ts renders the chart with that value, and in " +
      "test/node/trace.test.ts all processes send what they do to a collector",
  },
];
