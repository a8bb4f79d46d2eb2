// Above the field while an earlier prompt is edited: what sending it means, the undo of its turn, and a way back.

import type { Turn } from "../turns";
import type { Editing } from "../types";
import { operationsOfAll } from "./change_summary";
import { keyOf } from "./changes";
import { capital } from "./display_text";
import { OperationButton, OperationProgress } from "./operations";

interface Props {
  editing: Editing;
  turns: readonly Turn[];
  cancel: () => void;
}

export function EditingLine({ editing, turns, cancel }: Props) {
  const { turn, number, partial, kept } = editing;
  const items = turns.find(({ start }) => start?.key === turn)?.items ?? [];
  const files = items.flatMap((item) => (item.type === "changes" ? item.files : []));
  const operations = operationsOfAll(files).filter((operation) => operation !== "keep");
  const waits = kept.text.trim() !== "" || kept.images.length > 0;
  return (
    <div class="acp-editing" role="group" aria-label="Edited prompt" data-acp-editing={turn}>
      <p role="status">
        {`Editing the prompt of turn ${number}. It is sent as a new prompt; the agent still remembers that turn.`}
        {partial && " Attachments that its text does not mention are not sent again."}
        {waits && " Your unsent text comes back afterwards."}
      </p>
      <span class="acp-operations">
        {operations.map((operation) => (
          <OperationButton
            key={keyOf(operation)}
            operation={operation}
            of={{ turn }}
            what={`the changes of turn ${number}`}
            label={`${capital(operation)} its changes`}
          />
        ))}
        <button type="button" data-acp-stop-editing="" onClick={cancel}>
          Cancel
        </button>
      </span>
      <OperationProgress turn={turn} />
    </div>
  );
}
