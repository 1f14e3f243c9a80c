/** Signs the user in, keeps the token for as long as the operator allows, and shows who has signed in. @module */
/// <reference lib="dom" />
import { useEffect, useRef, useState } from "preact/hooks";
import { credentialsFor, isRefused, type Previews, routerConnection, routerFetch } from "./session.ts";

/** What the router tells the page before the user has signed in. */
interface Settings {
  /** Empty: the operator has given the cluster no name. */
  clusterName: string;
  tokenStorage: "memory" | "session";
  previews?: Previews;
  /** True: a proxy in front of the router adds the user's token to each request. */
  isSignedIn: boolean;
}

/** A user who has signed in. */
export interface Login {
  /** Empty: a proxy in front of the router adds it. */
  token: string;
  /** Name of the user, as the API server knows it. */
  user: string;
  settings: Settings;
}

const UNKNOWN: Settings = { clusterName: "", tokenStorage: "memory", isSignedIn: false };
/** Key of the token in the browser's sessionStorage. */
const STORED = "hookbox.token";
const REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const INVALID = "The token is invalid or has expired.";
const PROXY_ENDED = "Your sign-in has ended. Reload the page to sign in again.";

/** State of the sign-in, and what may be done about it. */
export interface SignInState {
  /** Undefined: nobody has signed in, or the page does not know yet. */
  login: Login | undefined;
  settings: Settings;
  /** True: the page finds out whether somebody has signed in. */
  isChecking: boolean;
  trouble: string | undefined;
  signIn(token: string): Promise<void>;
  signOut(): void;
  /** The API server does not accept the token any more. The address of the page stays. */
  refused(): void;
}

/** Keeps track of the sign-in. @param base base URL of the router's proxy to the API server */
export function useSignIn(base: string): SignInState {
  const [settings, setSettings] = useState(UNKNOWN);
  const [login, setLogin] = useState<Login>();
  const [isChecking, setChecking] = useState(true);
  const [trouble, setTrouble] = useState<string>();
  const isRenewing = useRef(false);
  const leave = (why?: string) => {
    sessionStorage.removeItem(STORED);
    routerConnection().close();
    setTrouble(why);
    setLogin(undefined);
  };
  const enter = async (token: string, settings: Settings) => {
    const user = await userOf(base, token);
    if (user === undefined) return leave(token === "" ? PROXY_ENDED : INVALID);
    if (settings.tokenStorage === "session" && token !== "") sessionStorage.setItem(STORED, token);
    setTrouble(undefined);
    setLogin({ token, user, settings });
  };
  const begin = async () => {
    const found = await fetchSettings();
    setSettings(found);
    const stored = sessionStorage.getItem(STORED) ?? undefined;
    // The operator may have changed the option since the token was stored.
    if (found.tokenStorage === "memory") sessionStorage.removeItem(STORED);
    const token = found.isSignedIn ? "" : found.tokenStorage === "session" ? stored : undefined;
    if (token !== undefined) await enter(token, found);
  };
  useEffect(() => {
    begin().catch((error) => setTrouble(messageOf(error))).finally(() => setChecking(false));
  }, []);
  return {
    login,
    settings,
    isChecking,
    trouble,
    signIn: (token) => enter(token, settings).catch((error) => setTrouble(messageOf(error))),
    signOut: () => leave(),
    refused: () => {
      if (login?.token !== "") return leave(INVALID);
      // All requests of the page are refused at the same time.
      if (isRenewing.current) return;
      isRenewing.current = true;
      // The proxy adds a newer token to the next WebSocket.
      routerConnection().close();
      enter("", login.settings).catch((error) => setTrouble(messageOf(error))).finally(() =>
        isRenewing.current = false
      );
    },
  };
}

async function fetchSettings(): Promise<Settings> {
  const answer = await fetch(new URL("settings.json", location.href.replace(/[?#].*$/, "")), { cache: "no-store" });
  if (!answer.ok) throw new Error(`The router answers ${answer.status} ${answer.statusText}.`);
  return { ...UNKNOWN, ...await answer.json() };
}

/** Returns the user of a token; undefined: it is invalid. @throws {Error} if the API server gives no answer */
async function userOf(base: string, token: string): Promise<string | undefined> {
  const answer = await routerFetch(`${base}${REVIEWS}`, {
    method: "POST",
    ...credentialsFor(token),
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }),
  });
  const body = await answer.json().catch(() => undefined);
  if (isRefused(answer, token)) return undefined;
  if (answer.status === 201) return body?.status?.userInfo?.username ?? subjectOf(token);
  // Kubernetes before 1.28 serves no SelfSubjectReview.
  if (answer.status === 403 || answer.status === 404) return subjectOf(token);
  throw new Error(body?.detail ?? body?.message ?? `The router answers ${answer.status}.`);
}

/** Reads the subject of a JSON Web Token without checking it: only to show it. */
function subjectOf(token: string): string {
  try {
    const payload = atob((token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"));
    return String(JSON.parse(payload).sub ?? "unknown user");
  } catch {
    return "unknown user";
  }
}

function messageOf(error: unknown): string {
  return `Cannot sign in: ${error instanceof Error ? error.message : error}`;
}

/** The sign-in form. */
export function SignIn({ state }: { state: SignInState }) {
  const [text, setText] = useState("");
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  // After signing out: the browser follows `autofocus` only when it loads the page.
  useEffect(() => field.current?.focus(), []);
  const { settings: { clusterName, tokenStorage }, trouble } = state;
  const submit = async (event: Event) => {
    event.preventDefault();
    const token = text.trim().replace(/^Bearer\s+/i, "");
    if (token === "") return;
    setBusy(true);
    await state.signIn(token);
    setBusy(false);
  };
  return (
    <form class="signin" onSubmit={submit}>
      <h1>hookbox</h1>
      {clusterName !== "" && <p>Cluster {clusterName}</p>}
      {trouble && <p role="alert">{trouble}</p>}
      <label>
        Token
        <input
          type="password"
          autocomplete="off"
          autofocus
          required
          ref={field}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={isBusy}>Sign in</button>
      <p>
        The page shows what the token's user may see. To create a token for a ServiceAccount:{" "}
        <code>kubectl create token NAME -n NAMESPACE</code>. {tokenStorage === "session"
          ? "The browser keeps the token until you close this tab or sign out."
          : "The page forgets the token when you close or reload it."}
      </p>
    </form>
  );
}

/** Shows user and cluster, and the way out. */
export function Identity({ state, login }: { state: SignInState; login: Login }) {
  const { user, settings: { clusterName } } = login;
  return (
    <>
      <p class="identity" title={clusterName === "" ? user : `${user} on ${clusterName}`}>
        {user.replace(/^system:serviceaccount:/, "")}
        {clusterName !== "" && <span>{clusterName}</span>}
      </p>
      {login.token !== "" && <button type="button" onClick={state.signOut}>Sign out</button>}
    </>
  );
}
