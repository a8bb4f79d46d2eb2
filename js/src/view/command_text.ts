// The line of a command as people write it. Pure.

/** `sh -c` and one word in the quoting of shlex.join: exactly these three arguments, and nothing else. */
const BY_SHELL =
  /^((?:\/(?:usr\/)?bin\/)?(?:ba|da|z)?sh -c) (?:([\w@%+=:,./-]+)|'((?:[^']|'"'"')*)')$/;

export interface CommandText {
  /** The program that reads the line, with its flag: "/bin/sh -c"; null if the line is run as it is. */
  readonly shell: string | null;
  readonly line: string;
}

/** The line that a shell is told to run. The two parts are the same arguments as the whole. */
export function commandText(whole: string): CommandText {
  const [, shell, word, quoted] = BY_SHELL.exec(whole) ?? [];
  if (shell === undefined) return { shell: null, line: whole };
  return { shell, line: word ?? (quoted ?? "").replaceAll(`'"'"'`, "'") };
}
