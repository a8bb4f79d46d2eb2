// The agent's trouble and the sign-in that it requires. They are about the session: in a page with a panel they are
// told there, and below a cell that is concerned is a line that leads there.

import { useContext, useRef } from "preact/hooks";
import type { Sent } from "../store";
import type { Header } from "../types";
import { HostContext } from "./host";
import { Icon } from "./icons";
import { useViewOf } from "./place";
import { PANEL } from "./places";
import { SignedIn, SignInView, signInTitle } from "./signin";
import { Trouble, troubleTitle } from "./trouble";

interface Props {
  header: Header;
  inPanel: boolean;
  /** Whether this view is concerned. */
  trouble: boolean;
  signIn: boolean;
  /** A restart that is under way. */
  sent?: Sent | undefined;
  /** Whether the agent was started again, and failed for the same reason. */
  again?: boolean;
}

export function SessionNotes(props: Props) {
  return props.inPanel ? <Notes {...props} /> : <BelowCell {...props} />;
}

/** Below the cell that waits for a session, or did. */
export function SignInAlone({ header }: { header: Header }) {
  if (!header.sign_in) return <SignedIn header={header} />;
  return <BelowCell header={header} inPanel={false} trouble={false} signIn />;
}

function Notes({ header, trouble, signIn, sent, again }: Props) {
  return (
    <>
      {trouble && <Trouble {...{ header, sent }} again={again ?? false} />}
      {signIn && <SignInView header={header} />}
    </>
  );
}

function BelowCell(props: Props) {
  const { header, trouble, signIn } = props;
  const self = useRef<HTMLDivElement>(null);
  const panel = useViewOf(PANEL, self);
  const title = (trouble && troubleTitle(header)) || (signIn && signInTitle(header));
  return (
    <div ref={self}>
      {panel === null ? <Notes {...props} /> : title && <ToPanel {...{ title, panel }} />}
    </div>
  );
}

function ToPanel({ title, panel }: { title: string; panel: Element }) {
  const { reveal } = useContext(HostContext);
  return (
    <div class="acp-banner" data-acp-in-panel="" role="status">
      <span>
        {title} <span class="acp-quiet">The panel says more.</span>
      </span>
      {reveal && (
        <button
          type="button"
          class="acp-ghost"
          data-acp-show-panel=""
          title="Show it in the panel"
          onClick={({ currentTarget }) => reveal(panel, currentTarget)}
        >
          <Icon name="open" /> Show
        </button>
      )}
    </div>
  );
}
