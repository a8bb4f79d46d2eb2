// The agent requires a sign-in: a button per method, a field per key; for one in a terminal, the command and
// where to run it. "Try again" is for what was done elsewhere.

import { useContext, useState } from "preact/hooks";
import type { Header, SignIn, SignInMethod } from "../types";
import { CopyButton } from "./code";
import { HostContext } from "./host";
import { usePanel } from "./panel";
import { KeyField } from "./signin_key";
import { line, reason } from "./display_text";

/** What is required, in a few words; null: nothing. */
export function signInTitle({ agent, sign_in }: Header): string | null {
  const name = line(agent?.title ?? agent?.name ?? "The agent");
  return sign_in ? `${name} requires you to sign in.` : null;
}

export function SignInView({ header }: { header: Header }) {
  const { link, emit } = usePanel();
  const wanted = header.sign_in;
  if (!wanted) return null;
  return (
    <section class="acp-signin" role="group" aria-label="Sign in" data-acp-signin="">
      <p class="acp-title">{signInTitle(header)}</p>
      {wanted.error && (
        <p class="acp-bad" role="alert" data-acp-signin-error="">
          <Ticked text={reason(wanted.error)} />
        </p>
      )}
      <ul>
        {wanted.methods.map((method) => (
          <li key={method.id}>
            {method.type === "terminal" ? (
              <InTerminal method={method} />
            ) : (
              <ByAgent method={method} wanted={wanted} />
            )}
          </li>
        ))}
        {wanted.keys?.map((key) => (
          <li key={key.name}>
            <KeyField {...key} trying={wanted.trying} />
          </li>
        ))}
      </ul>
      <p class="acp-signin-again">
        <button
          type="button"
          data-acp-signin-done=""
          disabled={link !== "live" || typeof wanted.trying === "string"}
          onClick={() => emit({ t: "signed_in" })}
        >
          Try again
        </button>
        <span class="acp-quiet">
          if you signed in elsewhere, for example in a terminal
          {wanted.about && <>. It signs in with: {line(wanted.about)}</>}
        </span>
      </p>
    </section>
  );
}

/** A text with its code between backticks. */
function Ticked({ text }: { text: string }) {
  const parts = text.split(/`([^`]+)`/);
  return <>{parts.map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}</>;
}

function ByAgent({ method, wanted }: { method: SignInMethod; wanted: SignIn }) {
  const { link, emit } = usePanel();
  const trying = wanted.trying === method.id;
  return (
    <>
      <button
        type="button"
        class="acp-primary"
        data-acp-signin-method={method.id}
        disabled={link !== "live" || (wanted.trying !== undefined && wanted.trying !== null)}
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
      {method.description && <Description text={method.description} />}
    </>
  );
}

function Description({ text }: { text: string }) {
  return (
    <span class="acp-quiet">
      <Ticked text={line(text)} />
    </span>
  );
}

function InTerminal({ method }: { method: SignInMethod }) {
  const { link } = usePanel();
  const { terminal } = useContext(HostContext);
  const [result, setResult] = useState<string | null>(null);
  const run = method.run ?? method.command ?? "";
  const open = ({ currentTarget }: { currentTarget: Element }) =>
    terminal?.(run, currentTarget).then((trouble) =>
      setResult(trouble ?? "Continue in the terminal that just opened."),
    );
  return (
    <div class="acp-signin-terminal" data-acp-signin-method={method.id}>
      <span>
        <strong>{line(method.name)}</strong>{" "}
        {method.description && <Description text={method.description} />}
      </span>
      {terminal && (
        <span class="acp-signin-buttons">
          <button type="button" class="acp-primary" disabled={link !== "live"} onClick={open}>
            Open a terminal
          </button>
        </span>
      )}
      <span class="acp-signin-command">
        <code title={line(method.command ?? "")}>{line(run)}</code>
        <CopyButton text={() => run} what="command" />
      </span>
      {run !== method.command && (
        <span class="acp-quiet">
          It runs <code>{line(method.command ?? "")}</code> in the agent's environment.
        </span>
      )}
      {result && <span role="status">{line(result)}</span>}
    </div>
  );
}

/** Below the cell that waited for a session. */
export function SignedIn({ header }: { header: Header }) {
  const name = line(header.agent?.title ?? header.agent?.name ?? "The agent");
  const open = !["starting", "signed_out", "closed"].includes(header.status ?? "starting");
  return (
    <p class="acp-quiet" role="status" data-acp-signed={open}>
      {open ? `${name}: signed in.` : `${name}: not signed in.`}
    </p>
  );
}
