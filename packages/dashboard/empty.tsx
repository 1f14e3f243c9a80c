/** What a list shows in place of its rows: that it loads, why it cannot be shown, or what to do if there are none. @module */
import type { ComponentChildren } from "preact";
import { adviceOf, WithCommands } from "./parts.tsx";

interface EmptyProps {
  title: string;
  namespace: string;
  trouble: string | undefined;
  isListed: boolean;
  /** Number of objects before the filter. */
  count: number;
  filter: string;
  /** What is wrong with the filter; undefined: nothing. */
  fault: string | undefined;
  /** The namespace is not among those of the cluster, as far as they are known. */
  isUnknown: boolean;
  onClear(): void;
  onCreate(): void;
}

/** Takes the place of the rows: says why there are none, and what to do. */
export function Empty(
  { title, namespace, trouble, isListed, count, filter, fault, isUnknown, onClear, onCreate }: EmptyProps,
) {
  const advice = adviceOf(trouble ?? "");
  if (!isListed && trouble === undefined) {
    return (
      <Message>
        <p role="status">Loading {title}…</p>
      </Message>
    );
  }
  if (!isListed && isForbidden(trouble)) {
    return (
      <Message>
        <p role="alert">Your user may not list {title} {scopeOf(namespace)}.</p>
        <p>
          {namespace === "" ? "Choose one of your namespaces" : "Choose another namespace"} above, or ask for the right.
        </p>
        {advice !== undefined && (
          <p>
            <WithCommands text={advice} />
          </p>
        )}
        <p class="faint">{trouble}</p>
      </Message>
    );
  }
  if (!isListed) {
    return (
      <Message>
        <p role="alert">Cannot list {title}. The page tries again.</p>
        <p class="faint">{trouble}</p>
      </Message>
    );
  }
  if (count > 0) {
    return (
      <Message>
        <p>{fault ?? `No ${title} match "${filter}". The filter hides ${count}.`}</p>
        <button type="button" onClick={onClear}>Clear the filter</button>
      </Message>
    );
  }
  return (
    <Message>
      <p>There are no {title} {namespace === "" ? "in any namespace" : scopeOf(namespace)}.</p>
      {isUnknown && <p>This namespace does not exist, or is new.</p>}
      {!isUnknown && (title === "sandboxes" || title === "claims") && (
        <>
          <p>A claim asks a pool for a sandbox.</p>
          <button type="button" onClick={onCreate}>New sandbox</button>
        </>
      )}
      {title === "projects" && (
        <p>
          <WithCommands text="A project is a namespace for programs that use E2B's SDKs. To create one: hookbox project create NAME --image IMAGE" />
        </p>
      )}
      {title in MANIFESTS && (
        <>
          <p>
            {MANIFESTS[title]?.text} To create one, give this to <code>kubectl apply -f -</code>:
          </p>
          <pre>{MANIFESTS[title]?.yaml(namespace || "default")}</pre>
        </>
      )}
    </Message>
  );
}

/** By title of a list: what its objects are for, and an example. */
const MANIFESTS: Record<string, { text: string; yaml(namespace: string): string }> = {
  pools: {
    text: "A pool keeps sandboxes of a template running in advance, so that claims get theirs at once.",
    yaml: (namespace) =>
      `apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxWarmPool
metadata:
  name: agents
  namespace: ${namespace}
spec:
  replicas: 3
  sandboxTemplateRef:
    name: agent`,
  },
  templates: {
    text: "A template describes the sandboxes of pools.",
    yaml: (namespace) =>
      `apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: SandboxTemplate
metadata:
  name: agent
  namespace: ${namespace}
spec:
  podTemplate:
    spec:
      containers:
        - name: main
          image: busybox:1.37
          command: [sleep, infinity]`,
  },
};

function Message({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

export function scopeOf(namespace: string): string {
  return namespace === "" ? "in all namespaces" : `in namespace ${namespace}`;
}

export function isForbidden(trouble: string | undefined): boolean {
  return /status 403|is forbidden|cannot (?:list|watch) resource/.test(trouble ?? "");
}
