// Who answers the agent's permission questions: a word that is always in sight, and the choices.

import { useState } from "preact/hooks";
import type { Sent } from "../store";
import type { PermissionsIntent, SettingsMessage } from "../types";
import { Icon } from "./icons";
import { usePanel } from "./panel";
import { line } from "./display_text";
import { usePageId } from "./page_id";

type Policy = PermissionsIntent["policy"];

/** By the kernel's word: what it is called, and what it means. */
const WORDS: Record<string, [name: string, about: string]> = {
  ask: ["Ask first", "You answer every question of the agent."],
  edits: [
    "Allow edits",
    "You are asked about everything except edits of files in the session's folders.",
  ],
  allow: [
    "Allow everything",
    "Every question is answered with yes, without asking you: commands, files, code in your kernel.",
  ],
  reject: ["Reject everything", "Every question is answered with no."],
  kinds: ["By kind", "Set from Python"],
  function: ["By a function", "A function of yours answers, set from Python."],
};

const RULES = "Rules in your settings files also apply.";

const OFFERED: readonly Policy[] = ["ask", "edits", "allow", "reject"];

function nameOf(word: string): string {
  return WORDS[word]?.[0] ?? line(word);
}

interface ChipProps {
  settings: SettingsMessage;
  expanded: boolean;
  open: () => void;
}

/** In the header: the setting, which opens the choices. */
export function PermissionChip({ settings, expanded, open }: ChipProps) {
  const { permissions, rules } = settings;
  const about = WORDS[permissions]?.[1] ?? "";
  return (
    <button
      type="button"
      class="acp-ghost"
      data-acp-permissions={permissions}
      aria-expanded={expanded}
      title={[`Permissions: ${nameOf(permissions)}. ${about}`, ...(rules ? [RULES] : [])].join(" ")}
      onClick={open}
    >
      <Icon name="key" />
      <span class="acp-entry-label">Permissions:</span>
      <span>
        {nameOf(permissions)}
        {rules && " + rules"}
      </span>
    </button>
  );
}

interface ChoicesProps {
  settings: SettingsMessage;
  sent: Sent | undefined;
  off: boolean;
}

export function PermissionChoices({ settings, sent, off }: ChoicesProps) {
  const { emit } = usePanel();
  const group = usePageId();
  /** "Allow everything" is chosen, but not confirmed: a slip of the hand must not be enough. */
  const [confirming, setConfirming] = useState(false);
  const { permissions, given, kinds, rules } = settings;
  const byPython = given === "kinds" || given === "function";
  const intent = sent?.intent.t === "permissions" ? sent.intent.policy : undefined;
  const wanted = intent === "given" ? given : (intent ?? permissions);
  const choose = (policy: Policy) => {
    setConfirming(policy === "allow" && permissions !== "allow");
    if (policy !== "allow" || permissions === "allow") emit({ t: "permissions", policy });
  };
  const confirm = () => {
    setConfirming(false);
    emit({ t: "permissions", policy: "allow" });
  };
  const choices: readonly [Policy, string][] = [
    ...OFFERED.map((policy): [Policy, string] => [policy, policy]),
    ...(byPython ? [["given", given] as [Policy, string]] : []),
  ];
  return (
    <fieldset class="acp-settings-group" disabled={off || sent !== undefined}>
      <legend>Permissions</legend>
      {choices.map(([policy, word]) => (
        <label key={policy} class="acp-check" data-risky={word === "allow"}>
          <input
            type="radio"
            name={group}
            data-acp-permission={policy}
            checked={confirming ? policy === "allow" : word === wanted}
            onChange={() => choose(policy)}
          />
          <span>
            {nameOf(word)}{" "}
            <span class="acp-quiet">
              {WORDS[word]?.[1]}
              {word === "kinds" && `: ${kinds.map((it) => line(it.join(" "))).join(", ")}`}
            </span>
          </span>
        </label>
      ))}
      {confirming && (
        <span class="acp-confirm" role="alert">
          The agent will run commands and code and change files without asking you.
          <button type="button" class="acp-danger" data-acp-permission-confirm="" onClick={confirm}>
            Allow everything
          </button>
          <button type="button" onClick={() => setConfirming(false)}>
            Cancel
          </button>
        </span>
      )}
      {rules && <span class="acp-quiet">{RULES}</span>}
    </fieldset>
  );
}
