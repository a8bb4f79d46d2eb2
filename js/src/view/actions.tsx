// The actions that an allow covers, in full: the list may scroll, but nothing is cut. The kernel describes the
// actions; nothing is derived here.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Action, MetadataChange, NotebookAction, WriteAction } from "../types";
import { Counts, DiffRows, SideBySide } from "./diff";
import { ExactInline, ExactLines } from "./exact_text";
import { ExactArguments } from "./function_call";
import { Icon } from "./icons";
import { memo } from "./memo";
import { changeOf } from "./diff_rows";
import { capital, spoken } from "./display_text";

const NOTHING =
  "This request names no file and no command. Allowing it only answers the agent: if the agent then asks the notebook to write a file or run a command, you will be asked again.";
const BY_TITLE =
  "Only the title says this, and a title proves nothing: none of your rules allows it.";
const NO_CONTENT =
  "The content is not shown, so allowing this does not cover it: if the agent asks the notebook to write the file, you will be asked again.";

/** A remainder this small holds nothing to read. */
const END_PX = 4;

/** In an open question. */
export const Actions = memo(function Actions({ actions }: { actions: readonly Action[] }) {
  if (actions.length === 0) return <div class="acp-actions-none">{NOTHING}</div>;
  return (
    <Scrolling>
      {shown(actions).map((action, at) => (
        <ActionView key={at} action={action} />
      ))}
    </Scrolling>
  );
});

const OF_KERNEL: ReadonlySet<Action["type"]> = new Set([
  "run_code",
  "run_cells",
  "call_function",
  "kernel",
]);

/** Omits the name of a kernel tool: the action next to it says more. */
function shown(actions: readonly Action[]): readonly Action[] {
  if (!actions.some(({ type }) => OF_KERNEL.has(type))) return actions;
  return actions.filter(({ type }) => type !== "mcp");
}

/** The actions after the answer, without their texts. */
export function CoveredActions({ actions }: { actions: readonly Action[] }) {
  if (actions.length === 0) return null;
  return (
    <details class="acp-covered">
      <summary>What it covered</summary>
      {shown(actions).map((action, at) => (
        <ActionView key={at} action={action} />
      ))}
    </details>
  );
}

/** A box of bounded height that says when there is more below. */
function Scrolling({ children }: { children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [below, setBelow] = useState<"fits" | "more" | "end">("fits");
  const measure = () => {
    if (!box.current) return;
    const { scrollHeight, clientHeight, scrollTop } = box.current;
    const left = scrollHeight - clientHeight - scrollTop;
    setBelow(scrollHeight - clientHeight <= END_PX ? "fits" : left > END_PX ? "more" : "end");
  };
  useLayoutEffect(() => {
    measure();
    if (typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(measure);
    for (const each of [box.current, content.current]) if (each) observer.observe(each);
    return () => observer.disconnect();
  }, []);
  const scrollDown = () =>
    box.current?.scrollBy({ top: box.current.clientHeight * 0.8, behavior: "smooth" });
  return (
    <div
      ref={box}
      class="acp-actions"
      role="region"
      aria-label="What you would allow"
      tabIndex={0}
      data-below={below}
      onScroll={measure}
    >
      <div ref={content}>{children}</div>
      {below !== "fits" && (
        // Hidden at the end rather than removed, so that nothing moves.
        <button type="button" class="acp-below" tabIndex={-1} onClick={scrollDown}>
          <Icon name="down" /> More below
        </button>
      )}
    </div>
  );
}

function ActionView({ action }: { action: Action }) {
  return (
    <div class="acp-action" data-acp-action={action.type}>
      {inside(action)}
    </div>
  );
}

function inside(action: Action) {
  switch (action.type) {
    case "command":
      return <Command {...action} />;
    case "write":
    case "notebook":
      return <Writing action={action} />;
    case "fetch":
      return <Head icon="fetch" verb="Fetch" what={action.url} />;
    case "other":
      return (
        <>
          <Head icon={action.kind} verb={capital(spoken(action.kind))} />
          {action.input !== undefined && <Input text={action.input ?? ""} />}
          <Note text={NOTHING} />
        </>
      );
    case "mcp":
      return (
        <>
          <Head icon="other" verb="MCP tool" what={`${action.server}/${action.tool}`} />
          {!action.sure && <Note text={BY_TITLE} />}
        </>
      );
    case "run_code":
      return <Code head="Run in the kernel" code={action.code} purpose={action.purpose} />;
    case "run_cells":
      return (
        <>
          {action.cells.map(([id, source]) => (
            <Code key={id} head={`Run cell ${id}`} code={source} />
          ))}
        </>
      );
    case "call_function":
      return (
        <>
          <Head icon={action.reads ? "read" : "execute"} verb="Call function" what={action.name} />
          <ExactArguments given={action.arguments ?? []} />
        </>
      );
    case "kernel":
      return <Head icon="read" verb="Kernel tool" what={action.tool} />;
    case "details":
      return (
        <>
          <div class="acp-action-note">The agent also says:</div>
          <Input text={action.input ?? ""} />
        </>
      );
    case "edit":
      return (
        <>
          <Head icon="edit" verb="Edit" what={action.path} target={action.target} />
          <Note text={NO_CONTENT} />
        </>
      );
    case "read":
    case "delete":
    case "move":
      return (
        <Head
          icon={action.type}
          verb={capital(spoken(action.type))}
          what={action.path}
          target={action.target}
        />
      );
    default:
      // A newer kernel may describe more than this module knows.
      return <Input text={JSON.stringify(action satisfies never, null, 2)} />;
  }
}

function Input({ text }: { text: string }) {
  return (
    <pre class="acp-exact" aria-label="What the agent says">
      <ExactLines text={text} />
    </pre>
  );
}

interface HeadProps {
  icon: string;
  verb: string;
  what?: string;
  target?: string | undefined;
  children?: ComponentChildren;
}

function Head({ icon, verb, what, target, children }: HeadProps) {
  return (
    <div class="acp-action-head">
      <span class="acp-kind">
        <Icon name={icon} />
      </span>
      <span class="acp-verb">{verb}</span>
      {what !== undefined && (
        <code class="acp-what">
          <ExactInline text={what} />
        </code>
      )}
      {target !== undefined && (
        <span class="acp-target">
          <span aria-hidden="true">→ </span>
          <span class="acp-hidden">which is really </span>
          <code class="acp-what">
            <ExactInline text={target} />
          </code>
        </span>
      )}
      {children}
    </div>
  );
}

function Note({ text }: { text: string }) {
  return (
    <div class="acp-action-note">
      <ExactInline text={text} />
    </div>
  );
}

function Code(props: { head: string; code: string; purpose?: string | undefined }) {
  return (
    <>
      <Head icon="execute" verb={props.head}>
        {props.purpose !== undefined && (
          <span class="acp-quiet">
            <ExactInline text={props.purpose} />
          </span>
        )}
      </Head>
      {props.code !== "" && (
        <pre class="acp-exact acp-exact-code" aria-label="Code">
          <ExactLines text={props.code} />
        </pre>
      )}
    </>
  );
}

function Command({ line, cwd, env = [] }: Extract<Action, { type: "command" }>) {
  return (
    <>
      <pre class="acp-exact acp-exact-command" aria-label="Command">
        <ExactLines text={line} />
      </pre>
      <div class="acp-where">
        in{" "}
        <code class="acp-what">
          <ExactInline text={cwd} />
        </code>
      </div>
      {env.map(([name, value], at) => (
        <div key={at} class="acp-where">
          with{" "}
          <code class="acp-what">
            <strong>
              <ExactInline text={name} />
            </strong>
            =<ExactInline text={value} />
          </code>
        </div>
      ))}
    </>
  );
}

function Writing({ action }: { action: WriteAction | NotebookAction }) {
  const { path, target, old_text: before, new_text: after, note } = action;
  const change = useMemo(
    () => (after === undefined ? null : changeOf(before ?? "", after)),
    [before, after],
  );
  const isNew = before === undefined && note === undefined && change !== null;
  const metadata = action.type === "notebook" ? (action.metadata ?? []) : [];
  return (
    <>
      <Head
        icon="edit"
        verb={action.type === "notebook" ? "Notebook" : "Write"}
        what={path}
        target={target}
      >
        {isNew && <span class="acp-badge">new file</span>}
        {after === "" && before !== undefined && <span class="acp-badge">emptied</span>}
        {change && <Counts added={change.added} removed={change.gone} />}
        {change && <SideBySide />}
      </Head>
      {change && (change.added + change.gone > 0 || metadata.length === 0) && (
        <DiffRows rows={change.rows} path={path} whole />
      )}
      {metadata.length > 0 && <Metadata changes={metadata} />}
      {note !== undefined && <Note text={note} />}
    </>
  );
}

function Metadata({ changes }: { changes: readonly MetadataChange[] }) {
  return (
    <table class="acp-metadata">
      <caption>Metadata</caption>
      <thead>
        <tr>
          {["Where", "Name", "Before", "After"].map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {changes.map(({ where, name, before, after }, at) => (
          <tr key={at}>
            <td>
              <ExactInline text={where} />
            </td>
            <th scope="row">
              <ExactInline text={name} />
            </th>
            <Value text={before} kind="gone" />
            <Value text={after} kind="new" />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Value({ text, kind }: { text: string | undefined; kind: string }) {
  if (text === undefined) return <td class="acp-quiet">none</td>;
  return (
    <td data-kind={kind}>
      <ExactLines text={text} />
    </td>
  );
}
