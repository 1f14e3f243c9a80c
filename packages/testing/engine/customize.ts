/**
 * Related objects: gets the rules from the customize hook, and enqueues parents when a related object changes.
 * @module
 */
import type { KubeObject } from "../../api/objects/objects.ts";
import type { Hook } from "./hook.ts";
import type { Change, Informer, Informers } from "./informer.ts";
import { addObjects, groupFor, type Groups } from "./objectmap.ts";
import { matchesRule, type RelatedRule, type RuleContext, selectRelated } from "./related.ts";
import type { Resource, Store } from "./store.ts";

const REMEMBERED_MS = 20 * 60_000;

/** Thrown while the informer of a related resource has not listed its objects; the sync must be retried soon. */
export class NotSynced extends Error {
  override readonly name = "NotSynced";
}

/** A cached parent, and a function that enqueues it. */
export interface Wakeable {
  parent: KubeObject;
  resource: Resource;
  wake: () => void;
}

export interface Customize {
  /** Sets the parents that related changes can enqueue: all cached parents of the controller, in all namespaces. */
  start(parents: () => Wakeable[]): void;
  /**
   * Returns the related objects of a parent, in a group for each rule; none without a customize hook.
   *
   * @throws {NotSynced} on the first use of a resource
   */
  related(parent: KubeObject): Promise<Groups>;
  stop(): void;
}

interface Options {
  store: Store;
  informers: Informers;
  hook: Hook | undefined;
  controller: KubeObject;
  signal: AbortSignal;
}

/** Makes the related objects of one controller. */
export function createCustomize({ store, informers, hook, controller, signal }: Options): Customize {
  const watched = createWatched(informers);
  const answerFor = rememberAnswers(store, hook, controller, signal);
  let parents: () => Wakeable[] = () => [];

  /** On each related change, checks all parents. Calls the hook for those without a cached answer. */
  async function onRelated({ old, current }: Change): Promise<void> {
    if (signal.aborted || old && current && old.metadata.resourceVersion === current.metadata.resourceVersion) return;
    const states = [old, current].filter((state) => state !== undefined);
    for (const { parent, resource, wake } of parents()) {
      const answer = await answerFor(parent).catch(() => undefined);
      for (const rule of answer?.rules ?? []) {
        const asked = { rule, version: answer?.version ?? "v1", parentResource: resource, parent };
        // A rule that cannot be evaluated enqueues no parent: the sync of the parent reports the error.
        const context = await contextOf(store, watched, asked).catch(() => undefined);
        if (context && states.some((state) => matchesRule(rule, context, state))) wake();
      }
    }
  }

  return {
    start: (all) => void (parents = all),
    stop: watched.stop,
    async related(parent) {
      const groups: Groups = new Map();
      const answer = await answerFor(parent);
      if (!answer) return groups;
      const parentResource = await store.kind(parent.apiVersion, parent.kind);
      for (const rule of answer.rules) {
        const context = await contextOf(store, watched, { rule, version: answer.version, parentResource, parent });
        const informer = watched.informer(`${rule.apiVersion}/${rule.resource}`, context.resource, onRelated);
        groupFor(groups, context.resource);
        addObjects(groups, selectRelated(rule, context, informer));
      }
      return groups;
    },
  };
}

type Watched = ReturnType<typeof createWatched>;

/** The informers of related resources: started on first use, kept until the controller stops. */
function createWatched(informers: Informers) {
  const known = new Map<string, { informer: Informer; end: () => void }>();
  return {
    /** @throws {NotSynced} until the first list has arrived */
    informer(key: string, resource: Resource, onChange?: (change: Change) => Promise<void>): Informer {
      const informer = known.get(key)?.informer ?? informers.acquire(resource);
      if (!known.has(key)) known.set(key, { informer, end: onChange ? informer.subscribe(onChange) : () => {} });
      if (!informer.isSynced()) throw new NotSynced(`Cannot list ${resource.plural}: the first list has not arrived`);
      return informer;
    },
    stop(): void {
      for (const { informer, end } of known.values()) {
        end();
        informers.release(informer);
      }
    },
  };
}

type Asked = Pick<RuleContext, "version" | "parentResource" | "parent"> & { rule: RelatedRule };

async function contextOf(store: Store, watched: Watched, { rule, ...asked }: Asked): Promise<RuleContext> {
  const resource = await store.resource(rule.apiVersion, rule.resource);
  if (!rule.namespaceSelector) return { ...asked, resource, labelsOf: () => undefined };
  const namespaces = watched.informer("namespaces of selectors", await store.resource("v1", "namespaces"));
  const labelsOf = (name: string) => {
    const namespace = namespaces.get(undefined, name);
    return namespace && { ...namespace.metadata.labels };
  };
  return { ...asked, resource, labelsOf };
}

interface Answer {
  version: "v1" | "v2";
  rules: RelatedRule[];
}

/** Caches answers by UID and generation for 20 minutes, so answers cannot depend on labels, annotations or status. */
function rememberAnswers(store: Store, hook: Hook | undefined, controller: KubeObject, signal: AbortSignal) {
  const answers = new Map<string, { answer: Answer; until: number }>();
  return async (parent: KubeObject): Promise<Answer | undefined> => {
    if (!hook) return undefined;
    const key = `${parent.metadata.uid}/${parent.metadata.generation}`;
    const now = store.clock.now();
    const known = answers.get(key);
    if (known && known.until > now) return known.answer;
    const { relatedResources } = await hook.call({ controller, parent }, signal);
    const answer = { version: hook.version, rules: (relatedResources ?? []) as RelatedRule[] };
    for (const [old, { until }] of answers) if (until <= now) answers.delete(old);
    answers.set(key, { answer, until: now + REMEMBERED_MS });
    return answer;
  };
}
