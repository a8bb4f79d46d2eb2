// What a tool call changed, in its own card: the change as it is in the file, its state, and what can be done with it.

import { whoOf } from "./change_summary";
import {
  ChangedFileAbout,
  ChangedFileOperations,
  HunkPlace,
  HunkView,
  isGone,
  MovedFrom,
  Reasons,
} from "./changed_file";
import { SideBySide } from "./diff";
import { memo } from "./memo";
import { OperationProgress } from "./operations";
import type { OwnChange } from "./own_changes";
import { usePanel } from "./panel";
import { Path, useRelative } from "./path";

interface Props {
  own: OwnChange;
  /** The heading of the card names the file. */
  named: boolean;
  /** A question in the card says who allowed it. */
  asked: boolean;
}

export const CardChange = memo(function CardChange({ own, named, asked }: Props) {
  const { file, turn, alone } = own;
  const { split } = usePanel();
  const shownPath = useRelative(file.path);
  const only = file.hunks.length === 1 ? (file.hunks[0] ?? null) : null;
  const who = asked && file.allowed_by !== undefined ? "" : whoOf(file);
  return (
    <figure
      class="acp-diff acp-card-change"
      data-acp-diff={split ? "split" : "unified"}
      data-acp-file={file.id}
      data-state={file.state}
      data-action={file.action}
    >
      <figcaption class="acp-diff-head">
        {(!named || file.moved_from !== undefined) && (
          <span class="acp-path">
            {file.moved_from !== undefined && <MovedFrom path={file.moved_from} />}
            <Path path={file.path} gone={isGone(file)} />
          </span>
        )}
        <ChangedFileAbout file={file} />
        {only && file.notebook && <HunkPlace hunk={only} file={file} />}
        {who !== "" && <span class="acp-who-allowed acp-quiet">{who}</span>}
        <span class="acp-card-tools">
          {file.hunks.length > 0 && <SideBySide />}
          <ChangedFileOperations {...{ file, turn, shownPath }} />
        </span>
      </figcaption>
      {alone && <OperationProgress turn={turn} />}
      <Reasons file={file} />
      {file.hunks.map((hunk) => (
        <HunkView key={hunk.id} {...{ hunk, file, turn, shownPath }} alone={only !== null} />
      ))}
    </figure>
  );
});
