// A tool call: what, where, how it stands, and what came of it.

import { Fragment } from "preact";
import type { Emit, ToolItem } from "../types";
import { ContentList } from "./content";
import { Fold } from "./fold";
import { Path } from "./path";
import { line, spoken } from "./words";

export function ToolView(props: { item: ToolItem; open?: boolean | undefined; emit: Emit }) {
  const { item, open, emit } = props;
  const heading = (
    <>
      <span class="acp-kind">{spoken(item.kind)}</span>{" "}
      <span class="acp-title">{line(item.title || item.name || item.id)}</span>{" "}
      <span class="acp-badge" data-status={item.status}>
        {spoken(item.status)}
      </span>
    </>
  );
  const locations = item.locations.length > 0 && (
    <div class="acp-path">
      {item.locations.map(({ path, line: number }, at) => (
        <Fragment key={at}>
          {at > 0 && ", "}
          <Path path={path} at={number} />
        </Fragment>
      ))}
    </div>
  );
  if (item.content.length === 0) {
    return (
      <div class="acp-tool" data-kind={item.kind}>
        {heading}
        {locations}
      </div>
    );
  }
  // What changes files is the reader's business at once; the rest opens on demand.
  const changes = item.content.some(({ type }) => type === "diff");
  return (
    <Fold name={item.key} open={open ?? changes} emit={emit} class="acp-tool" summary={heading}>
      {locations}
      <ContentList blocks={item.content} exact />
    </Fold>
  );
}
