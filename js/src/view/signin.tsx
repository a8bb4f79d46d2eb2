// The agent wants a sign-in: its ways as buttons; for one in a terminal, the command and who runs it.

import { useContext, useState } from "preact/hooks";
import type { Emit, Header, SignIn, SignInMethod } from "../types";
import { CopyButton, Host } from "./code";
import { line, reason } from "./words";

interface Props {
  header: Header;
  live: boolean;
  emit: Emit;
}

export function SignInView({ header, live, emit }: Props) {
  const wanted = header.sign_in;
  if (!wanted) return null;
  const name = line(header.agent?.title ?? header.agent?.name ?? "The agent");
  return (
    <section class="acp-signin" role="group" aria-label="Sign in" data-acp-signin="">
      <p class="acp-title">{name} wants you to sign in first.</p>
      {wanted.error && (
        <p class="acp-bad" role="alert" data-acp-signin-error="">
          {reason(wanted.error)}
        </p>
      )}
      <ul>
        {wanted.methods.map((method) => (
          <li key={method.id}>
            {method.type === "terminal" ? (
              <InTerminal method={method} live={live} emit={emit} />
            ) : (
              <ByAgent method={method} wanted={wanted} live={live} emit={emit} />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface MethodProps {
  method: SignInMethod;
  live: boolean;
  emit: Emit;
}

function ByAgent({ method, wanted, live, emit }: MethodProps & { wanted: SignIn }) {
  const trying = wanted.trying === method.id;
  return (
    <>
      <button
        type="button"
        class="acp-primary"
        data-acp-signin-method={method.id}
        disabled={!live || (wanted.trying !== undefined && wanted.trying !== null)}
        onClick={() => emit({ t: "sign_in", method: method.id })}
      >
        {trying ? `${line(method.name)}…` : line(method.name)}
      </button>
      {trying && (
        <button
          type="button"
          data-acp-signin-stop=""
          onClick={() => emit({ t: "sign_in", method: null })}
        >
          Stop
        </button>
      )}
      {method.description && <span class="acp-quiet">{line(method.description)}</span>}
    </>
  );
}

function InTerminal({ method, live, emit }: MethodProps) {
  const { terminal } = useContext(Host);
  const [told, setTold] = useState<string | null>(null);
  const run = method.run ?? method.command ?? "";
  const open = ({ currentTarget }: { currentTarget: Element }) =>
    terminal?.(run, currentTarget).then((trouble) =>
      setTold(trouble ?? "It goes on in the terminal that was opened."),
    );
  return (
    <div class="acp-signin-terminal" data-acp-signin-method={method.id}>
      <span>
        <strong>{line(method.name)}</strong>{" "}
        {method.description && <span class="acp-quiet">{line(method.description)}</span>}
      </span>
      <span class="acp-signin-buttons">
        {terminal && (
          <button type="button" class="acp-primary" disabled={!live} onClick={open}>
            Open a terminal
          </button>
        )}
        <button
          type="button"
          data-acp-signin-done=""
          disabled={!live}
          onClick={() => emit({ t: "signed_in" })}
        >
          Done, try again
        </button>
      </span>
      <span class="acp-signin-command">
        <code title={line(method.command ?? "")}>{line(run)}</code>
        <CopyButton text={() => run} what="command" />
      </span>
      {run !== method.command && (
        <span class="acp-quiet">
          It runs <code>{line(method.command ?? "")}</code> as the agent is run here.
        </span>
      )}
      {told && <span role="status">{line(told)}</span>}
    </div>
  );
}

/** Below the cell that waits for a session, or did. */
export function SignInAlone({ header, live, emit }: Props) {
  const name = line(header.agent?.title ?? header.agent?.name ?? "The agent");
  if (header.sign_in) return <SignInView header={header} live={live} emit={emit} />;
  const open = !["starting", "signed_out", "closed"].includes(header.status ?? "starting");
  return (
    <p class="acp-quiet" role="status" data-acp-signed={open}>
      {open ? `${name}: signed in.` : `${name}: not signed in.`}
    </p>
  );
}
