// Code that the agent ran in the kernel, cells of the notebook, or a function: the code or the arguments, the
// outputs as they grow, the end.

import { useContext, useRef } from "preact/hooks";
import type { RunContent } from "../types";
import { AskedTurn } from "./asked_turn";
import { CodeView } from "./code";
import { Elapsed } from "./elapsed";
import { CallArguments, CallProgress } from "./function_call";
import { HostContext } from "./host";
import { Markdown } from "./markdown";
import { Image } from "./media";
import { memo } from "./memo";
import { usePanel } from "./panel";
import { savedOutputs } from "./run_outputs";
import type { RunOutput } from "./run_outputs";
import { TerminalText } from "./terminal_text";
import { ToolStatus } from "./tool_status";
import { code, line } from "./display_text";

type RunCell = RunContent["cells"][number];

/** The kernel was not asked to do anything: the notes say why. */
export const NOT_RUN: ReadonlySet<string> = new Set(["busy", "refused"]);

export const RunView = memo(function RunView({ run }: { run: RunContent }) {
  const { code: source, cells, outputs, notes, status } = run;
  const over = status !== "running" && status !== "waiting";
  const kept = over && outputs.length > 0 ? () => savedOutputs(outputs) : undefined;
  return (
    <div class="acp-run" data-acp-run={run.run_id} data-status={status}>
      {cells.length === 0 && source !== "" && (
        <CodeView pieces={[source]} language="python" closed outputs={kept} />
      )}
      {run.function !== undefined && <CallArguments given={run.arguments ?? []} />}
      {run.session && <AskedTurn session={run.session} running={status === "running"} />}
      <Outputs outputs={outputs} stopped={status === "interrupted"} said={!!run.session} />
      {status === "running" && <CallProgress fraction={run.progress} text={run.progress_text} />}
      {cells.map((cell) => (
        <CellView key={cell.id} cell={cell} />
      ))}
      {notes.map((note, at) => (
        <div key={at} class="acp-quiet">
          {line(note)}
        </div>
      ))}
      {!(NOT_RUN.has(status) && notes.length > 0) && <End run={run} />}
    </div>
  );
});

function End({ run }: { run: RunContent }) {
  const gone = usePanel().link === "gone";
  const running = run.status === "running" && !gone;
  return (
    <div class="acp-run-end" data-ok={run.status === "ok"}>
      {running && <span class="acp-spinner" aria-hidden="true" />}
      {running ? <Running seconds={run.seconds} /> : stateOf(run, gone)}
    </div>
  );
}

/** The kernel sends the time with each output; in between, the page counts on. */
function Running({ seconds }: { seconds: number }) {
  const received = useRef({ seconds: -1, since: 0 });
  if (received.current.seconds !== seconds)
    received.current = { seconds, since: Date.now() - seconds * 1000 };
  return (
    <span>
      running <Elapsed since={received.current.since} />
    </span>
  );
}

// ---- cells of the notebook

const CELL_STATUS: Record<string, string> = {
  ok: "completed",
  error: "failed",
  interrupted: "stopped",
  running: "in_progress",
  waiting: "pending",
  skipped: "not_run",
};

function CellView({ cell }: { cell: RunCell }) {
  const { files } = useContext(HostContext);
  const gone = usePanel().link === "gone";
  const name = `Cell ${cell.execution_count === undefined ? line(cell.id) : `[${cell.execution_count}]`}`;
  const status = gone && cell.status === "running" ? "unfinished" : cell.status;
  return (
    <div class="acp-run-cell" data-status={cell.status}>
      <div class="acp-run-cell-head">
        {files ? (
          <button
            type="button"
            class="acp-link"
            title="Show in this notebook"
            onClick={({ currentTarget }) => files.show([cell.id], currentTarget)}
          >
            {name}
          </button>
        ) : (
          <span>{name}</span>
        )}
        <ToolStatus status={CELL_STATUS[status] ?? status} />
      </div>
      {/* It is a cell already. */}
      <CodeView pieces={[cell.source]} language="python" closed insertable={false} />
      <Outputs outputs={cell.outputs} stopped={cell.status === "interrupted"} />
    </div>
  );
}

// ---- outputs

interface OutputsProps {
  outputs: readonly RunOutput[];
  /** The code was, so that the error says nothing more. */
  stopped: boolean;
  /** An agent said it: texts are markdown. */
  said?: boolean;
}

function Outputs({ outputs, stopped, said = false }: OutputsProps) {
  const shown = stopped ? outputs.filter((output) => !isInterrupt(output)) : outputs;
  return (
    <>
      {shown.map((output, at) => (
        <OutputView key={at} output={output} said={said} />
      ))}
    </>
  );
}

function isInterrupt(output: RunOutput): boolean {
  return output.type === "error" && output.name === "KeyboardInterrupt";
}

const OutputView = memo(function OutputView(props: { output: RunOutput; said: boolean }) {
  const { output, said } = props;
  switch (output.type) {
    case "stream":
      return output.text.trim() === "" ? null : (
        <div class="acp-run-output" data-stream={output.name}>
          <TerminalText text={output.text} />
        </div>
      );
    case "error":
      return (
        <div class="acp-run-output" data-stream="error">
          <TerminalText text={output.traceback || `${output.name}: ${output.message}`} />
        </div>
      );
    case "display":
      if (output.image) return <Image data={output.image.data} type={output.image.mime_type} />;
      if (output.table) return <Table rows={output.table} />;
      if (said) return <Markdown text={output.text} done />;
      return output.text === "" ? null : <pre class="acp-run-text">{code(output.text)}</pre>;
    default:
      return <pre class="acp-code">{JSON.stringify(output satisfies never)}</pre>;
  }
});

/** Only texts: the output's own HTML is never used. */
function Table({ rows: [head, ...rows] }: { rows: readonly (readonly string[])[] }) {
  return (
    <div class="acp-run-table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {head?.map((text, at) => (
              <th key={at} scope="col">
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((text, column) => (
                <td key={column}>{text}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// ---- words

/** The same words as core/export/runs.py. `gone`: the kernel is. */
export function stateOf({ status, seconds }: RunContent, gone = false): string {
  const time = seconds < 0.1 ? "less than 0.1 s" : `${seconds} s`;
  switch (status) {
    case "waiting":
    case "refused":
      return "not run";
    case "busy":
      return "not run: the kernel was busy";
    case "ok":
      return `ran in ${time}`;
    case "error":
      return `failed after ${time}`;
    case "interrupted":
      return `stopped after ${time}`;
    case "running":
      return gone ? "not finished: the kernel is gone" : `running for ${time}`;
    default:
      return line(`${status} ${seconds} s`);
  }
}
