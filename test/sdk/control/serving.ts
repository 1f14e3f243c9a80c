/** An API server for the diagnosis: it has what a test gives it, and notes what it is asked for. @module */
import type { Answer, Api, ApiRequest } from "../../../packages/kube/api.ts";

/** An API server that has what it is given, by the end of the path; `null`: forbidden. */
export function serving(objects: Record<string, object | null>) {
  const requests: ApiRequest[] = [];
  const answerTo = ({ path, query }: ApiRequest): Answer => {
    const tail = path.split("/").slice(path.includes("/namespaces/") ? -2 : -1).join("/");
    const selector = query?.["fieldSelector"] ?? query?.["labelSelector"];
    const key = [tail.replace(/^team-a\//, ""), `${tail.replace(/^team-a\//, "")}?${selector}`].find((key) =>
      key in objects
    );
    if (key === undefined) {
      const name = path.split("/").at(-1);
      const isList = /(pods|events|leases|sandboxes|quotas|claims|classes|nodes)$/.test(path);
      return isList ? { status: 200, body: { items: [] } } : { status: 404, body: { details: { name } } };
    }
    const body = objects[key];
    return body === null ? { status: 403, body: { message: `${tail} is forbidden` } } : { status: 200, body };
  };
  const api: Api = {
    send: (request) => {
      requests.push(request);
      return Promise.resolve(answerTo(request));
    },
    watch: () => Promise.reject(new Error("Cannot watch: nobody is to")),
  };
  const paths = () =>
    requests.map(({ path, query }) => {
      const selector = query?.["fieldSelector"] ?? query?.["labelSelector"];
      return path.replace(/^.*\/(namespaces\/team-a|v1)\//, "") + (selector ? `?${selector}` : "");
    });
  return { api, requests, paths };
}
