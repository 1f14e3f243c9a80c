/** The choice of a namespace: from a list, or typed, as a user may know namespaces that they may not list. @module */
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { KubeObject } from "../api/objects/objects.ts";
import { type Api, pathOf } from "../kube/api.ts";
import { pagesOf } from "../kube/requests.ts";
import { isProject, readNamespace } from "./projects.ts";

/** What the page knows of namespaces. */
export interface KnownNamespaces {
  /** Undefined: not yet, or the user may not list them. */
  names: readonly string[] | undefined;
  /** There are projects of E2B's clients. */
  haveProjects: boolean;
}

/**
 * Reads all namespaces once. If the user may not do this, reads whether the shown one is a project.
 *
 * @param shown empty: all
 */
export function useNamespaces(api: Api, shown: string): KnownNamespaces {
  const [names, setNames] = useState<readonly string[]>();
  const [isRefused, setRefused] = useState(false);
  const [haveProjects, setHaveProjects] = useState(false);
  useEffect(() => {
    let isOver = false;
    const read = async () => {
      const found: string[] = [];
      for await (const { items } of pagesOf<KubeObject>(api, pathOf({ resource: "namespaces" }))) {
        found.push(...items.map(({ metadata }) => metadata.name));
        if (!isOver && items.some(isProject)) setHaveProjects(true);
      }
      if (!isOver) setNames(found);
    };
    // Users of one namespace may not do this. Then the list offers the namespaces that have been seen.
    read().catch(() => !isOver && setRefused(true));
    return () => {
      isOver = true;
    };
  }, [api]);
  useEffect(() => {
    if (!isRefused || shown === "" || haveProjects) return;
    let isOver = false;
    readNamespace(api, shown).then((found) => !isOver && found && isProject(found) && setHaveProjects(true), () => {});
    return () => {
      isOver = true;
    };
  }, [api, isRefused, shown]);
  return { names, haveProjects };
}

/** Namespaces that this page has shown, if the user may not list all of them. */
const visited = new Set<string>();

interface NamespacesProps {
  /** Empty: all namespaces. */
  value: string;
  /** Names from the API server; undefined: not known. */
  known: readonly string[] | undefined;
  /** Their namespaces are offered if the API server's are not known. */
  objects: readonly KubeObject[];
  onChange(namespace: string): void;
}

const ALL = "All namespaces";

/** A text field with a list: a combobox as in the ARIA Authoring Practices. */
export function Namespaces({ value, known, objects, onChange }: NamespacesProps) {
  const [typed, setTyped] = useState<string>();
  const [active, setActive] = useState(-1);
  const [isOpen, setOpen] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const names = useMemo(() => {
    if (known) return [...known].sort();
    for (const { metadata } of objects) if (metadata.namespace) visited.add(metadata.namespace);
    return [...visited].sort();
  }, [known, objects]);
  const wanted = typed?.trim().toLowerCase() ?? "";
  const options = ["", ...names].filter((name) => wanted === "" || name.includes(wanted));
  const close = () => {
    setOpen(false);
    setTyped(undefined);
    setActive(-1);
  };
  const choose = (name: string) => {
    close();
    if (name !== "" && known === undefined) visited.add(name);
    if (name !== value) onChange(name);
  };
  const show = () => {
    setOpen(true);
    input.current?.select();
  };
  const step = (event: KeyboardEvent) => {
    const { key } = event;
    if (key === "ArrowDown" || key === "ArrowUp") {
      setOpen(true);
      const by = key === "ArrowDown" ? 1 : -1;
      setActive((active + by + options.length + (active < 0 && by < 0 ? 1 : 0)) % Math.max(1, options.length));
    } else if (key === "Enter") choose(options[active] ?? wanted);
    else if (key === "Escape" && isOpen) close();
    else return;
    event.preventDefault();
    // Escape closes the panel, too, unless it had something to close here.
    event.stopPropagation();
  };
  const optionId = (index: number) => `${id}-${index}`;
  return (
    <div class="namespaces">
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-label="Namespace"
        aria-expanded={isOpen}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && active >= 0 ? optionId(active) : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder={ALL}
        value={typed ?? value}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setActive(-1);
          setOpen(true);
        }}
        onFocus={show}
        onClick={show}
        onBlur={close}
        onKeyDown={step}
      />
      {isOpen && (
        <ul role="listbox" id={id} aria-label="Choices">
          {options.map((name, index) => (
            <li
              key={name}
              role="option"
              id={optionId(index)}
              class={index === active ? "active" : ""}
              aria-selected={name === value}
              // Before the field loses the focus, which closes the list.
              onMouseDown={(event) => {
                event.preventDefault();
                choose(name);
              }}
            >
              {name || ALL}
            </li>
          ))}
          {options.length === 0 && <li class="faint">Enter shows namespace {wanted}</li>}
        </ul>
      )}
    </div>
  );
}
